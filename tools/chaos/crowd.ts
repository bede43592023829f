import { setTimeout as delay } from 'node:timers/promises';
import type { IClientOptions } from 'mqtt';
import type { Api } from '../../test/former/clients/api.js';
import type { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import { Deliveries } from './deliveries.js';
import { ChaosDevice } from './device.js';
import type { Random } from './random.js';
import { type ChaosReceiver, undelivered } from './reconcile.js';
import { acknowledgeSlowly, ChaosGroup, ChaosSubscriber, flap } from './subscribers.js';
import type { ChaosUpstream } from './upstream.js';

const TICK_MS = 20;
/** Timeout of draining while nothing arrives. */
const STALLED_AFTER_MS = 30_000;

/** The size of a crowd and what it publishes. */
export interface CrowdOptions {
  /** Duration of publishing. */
  readonly durationMs: number;
  /** Publishing continues until there are this many alarms. */
  readonly minAlarms: number;
  readonly devices: number;
  readonly alarmsPerSecond: number;
}

/** Where and how the clients of a crowd connect. */
export interface CrowdPlace {
  readonly subscribersTo: Pick<GatewayProcess, 'mqttUrl'>;
  deviceTo(index: number): Pick<GatewayProcess, 'mqttUrl'>;
  /** Called when an alarm is acknowledged, with the time of its publish. */
  onAcknowledged(publishedMs: number): void;
  readonly client?: IClientOptions;
  /** The name of an escalation of every alarm; an extra durable subscriber waits for it. */
  readonly escalation?: string;
}

export interface CrowdSums {
  readonly published: number;
  readonly acknowledged: number;
  readonly received: number;
}

/** What a subscriber received, for the report. */
export interface ReceiverSummary {
  readonly name: string;
  readonly isDurable: boolean;
  readonly received: number;
  readonly repeated: number;
  readonly early: number;
}

/** The sensors of a location, the subscribers to its alarms, and a bridge's upstream. */
export class Crowd {
  readonly devices: ChaosDevice[] = [];
  readonly #subscribers: ChaosSubscriber[] = [];
  readonly #options: CrowdOptions;
  readonly #upstream: ChaosUpstream;
  readonly #random: Random;
  readonly #calm = new AbortController();
  #flapping: Promise<unknown> | undefined;
  #group: ChaosGroup | undefined;

  constructor(options: CrowdOptions, upstream: ChaosUpstream, random: Random) {
    this.#options = options;
    this.#upstream = upstream;
    this.#random = random;
  }

  /** Creates the location and connects everyone. Resolves to the location's id. */
  async gather(api: Api, place: CrowdPlace): Promise<string> {
    const { id: locationId } = await api.createLocation();
    const viewer = await api.viewer(locationId);
    const filter = `care-homes/${locationId}/devices/+/alarms/#`;
    const subscriber = async (name: string, isDurable: boolean) => {
      const { subscribersTo, client } = place;
      const five = this.#subscribers.length % 2 === 0 ? speakingFive(isDurable) : {};
      const options = { ...client, ...five };
      const one = new ChaosSubscriber(name, isDurable, subscribersTo, viewer, options);
      this.#subscribers.push(one);
      return one.subscribe(filter);
    };
    await subscriber('fast', true);
    acknowledgeSlowly(await subscriber('slow', true), this.#random);
    const flapping = await subscriber('flapping', true);
    this.#group = new ChaosGroup(filter, (name, deliveries) => {
      const options = { ...place.client, ...(name === 'member-1' ? speakingFive(true) : {}) };
      return new ChaosSubscriber(name, true, place.subscribersTo, viewer, options, deliveries);
    });
    await this.#group.subscribe();
    if (place.escalation !== undefined) {
      const { subscribersTo, client } = place;
      const deliveries = new Deliveries();
      const one = new ChaosSubscriber(
        'in-charge',
        true,
        subscribersTo,
        viewer,
        client,
        deliveries,
        false,
      );
      this.#subscribers.push(one);
      await one.subscribe(`care-homes/${locationId}/devices/+/escalations/${place.escalation}`);
    }
    this.#flapping = Promise.all(
      [flapping, ...this.#group.members].map((one) => flap(one, this.#random, this.#calm.signal)),
    );
    await subscriber('live-1', false);
    await subscriber('live-2', false);
    for (let index = 0; index < this.#options.devices; index++) {
      const device = await api.createDevice(locationId, `Bett ${index + 1}`);
      const isPersistent = index % 2 === 0;
      const onAcknowledged = (publishedMs: number) => place.onAcknowledged(publishedMs);
      const to = place.deviceTo(index);
      // Persistent and clean sessions with each version.
      const five = index % 4 < 2 ? speakingFive(isPersistent) : {};
      const client = { ...place.client, ...five };
      this.devices.push(
        new ChaosDevice(to, device, isPersistent, this.#random, onAcknowledged, client),
      );
    }
    return locationId;
  }

  get receivers(): readonly ChaosReceiver[] {
    const group = this.#group === undefined ? [] : [this.#group];
    return [...this.#subscribers, ...group, this.#upstream];
  }

  get summaries(): readonly ReceiverSummary[] {
    return this.receivers.map(({ name, isDurable, deliveries }) => {
      const { received, repeated, early } = deliveries;
      return { name, isDurable, received, repeated, early };
    });
  }

  /** Publishes as long and as much as the options say, and then while `isWanted`. */
  async publish(startedMs: number, isWanted = () => false): Promise<void> {
    const { durationMs, minAlarms, alarmsPerSecond } = this.#options;
    let alarms = 0;
    for (;;) {
      const elapsedMs = performance.now() - startedMs;
      const due = Math.floor((elapsedMs / 1000) * alarmsPerSecond);
      for (; alarms < due; alarms++) {
        this.devices[Math.floor(this.#random.next() * this.devices.length)]?.alarm();
      }
      if (elapsedMs >= durationMs && alarms >= minAlarms && !isWanted()) return;
      await delay(TICK_MS);
    }
  }

  /** Leaves the flapping subscribers connected. */
  async calm(): Promise<void> {
    this.#calm.abort();
    await this.#flapping;
  }

  /**
   * Waits until every alarm is acknowledged and has reached every durable subscriber and the upstream.
   *
   * @returns false when nothing has moved for a long time
   */
  async drain(): Promise<boolean> {
    let [before, sinceMs] = [-1, performance.now()];
    while (!this.#isDrained()) {
      const { received, acknowledged } = this.sums();
      if (received + acknowledged !== before) {
        [before, sinceMs] = [received + acknowledged, performance.now()];
      } else if (performance.now() - sinceMs > STALLED_AFTER_MS) {
        return false;
      }
      await delay(TICK_MS);
    }
    return true;
  }

  sums(): CrowdSums {
    const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);
    return {
      published: sum(this.devices.map(({ alarms }) => alarms.length)),
      acknowledged: sum(this.devices.map(({ acknowledged }) => acknowledged)),
      received: sum(this.receivers.map(({ deliveries }) => deliveries.received)),
    };
  }

  async end(): Promise<void> {
    this.#calm.abort();
    const members = this.#group?.members ?? [];
    const clients = [...this.devices, ...this.#subscribers, ...members];
    await Promise.all(clients.map((client) => client.end()));
  }

  #isDrained(): boolean {
    const durable = this.receivers.filter(({ isDurable }) => isDurable);
    return this.devices.every(
      (device) => device.isSettled && durable.every((one) => undelivered(device, one).length === 0),
    );
  }
}

const SESSION_EXPIRY_SECONDS = 3_600;

/** Makes a client speak MQTT 5: half of the crowd does. */
function speakingFive(isPersistent: boolean): IClientOptions {
  const properties = isPersistent ? { sessionExpiryInterval: SESSION_EXPIRY_SECONDS } : {};
  return { protocolVersion: 5, properties };
}
