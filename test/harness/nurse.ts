/** A nurse-call system: it acknowledges what it gets, over all its connections, and tells the home's ledger. */
import { randomUUID } from 'node:crypto';
import type { Destination, Ledger, SentAlarm } from './ledger.js';
import {
  admitted,
  Client,
  type ConnectOptions,
  type MqttPlace,
  type Received,
  type TestToken,
  whenClosed,
} from './mqtt.js';
import { eventually, WAIT_MS, Waiters } from './wait.js';

export interface NurseOptions extends ConnectOptions {
  /** Whether the gateway keeps what comes while it is away: a session that persists. */
  readonly isDurable?: boolean;
  /** Whether it connects again by itself after an end that it did not ask for. */
  readonly reconnects?: boolean;
  /** How long it tries. */
  readonly reconnectsForMs?: number;
}

/** A nurse-call system: what it gets over all its connections, and how it goes away and comes back. */
export class Nurse {
  readonly clientId: string;
  readonly isDurable: boolean;
  /** Over all its connections, in order. */
  readonly received: Received[] = [];
  /** Connections for which the gateway no longer knew the session of a durable nurse. */
  sessionsLost = 0;
  readonly #place: MqttPlace;
  readonly #who: TestToken;
  /** Its own, and those of the groups that it shares subscriptions with. */
  readonly #destinations = new Map<string, Destination>();
  readonly #ledger: Ledger;
  readonly #options: NurseOptions;
  readonly #waiters = new Waiters();
  readonly #filters = new Set<string>();
  #client: Client | undefined;
  #isAway = true;

  private constructor(place: MqttPlace, who: TestToken, ledger: Ledger, options: NurseOptions) {
    this.#place = place;
    this.#who = who;
    this.#ledger = ledger;
    this.#options = options;
    this.isDurable = options.isDurable ?? false;
    this.clientId = options.clientId ?? `nurse-${randomUUID().slice(0, 13)}`;
  }

  static async connect(
    place: MqttPlace,
    who: TestToken,
    ledger: Ledger,
    options: NurseOptions = {},
  ): Promise<Nurse> {
    const nurse = new Nurse(place, who, ledger, options);
    await nurse.connect();
    return nurse;
  }

  /** Its current connection. */
  get client(): Client {
    if (this.#client === undefined) throw new Error('the nurse is away');
    return this.#client;
  }

  get records(): Received[] {
    return this.received.filter(({ qos }) => qos > 0);
  }

  /** Comes (back). A nurse that is not durable subscribes again. */
  async connect(): Promise<void> {
    const { isDurable: _durable, reconnects, reconnectsForMs: _for, ...options } = this.#options;
    const client = await Client.open(this.#place, {
      ...this.#session(),
      ...options,
      clientId: this.clientId,
    });
    // Before CONNACK: the backlog of a session follows it at once.
    client.onMessage = (message) => this.#receive(message);
    await admitted(client, this.#who);
    if (this.isDurable && this.#filters.size > 0 && !client.sessionPresent) this.sessionsLost++;
    this.#client = client;
    this.#isAway = false;
    if (!this.isDurable && this.#filters.size > 0) await client.subscribe([...this.#filters]);
    whenClosed(client, () => {
      if (!this.#isAway && reconnects === true) this.#reconnect();
    });
  }

  /** Subscribes at QoS 1, and tells the ledger what it owes this nurse from now on. */
  async subscribe(...filters: string[]): Promise<this> {
    const codes = await this.client.subscribe(filters);
    if (codes.some((code) => code >= 0x80)) throw new Error(`SUBACK with ${codes}`);
    for (const filter of filters) {
      this.#filters.add(filter);
      this.#destinationOf(filter).subscribed([filter]);
    }
    return this;
  }

  async unsubscribe(...filters: string[]): Promise<void> {
    await this.client.unsubscribe(...filters);
    for (const filter of filters) {
      this.#filters.delete(filter);
      this.#destinationOf(filter).unsubscribed([filter]);
    }
  }

  /** Goes away as an orderly client does. */
  async leave(): Promise<void> {
    this.#isAway = true;
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }

  /** Breaks its connection as a power cut does. */
  vanish(): void {
    if (this.#options.reconnects !== true) this.#isAway = true;
    this.#client?.vanish();
  }

  /** The parsed payloads on topics that contain the text. */
  messages(topicPart = ''): Record<string, unknown>[] {
    const wanted = this.received.filter(({ topic }) => topic.includes(topicPart));
    return wanted.map(({ text }) => JSON.parse(text));
  }

  /** Resolves once the alarm has come, at any QoS, or the condition holds. */
  until(condition: SentAlarm | ((nurse: this) => boolean), what = 'its message'): Promise<void> {
    if (typeof condition === 'function') {
      return this.#waiters.until(
        () => this.#isSo(() => condition(this)),
        () => this.#waited(what),
      );
    }
    const has = () => [...this.#destinations.values()].some((one) => one.has(condition));
    return this.#waiters.until(
      () => this.#isSo(has),
      () => this.#waited(`alarm ${condition.n}`),
    );
  }

  /** Resolves when this many messages have come, live copies included. */
  untilCount(count: number): Promise<void> {
    return this.until(({ received }) => received.length >= count, `${count} messages`);
  }

  /** Resolves when this many messages have come, without live copies. */
  untilRecords(count: number): Promise<void> {
    return this.until(({ records }) => records.length >= count, `${count} records`);
  }

  /** Resolves when everything that the gateway has sent it so far has come. */
  async flush(): Promise<void> {
    await this.client.ping();
    this.client.requireNoFault();
  }

  async end(): Promise<void> {
    await this.leave();
  }

  #isSo(condition: () => boolean): boolean {
    this.#client?.requireNoFault();
    return condition();
  }

  #waited(what: string): string {
    return `${what} at ${this.clientId}; it has ${this.received.length} messages`;
  }

  #session(): ConnectOptions {
    if (!this.isDurable) return {};
    const isFive = this.#options.protocolVersion === 5;
    return { clean: false, ...(isFive && { properties: { sessionExpiryInterval: 3_600 } }) };
  }

  #receive(message: Received): void {
    this.received.push(message);
    for (const destination of this.#destinations.values()) destination.received(message);
    this.#waiters.changed();
  }

  /** A group is one destination, whichever member receives (MQTT 5, 4.8.2). */
  #destinationOf(filter: string): Destination {
    const name = filter.startsWith('$share/') ? filter : this.clientId;
    const destination =
      this.#destinations.get(name) ?? this.#ledger.destination(name, this.isDurable);
    this.#destinations.set(name, destination);
    return destination;
  }

  #reconnect(): void {
    const { reconnectsForMs = WAIT_MS } = this.#options;
    eventually(async () => {
      if (!this.#isAway) await this.connect();
    }, reconnectsForMs).catch((error: unknown) => this.#ledger.fail(error));
  }
}
