import { setTimeout as delay } from 'node:timers/promises';
import { UpstreamSubscriber } from '../../test/former/clients/upstream-subscriber.js';
import { Mosquitto } from '../../test/former/servers/mosquitto.js';
import { Deliveries } from './deliveries.js';
import type { ChaosReceiver } from './reconcile.js';
import type { PlannedOutage } from './schedule.js';

const BRIDGE = 'upstream';

/** A bridge's upstream that can be killed: a real Mosquitto with a subscriber to everything. */
export class ChaosUpstream implements ChaosReceiver {
  readonly name = BRIDGE;
  readonly isDurable = true;
  readonly isOrdered = true;
  readonly consumer = `bridge/${BRIDGE}`;
  readonly deliveries = new Deliveries();
  /** The upstream has no session at the gateway. */
  readonly sessionsLost = 0;
  kills = 0;
  readonly #mosquitto: Mosquitto;
  readonly #subscriber: UpstreamSubscriber;

  private constructor(mosquitto: Mosquitto, subscriber: UpstreamSubscriber) {
    this.#mosquitto = mosquitto;
    this.#subscriber = subscriber;
    subscriber.onArrival = (topic, payload, qos) => this.deliveries.add(topic, payload, qos);
  }

  static async start(): Promise<ChaosUpstream> {
    const mosquitto = await Mosquitto.start();
    const subscriber = await UpstreamSubscriber.connect(mosquitto.url);
    await mosquitto.save();
    return new ChaosUpstream(mosquitto, subscriber);
  }

  /** The bridge to the upstream, without bounds: dropped entries would look like a loss. */
  get bridge(): object {
    return {
      name: BRIDGE,
      url: this.#mosquitto.url,
      send: 'alarms',
      maxQueuedMessages: 100_000_000,
      // Small, so that much of the backlog is still queued when new alarms arrive.
      maxInFlight: 20,
      replayPerSecond: 300,
      ackTimeoutSeconds: 2,
    };
  }

  /**
   * Kills the upstream and starts it again later.
   *
   * The upstream dies only once its subscriber has everything: otherwise it, and not the gateway, would
   * lose messages that it acknowledged and kept in memory. Before that it hangs briefly, so that
   * messages are always on their way to it.
   */
  async kill({ hangMs, downMs }: PlannedOutage): Promise<void> {
    await this.#subscriber.caughtUp();
    this.#mosquitto.freeze();
    await delay(hangMs);
    await this.#mosquitto.kill();
    this.kills++;
    await delay(downMs);
    await this.#mosquitto.start();
  }

  async end(): Promise<void> {
    await this.#subscriber.end();
    await this.#mosquitto.remove();
  }
}
