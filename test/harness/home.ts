/**
 * A care home in a gateway, with everything that a test needs of one: its devices, rooms and tokens, sensors and
 * nurses that keep the home's ledger, and the HTTP interface.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { faultTextsIn } from './described/fault-texts.js';
import { EmbeddedStore, type Gateway } from './gateway.js';
import { type Answer, type Asking, ask, must } from './http.js';
import { type Account, type Allowances, Ledger } from './ledger.js';
import {
  Client,
  type ConnectOptions,
  type Credentials,
  type TestDevice,
  type TestToken,
} from './mqtt.js';
import { Nurse, type NurseOptions } from './nurse.js';
import { Sensor, type SensorOptions } from './sensor.js';

/** What the administrator allows a token at a place; the location is the home unless said. */
export interface Grant {
  readonly role: 'viewer' | 'responder' | 'manager' | 'owner' | 'admin' | (string & {});
  readonly location?: string;
  readonly group?: string;
  readonly room?: string;
}

const deviceSchema = z.looseObject({ id: z.string(), name: z.string(), secret: z.string() });
const tokenSchema = z.looseObject({ id: z.string(), token: z.string() });
const pageSchema = z.looseObject({
  nextCursor: z.string().nullish(),
  events: z.array(z.looseObject({ id: z.string(), kind: z.string() })),
});
const SAMPLE = /^gateway_consumer_([a-z]+?)(?:_total)?\{consumer="(.*?)",log="(\w+)".*\} (\d+)$/;

export class Home {
  readonly gateway: Gateway;
  readonly locationId: string;
  readonly name: string;
  readonly viewer: TestToken;
  readonly manager: TestToken;
  readonly ledger: Ledger;
  readonly #closing: (() => unknown)[] = [];
  #store: EmbeddedStore | undefined;

  private constructor(
    gateway: Gateway,
    locationId: string,
    name: string,
    viewer: TestToken,
    manager: TestToken,
    ledger = new Ledger(),
  ) {
    this.gateway = gateway;
    this.locationId = locationId;
    this.name = name;
    this.viewer = viewer;
    this.manager = manager;
    this.ledger = ledger;
  }

  /** Creates a home in a running gateway. */
  static async at(gateway: Gateway, name = 'Haus am See'): Promise<Home> {
    const { id } = await must(gateway, 'POST', '/care-homes', { json: { name } });
    const viewer = await createToken(gateway, [{ location: id, role: 'viewer' }]);
    const manager = await createToken(gateway, [{ location: id, role: 'manager' }]);
    return new Home(gateway, id, name, viewer, manager);
  }

  /** The same home at the other gateway of a pair, with a ledger of its own. */
  at(gateway: Gateway): Home {
    return new Home(gateway, this.locationId, this.name, this.viewer, this.manager);
  }

  /** The same home, with its ledger, as the other gateway of a pair serves it. */
  servedBy(gateway: Gateway): Home {
    const { locationId, name, viewer, manager, ledger } = this;
    return new Home(gateway, locationId, name, viewer, manager, ledger);
  }

  /** The HTTP path of the home. */
  get path(): string {
    return `/care-homes/${this.locationId}`;
  }

  /** Sends a request as the administrator unless said; a path that begins with `./` is below the home's. */
  ask(method: string, path: string, asking?: Asking): Promise<Answer> {
    return ask(this.gateway, method, this.#absolute(path), asking);
  }

  /** Sends a request that must succeed. */
  must(method: string, path: string, asking?: Asking): Promise<Answer> {
    return must(this.gateway, method, this.#absolute(path), asking);
  }

  async device(name = 'Bett 1'): Promise<TestDevice> {
    const { json } = await this.must('POST', './devices', { json: { name } });
    return { ...deviceSchema.parse(json), locationId: this.locationId };
  }

  /** Creates a device in a room. */
  async deviceIn(roomId: string, name?: string): Promise<TestDevice> {
    const device = await this.device(name);
    await this.move(device, { targetRoomId: roomId });
    return device;
  }

  async move({ id }: { readonly id: string }, json: object): Promise<void> {
    await this.must('POST', `./devices/${id}/move`, { json });
  }

  async group(name = 'Station 1'): Promise<string> {
    return (await this.must('POST', './groups', { json: { name } })).id;
  }

  async room(name = 'Zimmer 1', groupId: string | null = null): Promise<string> {
    return (await this.must('POST', './rooms', { json: { name, groupId } })).id;
  }

  /** Creates an access token: for a role in this home, or with other grants. */
  token(grants: string | readonly Grant[] = 'viewer', name = 'nurse call'): Promise<TestToken> {
    const list = typeof grants === 'string' ? [{ role: grants }] : grants;
    return createToken(
      this.gateway,
      list.map((grant) => ({ location: this.locationId, ...grant })),
      name,
    );
  }

  customData({ id }: { readonly id: string }, body: string): Promise<Answer> {
    const headers = { 'Content-Type': 'application/json' };
    return this.must('PATCH', `./devices/${id}/custom-data`, { body, headers });
  }

  /** The filter for a device's forwarded messages, or for those with the given rest; of all devices if omitted. */
  filter(device?: { readonly id: string }, rest = '#'): string {
    return `care-homes/${this.locationId}/devices/${device?.id ?? '+'}/${rest}`;
  }

  /** Connects a sensor; a new device unless given. */
  async sensor({
    device,
    ...options
  }: SensorOptions & { readonly device?: TestDevice } = {}): Promise<Sensor> {
    const own = device ?? (await this.device());
    const sensor = await Sensor.connect(this.gateway, own, this.ledger, options);
    this.onClose(() => sensor.end());
    return sensor;
  }

  /** Connects a nurse-call system that subscribes to all alarms of the home, or to the given filters. */
  async nurse({
    filters = [this.filter(undefined, 'alarms/#')],
    token = this.viewer,
    ...options
  }: NurseOptions & {
    readonly filters?: readonly string[];
    readonly token?: TestToken;
  } = {}): Promise<Nurse> {
    const nurse = await Nurse.connect(this.gateway, token, this.ledger, options);
    this.onClose(() => nurse.end());
    if (filters.length > 0) await nurse.subscribe(...filters);
    return nurse;
  }

  /** Connects a bare client, which ends with the home. */
  async client(who: Credentials = this.viewer, options?: ConnectOptions): Promise<Client> {
    const client = await Client.connect(this.gateway, who, options);
    this.onClose(() => client.vanish());
    return client;
  }

  /** Publishes as the device, over a connection of its own, and resolves once everything is acknowledged. */
  async publish(
    device: TestDevice,
    rest: string,
    payloads: string | readonly (string | Buffer)[],
    options: { readonly qos?: 0 | 1 | 2; readonly retain?: boolean } = {},
  ): Promise<void> {
    const client = await Client.connect(this.gateway, device);
    const topic = `devices/${device.id}/${rest}`;
    const all = typeof payloads === 'string' ? [payloads] : payloads;
    await Promise.all(all.map((payload) => client.publish(topic, payload, options)));
    await client.end();
  }

  /** Publishes alarms as the device, which the ledger does not know. Resolves to their ids once they are acknowledged. */
  async record(device: TestDevice, ...alarms: readonly object[]): Promise<string[]> {
    const sent = alarms.map((alarm) => ({ id: randomUUID(), kind: 'fall', ...alarm }));
    const texts = sent.map((alarm) => JSON.stringify(alarm));
    await this.publish(device, 'alarms', texts);
    return sent.map(({ id }) => id);
  }

  /** The retained messages that a new subscriber gets, by topic. */
  async retained(
    filter = this.filter(),
    who: TestToken = this.viewer,
  ): Promise<Map<string, unknown>> {
    const client = await Client.connect(this.gateway, who);
    // At QoS 0 all retained messages follow the SUBACK, before the answer to a later packet: nothing waits for PUBACK.
    await client.subscribe(filter, { qos: 0 });
    await client.ping();
    const retained = client.received.filter(({ retain }) => retain);
    await client.end();
    return new Map(retained.map(({ topic, text }) => [topic, text === '' ? '' : JSON.parse(text)]));
  }

  /** Every alarm of the device in the history, newest first, page after page. */
  async alarms({ id }: { readonly id: string }, query = 'limit=100') {
    const events: z.infer<typeof pageSchema>['events'] = [];
    for (let cursor: string | null | undefined = ''; cursor !== undefined && cursor !== null; ) {
      const next: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const answer = await this.must('GET', `./devices/${id}/alarms?${query}${next}`);
      const page = pageSchema.parse(answer.json);
      events.push(...page.events);
      cursor = page.nextCursor;
    }
    return events;
  }

  /** The faults that the gateway reports, as texts. */
  async faults(): Promise<readonly string[]> {
    return faultTextsIn((await this.ask('GET', '/readyz')).json);
  }

  /** The account of a durable destination in `/metrics`, for all its entries or those of one log. */
  async account(consumer: string, log?: 'alarms' | 'messages'): Promise<Account | undefined> {
    const { text } = await this.must('GET', '/metrics');
    const sums = new Map<string, number>();
    for (const line of text.split('\n')) {
      const [, state = '', name, of, count] = SAMPLE.exec(line) ?? [];
      if (name !== consumer || (log ?? of) !== of) continue;
      sums.set(state, (sums.get(state) ?? 0) + Number(count));
    }
    if (sums.size === 0) return undefined;
    const figure = (state: string) => sums.get(state) ?? 0;
    return {
      accepted: figure('accepted'),
      delivered: figure('delivered'),
      queued: figure('queued'),
      expired: figure('expired'),
      dropped: figure('dropped'),
    };
  }

  /** The gateway's embedded store, to freeze, kill and inspect it. */
  async store(): Promise<EmbeddedStore> {
    if (this.#store === undefined) {
      const store = await EmbeddedStore.of(this.gateway);
      this.#store = store;
      this.onClose(() => {
        this.#store = undefined;
        store.close();
      });
    }
    return this.#store;
  }

  /**
   * Waits until every alarm of the home is acknowledged and at every durable destination, and compares the order,
   * the repeats, the history and the accounts with what was published.
   */
  settled(allowances?: Allowances): Promise<void> {
    const account = (destination: string) => this.account(destination, 'alarms');
    const history = async (deviceId: string) =>
      (await this.alarms({ id: deviceId })).map(({ id }) => id);
    return this.ledger.settled({ account, history }, allowances);
  }

  /** Does this when the home is closed, the last first. */
  onClose(work: () => unknown): void {
    this.#closing.push(work);
  }

  /** Ends everything that the home opened. */
  async close(): Promise<void> {
    for (const work of this.#closing.splice(0).reverse()) await work();
  }

  #absolute(path: string): string {
    return path.startsWith('./') ? this.path + path.slice(1) : path;
  }
}

/** Creates an access token with these grants, or the administrator's. */
export async function createToken(
  gateway: Gateway,
  grants: readonly object[],
  name = 'nurse call',
  expiresAt?: string,
): Promise<TestToken> {
  const json = { name, grants, ...(expiresAt !== undefined && { expiresAt }) };
  return tokenSchema.parse((await must(gateway, 'POST', '/access-tokens', { json })).json);
}
