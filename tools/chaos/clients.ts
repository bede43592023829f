/**
 * The clients of a home in chaos, and what only chaos has of them: alarms without ids, nurses that are slow, come and
 * go or share a subscription, and an upstream that dies. Everything else is the harness' sensor, nurse and ledger.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Home } from '../../test/harness/home.js';
import {
  type Allowances,
  Ledger,
  type SentAlarm,
  type Violation,
} from '../../test/harness/ledger.js';
import type { MqttPlace } from '../../test/harness/mqtt.js';
import { Nurse, type NurseOptions } from '../../test/harness/nurse.js';
import { Sensor } from '../../test/harness/sensor.js';
import { Mosquitto } from '../../test/harness/upstream.js';
import { eventually } from '../../test/harness/wait.js';
import type { Random } from './random.js';
import type { PlannedOutage } from './schedule.js';

/** Sessions without bounds: dropped entries would look like a loss. */
export const UNBOUNDED = { GATEWAY_SESSIONS_MAX_QUEUED_MESSAGES: '100000000' };
/** Every alarm escalates, because nobody acknowledges any. */
export const ESCALATION = { name: 'in-charge', afterSeconds: 5 };
/** Longer than any fault and what follows it. */
const PATIENCE = { reconnectsForMs: 150_000, isDescribed: false } as const;
const KINDS = ['fall', 'noise', 'helpCall', 'outOfBed'] as const;
const [CHANCE_OF_ID, CHANCE_OF_TIME] = [0.6, 0.5];
/** As much as a sensor has under way at a time. */
const MAX_UNACKNOWLEDGED = 20;
const TICK_MS = 20;
const TIDY_EVERY_MS = 1_000;
/** Timeout of draining while nothing arrives. */
const STALLED_AFTER_MS = 30_000;
const SESSION_EXPIRY_SECONDS = 3_600;
const ACCOUNT_TRIES = 5;
const MANY_PACKETS = 2_000;

const escalationSchema = z.object({
  device: z.object({ id: z.string() }),
  data: z.object({ n: z.number() }),
});

export interface ClientsOptions {
  readonly durationMs: number;
  /** Publishing continues until there are this many alarms. */
  readonly minAlarms: number;
  readonly devices: number;
  readonly alarmsPerSecond: number;
}

export interface ClientsPlace {
  readonly nurses: MqttPlace;
  sensor(index: number): MqttPlace;
  /** Called when an alarm is acknowledged, with the time of its publish. */
  onAcknowledged?(publishedMs: number): void;
}

/** A sensor, how much has happened in front of it, and what it has under way. */
interface Bed {
  readonly sensor: Sensor;
  happened: number;
  open: SentAlarm[];
}

export class Clients {
  readonly home: Home;
  readonly nurses: Nurse[] = [];
  readonly #options: ClientsOptions;
  readonly #place: ClientsPlace;
  readonly #random: Random;
  readonly #beds: Bed[] = [];
  readonly #calm = new AbortController();
  #flapping: Promise<unknown> = Promise.resolve();
  #tidying: NodeJS.Timeout | undefined;
  #inCharge: Nurse | undefined;
  readonly #escalated = new Set<string>();

  private constructor(home: Home, options: ClientsOptions, place: ClientsPlace, random: Random) {
    this.home = home;
    this.#options = options;
    this.#place = place;
    this.#random = random;
  }

  static async gather(home: Home, options: ClientsOptions, place: ClientsPlace, random: Random) {
    const clients = new Clients(home, options, place, random);
    await clients.#gather();
    return clients;
  }

  /** Publishes as long and as much as the options say, and then while `isWanted`. */
  async publish(startedMs: number, isWanted = () => false): Promise<void> {
    const { durationMs, minAlarms, alarmsPerSecond } = this.#options;
    for (let alarms = 0; ; ) {
      const elapsedMs = performance.now() - startedMs;
      for (; alarms < (elapsedMs / 1000) * alarmsPerSecond; alarms++) {
        const bed = this.#beds[Math.floor(this.#random.next() * this.#beds.length)];
        if (bed !== undefined) bed.happened++;
      }
      for (const bed of this.#beds) this.#send(bed);
      if (elapsedMs >= durationMs && alarms >= minAlarms && !isWanted()) return;
      await delay(TICK_MS);
    }
  }

  /**
   * Lets the flapping nurses stay, and waits until every alarm is acknowledged and at every durable destination.
   *
   * @returns false when nothing has moved for a long time
   */
  async drain(): Promise<boolean> {
    this.#calm.abort();
    await this.#flapping;
    let [before, sinceMs] = [-1, performance.now()];
    while (!this.#isDrained()) {
      const { acknowledged, received } = this.sums;
      if (acknowledged + received !== before) {
        [before, sinceMs] = [acknowledged + received, performance.now()];
      } else if (performance.now() - sinceMs > STALLED_AFTER_MS) {
        return false;
      }
      await delay(TICK_MS * 10);
    }
    return true;
  }

  get sums() {
    const { ledger } = this.home;
    const received = ledger.destinations.reduce((sum, { count }) => sum + count, 0);
    return { published: ledger.count, acknowledged: ledger.acknowledgedCount, received };
  }

  /** Everything that differs from what was published, with the gateway that now serves. */
  async violations(serving: Home, allowances: Allowances = {}): Promise<Violation[]> {
    const { ledger } = this.home;
    const all = { mayRepeat: true, liveMayMiss: true, ...allowances };
    const account = (destination: string) => serving.account(destination, 'alarms');
    const history = async (id: string) => (await serving.alarms({ id })).map((alarm) => alarm.id);
    const lostSessions = this.nurses.filter(({ sessionsLost }) => sessionsLost > 0);
    const own = [
      { what: 'session lost', alarms: lostSessions.map(({ clientId }) => clientId) },
      { what: 'not escalated', alarms: this.#unescalated() },
    ].filter(({ alarms }) => alarms.length > 0);
    let differences = await ledger.differences({ account, history }, all);
    // The last PUBACKs of the destinations may still be on their way.
    for (let tries = 0; differences.length > 0 && tries < ACCOUNT_TRIES; tries++) {
      await delay(TIDY_EVERY_MS);
      differences = await ledger.differences({ account, history }, all);
    }
    // A loss that is told excuses no wrong order.
    const wrong = ledger.wrong({ mayRepeat: true });
    return merged([...ledger.missing(all), ...wrong, ...own, ...differences]);
  }

  async end(): Promise<void> {
    clearInterval(this.#tidying);
    this.#calm.abort();
    const clients = [...this.#beds.map(({ sensor }) => sensor), ...this.nurses];
    // Whoever is not connected has nothing to end.
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }

  async #gather(): Promise<void> {
    const filter = this.home.filter(undefined, 'alarms/#');
    const group = `$share/chaos/${filter}`;
    await this.#nurse('fast', [filter], true, 5);
    const slow = await this.#nurse('slow', [filter], true);
    const flapping = [
      await this.#nurse('flapping', [filter], true, 5, { reconnects: false }),
      await this.#nurse('member-1', [group], true, 5, { reconnects: false }),
      await this.#nurse('member-2', [group], true, 4, { reconnects: false }),
    ];
    const escalations = this.home.filter(undefined, 'escalations/#');
    // Escalations are no alarms of the ledger's.
    this.#inCharge = await this.#nurse('in-charge', [escalations], true, 4, {}, new Ledger());
    await this.#nurse('live-1', [filter], false, 5);
    await this.#nurse('live-2', [filter], false);
    this.#flapping = Promise.all([...flapping.map((one) => this.#flap(one)), this.#slowDown(slow)]);
    for (let index = 0; index < this.#options.devices; index++) {
      // Persistent and clean sessions with each version.
      const clean = index % 2 === 1;
      const properties = { sessionExpiryInterval: SESSION_EXPIRY_SECONDS };
      const five = { protocolVersion: 5, ...(!clean && { properties }) } as const;
      const device = await this.home.device(`Bett ${index + 1}`);
      const options = { ...PATIENCE, clean, ...(index % 4 < 2 && five) };
      const place = this.#place.sensor(index);
      // The place may lead to the gateway of a pair that stands by.
      const sensor = await eventually(() =>
        Sensor.connect(place, device, this.home.ledger, options),
      );
      this.#beds.push({ sensor, happened: 0, open: [] });
    }
    this.#tidying = setInterval(() => this.#tidy(), TIDY_EVERY_MS);
  }

  async #nurse(
    name: string,
    filters: readonly string[],
    isDurable: boolean,
    protocolVersion: 4 | 5 = 4,
    options: NurseOptions = {},
    ledger = this.home.ledger,
  ): Promise<Nurse> {
    const { viewer } = this.home;
    const how = {
      ...PATIENCE,
      reconnects: true,
      clientId: `chaos-${name}`,
      isDurable,
      protocolVersion,
    };
    const nurse = await Nurse.connect(this.#place.nurses, viewer, ledger, { ...how, ...options });
    this.nurses.push(nurse);
    return nurse.subscribe(...filters);
  }

  #send(bed: Bed): void {
    const isAcknowledged = (alarm: SentAlarm) => alarm.isAcknowledged;
    for (const { atMs } of bed.open.filter(isAcknowledged)) this.#place.onAcknowledged?.(atMs);
    bed.open = bed.open.filter((alarm) => !alarm.isAcknowledged);
    while (bed.happened > bed.sensor.alarms && bed.open.length < MAX_UNACKNOWLEDGED) {
      const hasTime = this.#random.chance(CHANCE_OF_TIME);
      // Never the same time twice: the gateway derives an id from it.
      const at = Date.UTC(2026, 0, 1) + bed.sensor.alarms;
      bed.open.push(
        bed.sensor.alarm({
          kind: this.#random.pick(KINDS),
          id: this.#random.chance(CHANCE_OF_ID) ? randomUUID() : undefined,
          ...(hasTime && { detectedAt: new Date(at).toISOString() }),
        }),
      );
    }
  }

  /** Cuts the connection at random times and stays away for a while, until it is calm. */
  async #flap(nurse: Nurse): Promise<void> {
    const { signal } = this.#calm;
    while (!signal.aborted) {
      await delay(this.#random.between(200, 3_000), undefined, { signal }).catch(() => undefined);
      nurse.vanish();
      await delay(this.#random.between(10, 2_000));
      await eventually(() => nurse.connect(), PATIENCE.reconnectsForMs);
    }
  }

  /** Stops reading for a moment, so that all PUBACKs come late, until it is calm. */
  async #slowDown(nurse: Nurse): Promise<void> {
    while (!this.#calm.signal.aborted) {
      await delay(this.#random.between(100, 800));
      const { client } = nurse;
      client.freeze();
      await delay(this.#random.between(0, 150));
      client.thaw();
    }
  }

  /** Forgets what the ledger has noted: a long run would hold gigabytes. */
  #tidy(): void {
    for (const { text } of this.#inCharge?.received ?? []) {
      const { device, data } = escalationSchema.parse(JSON.parse(text));
      this.#escalated.add(`${device.id}#${data.n}`);
    }
    for (const nurse of this.nurses) nurse.received.length = 0;
    const idle = this.#beds.filter(({ open }) => open.length === 0);
    for (const { client } of [...this.nurses, ...idle.map(({ sensor }) => sensor)]) {
      // By then nothing waits for a packet before these.
      if (client.packets.length < MANY_PACKETS) continue;
      client.received.length = 0;
      client.packets.length = 0;
    }
  }

  #isDrained(): boolean {
    const isSettled = this.#beds.every((bed) => {
      this.#send(bed);
      return bed.happened === bed.sensor.alarms && bed.open.length === 0;
    });
    return (
      isSettled &&
      this.home.ledger.missing({ liveMayMiss: true }).length === 0 &&
      this.#unescalated().length === 0
    );
  }

  /** Acknowledged alarms that the nurse in charge has not got. */
  #unescalated(): string[] {
    this.#tidy();
    const acknowledged = this.home.ledger.alarms.filter(({ isAcknowledged }) => isAcknowledged);
    const names = acknowledged.map(({ deviceId, n }) => `${deviceId}#${n}`);
    return names.filter((name) => !this.#escalated.has(name));
  }
}

/** Violations of one kind, of all devices, as one. */
function merged(violations: readonly Violation[]): Violation[] {
  const alarms = new Map<string, string[]>();
  for (const { what, alarms: some } of violations) {
    alarms.set(what, [...(alarms.get(what) ?? []), ...some]);
  }
  return [...alarms].map(([what, all]) => ({ what, alarms: all }));
}

/** A bridge's upstream that can be killed: a real Mosquitto with a subscriber to everything. */
export class Upstream {
  kills = 0;
  readonly #mosquitto: Mosquitto;
  #subscriber: Nurse | undefined;

  private constructor(mosquitto: Mosquitto) {
    this.#mosquitto = mosquitto;
  }

  static async start(): Promise<Upstream> {
    return new Upstream(await Mosquitto.start());
  }

  /** The bridge to it, without bounds: dropped entries would look like a loss. */
  get bridge(): object {
    const url = this.#mosquitto.url;
    const bounds = { maxQueuedMessages: 100_000_000, ackTimeoutSeconds: 2 };
    // Small, so that much of the backlog is still queued when new alarms arrive.
    return {
      name: 'upstream',
      url,
      send: 'alarms',
      ...bounds,
      maxInFlight: 20,
    };
  }

  /** Subscribes to everything, for the ledger of the home. */
  async open({ ledger }: Pick<Home, 'ledger'>): Promise<void> {
    const nobody = { id: 'chaos', token: 'chaos' };
    const options = { ...PATIENCE, isDurable: true, reconnects: true, clientId: 'bridge/upstream' };
    const place = { mqttPort: this.#mosquitto.port };
    this.#subscriber = await Nurse.connect(place, nobody, ledger, options);
    await this.#subscriber.subscribe('#');
    await this.#mosquitto.save();
  }

  /**
   * Kills the upstream and starts it again later.
   *
   * It dies only once its subscriber has everything: otherwise it, and not the gateway, would lose messages that it
   * acknowledged and kept in memory. Before that it hangs, so that messages are always on their way to it.
   */
  async kill({ hangMs, downMs }: PlannedOutage): Promise<void> {
    await eventually(async () => this.#subscriber?.flush());
    this.#mosquitto.freeze();
    await delay(hangMs);
    await this.#mosquitto.kill();
    this.kills++;
    await delay(downMs);
    await this.#mosquitto.start();
  }

  async end(): Promise<void> {
    await this.#subscriber?.end().catch(() => undefined);
    await this.#mosquitto.remove();
  }
}
