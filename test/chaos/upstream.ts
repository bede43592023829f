import { setTimeout as delay } from 'node:timers/promises';
import { Mosquitto } from '../harness/mosquitto.js';
import { UpstreamSubscriber } from '../harness/upstream-subscriber.js';
import { Deliveries } from './deliveries.js';
import type { ChaosReceiver } from './reconcile.js';
import type { PlannedOutage } from './schedule.js';

const BRIDGE = 'upstream';

/** A bridge's far end that is killed: a real Mosquitto, and a subscriber to whom it passes all on. */
export class ChaosUpstream implements ChaosReceiver {
  readonly name = BRIDGE;
  readonly isDurable = true;
  readonly destination = `bridge/${BRIDGE}`;
  readonly deliveries = new Deliveries();
  /** The gateway's sessions are none of its. */
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

  /** The bridge to it, which keeps everything: what falls out by a bound would look like a loss. */
  get bridge(): object {
    return {
      name: BRIDGE,
      url: this.#mosquitto.url,
      send: 'alarms',
      maxQueuedMessages: 100_000_000,
      // Small, so that much of what had to wait is still waiting when something new comes.
      maxInFlight: 20,
      replayPerSecond: 300,
      ackTimeoutSeconds: 2,
    };
  }

  /**
   * Kills it and starts it again later. It dies when its subscriber has what it had for him: what it
   * acknowledged to the bridge and kept in memory would be lost by it, and not by the gateway. Before
   * that it hangs for a moment, so that something is always on its way to it.
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
