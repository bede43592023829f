/**
 * What an upstream broker does to a bridge, what the bridge does about it, and what the operator sees.
 *
 * A row goes through its steps. At its end the upstream has every alarm but the refused ones, each device's in order;
 * history and accounts are right, and no fault is left (contract 4.2, 4.3, 4.6).
 */
import type { IPublishPacket } from 'mqtt-packet';
import { expect } from 'vitest';
import { Authority } from '../harness/certificates.js';
import {
  Client,
  eventually,
  type Gateway,
  type Home,
  Nurse,
  type Own,
  type Sensor,
} from '../harness/index.js';
import { claimPort } from '../harness/program.js';
import type { CutProxy, Direction } from '../harness/proxy.js';
import {
  AedesUpstream,
  Mosquitto,
  type MosquittoOptions,
  type Script,
  type ScriptedAnswer,
  ScriptedUpstream,
} from '../harness/upstream.js';

type Step = (run: Run) => unknown;

export interface UpstreamRow {
  readonly name: string;
  /** A real broker; `isDown`: nothing listens on its port yet. */
  readonly mosquitto?: MosquittoOptions & { readonly isDown?: true };
  /** Whether the bridge connects to Mosquitto through a line that can be cut, and counts connections. */
  readonly isCut?: true;
  /** A real broker that speaks only 3.1.1, or the keys of a bridge that it serves with TLS. */
  readonly aedes?: 'mqtt' | 'ws' | ((authority: Authority, foreign: Authority) => object);
  /** A broker that answers as it is told. */
  readonly script?: () => Script;
  /** Keys of the bridge. */
  readonly keys?: object | ((run: Run) => object | Promise<object>);
  /** Whether the bridge cannot connect at first. */
  readonly isRefused?: true;
  readonly steps: readonly Step[];
  /** The reasons of its dead letters, the newest first; these alarms are of the kind `noise`. */
  readonly deadLetters?: readonly string[];
  /** Whether the upstream never gets anything, and everything stays in the queue. */
  readonly isNever?: true;
}

/** The bridges of a gateway that several tests share: each test has its own, by its name. */
export class Bridges {
  static readonly #all = new WeakMap<Gateway, Bridges>();
  readonly #gateway: Gateway;
  readonly #bridges = new Map<string, object>();
  #changed: Promise<unknown> = Promise.resolve();

  private constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  static of(gateway: Gateway): Bridges {
    const bridges = Bridges.#all.get(gateway) ?? new Bridges(gateway);
    Bridges.#all.set(gateway, bridges);
    return bridges;
  }

  /** Writes the bridge into the configuration, and has the gateway follow it. */
  async set(name: string, keys: object): Promise<void> {
    this.#bridges.set(name, { name, ackTimeoutSeconds: 1, ...keys });
    await this.#change();
  }

  /** Removes the bridge from the configuration. */
  async delete(name: string): Promise<void> {
    if (!this.#bridges.delete(name)) return;
    await this.#change();
  }

  #change(): Promise<unknown> {
    const change = async () => {
      await this.#gateway.configure({ bridges: [...this.#bridges.values()] });
      await this.#gateway.reload();
    };
    this.#changed = this.#changed.then(change, change);
    return this.#changed;
  }
}

/** The bridge as `GET /bridges` shows it. */
export async function bridgeOf(home: Home, name: string): Promise<Record<string, unknown>> {
  const bridges = (await home.must('GET', '/bridges')).list();
  return bridges.find((one) => one['name'] === name) ?? {};
}

/** Resolves when the bridge's status has these values. */
export async function untilBridge(home: Home, name: string, status: object): Promise<void> {
  await eventually(async () => expect(await bridgeOf(home, name)).toMatchObject(status));
}

/** The faults of one bridge, without its name. */
export async function faultsOf(home: Home, name: string): Promise<string[]> {
  const end = `: bridge ${name}`;
  return (await home.faults()).flatMap((text) =>
    text.endsWith(end) ? [text.slice(0, -end.length)] : [],
  );
}

/** A client of the upstream that gets everything there on topics of the home; the home's ledger compares it. */
export async function watcherAt(
  home: Home,
  port: number,
  name: string,
  filter = home.filter(undefined, 'alarms/#'),
): Promise<Nurse> {
  const watcher = await Nurse.connect(
    { mqttPort: port },
    { id: 'watcher', token: 'watching' },
    home.ledger,
    // The account in `/metrics` has the name of the destination.
    { clientId: `bridge/${name}`, isDurable: true, reconnects: true, isDescribed: false },
  );
  home.onClose(() => watcher.vanish());
  home.onClose(() => watcher.leave());
  return watcher.subscribe(filter);
}

/** One row under way. */
export class Run {
  readonly home: Home;
  readonly name: string;
  readonly row: UpstreamRow;
  readonly sensors: Sensor[] = [];
  readonly #own: Own;
  #mosquitto: Mosquitto | undefined;
  #proxy: CutProxy | undefined;
  #scripted: ScriptedUpstream | undefined;
  #url = '';
  #plain = 0;
  /** What the scripted upstream was sent, by connection. */
  readonly publishes: IPublishPacket[][] = [];

  constructor(home: Home, own: Own, name: string, row: UpstreamRow) {
    this.home = home;
    this.#own = own;
    this.name = name;
    this.row = row;
  }

  get mosquitto(): Mosquitto {
    if (this.#mosquitto === undefined) throw new Error('the upstream is no Mosquitto');
    return this.#mosquitto;
  }

  /** The line to Mosquitto. */
  get proxy(): CutProxy {
    if (this.#proxy === undefined) throw new Error('the row has no line');
    return this.#proxy;
  }

  /** A setting of Mosquitto: where its watcher connects without TLS, and beside the line that rows cut. */
  get plainListener() {
    return { listener: `${this.#plain} 127.0.0.1` };
  }

  get scripted(): ScriptedUpstream {
    if (this.#scripted === undefined) throw new Error('the upstream has no script');
    return this.#scripted;
  }

  async begin(): Promise<void> {
    const { mosquitto, aedes, script, keys = {}, isRefused, isNever } = this.row;
    if (mosquitto !== undefined) await this.#startMosquitto(mosquitto);
    if (script !== undefined) await this.#startScript(script());
    const tls = aedes === undefined ? {} : await this.#startAedes(aedes);
    await this.configure({ ...(typeof keys === 'function' ? await keys(this) : keys), ...tls });
    for (const name of ['Bett 1', 'Bett 2']) {
      // As long as the gateway runs, however fast its clock.
      const device = await this.home.device(name);
      this.sensors.push(await this.home.sensor({ device, keepalive: 3_600 }));
    }
    const isDown = mosquitto?.isDown ?? isRefused ?? isNever ?? false;
    if (!isDown) await this.shows({ connected: true });
  }

  /** Changes keys of the bridge. */
  configure(keys: object): Promise<void> {
    const locations = [this.home.locationId];
    const bridge = { url: this.#url, send: 'alarms', locations, ...keys };
    return Bridges.of(this.home.gateway).set(this.name, bridge);
  }

  shows(status: object): Promise<unknown> {
    const { home, name } = this;
    return eventually(async () => expect(await bridgeOf(home, name)).toMatchObject(status));
  }

  faults(): Promise<string[]> {
    return faultsOf(this.home, this.name);
  }

  hasFaults(faults: readonly string[]): Promise<unknown> {
    return eventually(async () => expect(await this.faults()).toEqual(faults));
  }

  authority(name?: string): Promise<Authority> {
    return Authority.create(this.#own.directory(), name);
  }

  async settled(): Promise<void> {
    const { isNever, deadLetters = [] } = this.row;
    const { home, name } = this;
    for (const sensor of this.sensors) await sensor.untilAcknowledged();
    if (isNever === true) {
      const queued = home.ledger.count;
      await this.shows({ connected: false, queued, delivered: 0 });
      return;
    }
    // A message whose acknowledgement was lost comes again with DUP; Mosquitto passes it on without.
    await home.settled({ lost: deadLetters.length, mayRepeat: true });
    this.#isInOrder();
    const dropped = { tooOld: 0, tooMany: 0, refused: deadLetters.length, lost: 0 };
    await this.shows({ connected: true, queued: 0, dropped });
    const letters = (await home.must('GET', `/bridges/${name}/dead-letters`)).list();
    expect(letters.map(({ reason }) => reason)).toEqual(deadLetters);
    for (const { topic } of letters) expect(topic).toMatch(/\/alarms\/noise$/);
    const isRefusing = (await bridgeOf(home, name))['state'] === 'refusing';
    if (!isRefusing) await this.hasFaults([]);
  }

  #isInOrder(): void {
    const [watcher] = this.home.ledger.destinations;
    for (const { device } of this.sensors) {
      const first = [...new Set(watcher?.of(device.id).map(({ n }) => n))];
      expect(first, 'the order at the upstream').toEqual(first.toSorted((a, b) => a - b));
    }
  }

  async #startMosquitto({ isDown, ...options }: MosquittoOptions & { isDown?: true }) {
    const plain = await claimPort();
    this.#plain = plain;
    const settings = { ...options.settings, ...this.plainListener };
    const mosquitto = await this.#own.keep(Mosquitto.create({ ...options, settings }), (one) =>
      one.remove(),
    );
    this.#mosquitto = mosquitto;
    if (this.row.isCut === true) this.#proxy = await this.#own.proxy(mosquitto.port);
    this.#url = mosquitto.urlAt('127.0.0.1', this.#proxy?.port ?? mosquitto.port);
    if (this.row.isNever === true && isDown === true) return;
    await mosquitto.start();
    await watcherAt(this.home, plain, this.name, this.#filter);
    await mosquitto.save();
    if (isDown === true) await mosquitto.stop();
  }

  /** Which alarms the upstream owes: the refused ones are of another kind. */
  get #filter(): string {
    const { deadLetters = [] } = this.row;
    return this.home.filter(undefined, deadLetters.length > 0 ? 'alarms/fall' : 'alarms/#');
  }

  async #startScript(script: Script): Promise<void> {
    const filter = this.#filter;
    const destination = this.home.ledger.destination(`bridge/${this.name}`, true);
    destination.subscribed([filter]);
    const onPublish = (packet: IPublishPacket, connection: number): ScriptedAnswer => {
      this.publishes[connection] = [...(this.publishes[connection] ?? []), packet];
      const answer = script.onPublish?.(packet, connection) ?? 0;
      const { topic, payload, qos, retain, dup } = packet;
      const message = { topic, text: payload.toString(), qos, retain, dup };
      if (answer === 0) destination.received({ ...message, atMs: performance.now() });
      return answer;
    };
    this.#scripted = await this.#own.keep(ScriptedUpstream.start({ ...script, onPublish }), (one) =>
      one.remove(),
    );
    this.#url = this.#scripted.url;
  }

  async #startAedes(aedes: NonNullable<UpstreamRow['aedes']>): Promise<object> {
    const isPlain = typeof aedes === 'string';
    const [authority, foreign] = isPlain ? [] : [await this.authority(), await this.authority('x')];
    const certificate = await authority?.server('DNS:broker.example');
    const upstream = await this.#own.keep(AedesUpstream.start(certificate), (one) => one.remove());
    this.#url = aedes === 'mqtt' ? upstream.url : upstream.webSocketUrl;
    await watcherAt(this.home, Number(new URL(upstream.url).port), this.name);
    if (isPlain || authority === undefined || foreign === undefined) return {};
    return aedes(authority, foreign);
  }
}

/** Each of the two devices raises this many alarms. */
function alarms(count = 5, fields?: { readonly kind?: string; readonly note?: string }): Step {
  return ({ sensors }) => {
    for (const sensor of sensors) for (let one = 0; one < count; one++) sensor.alarm(fields);
  };
}

/** The first device raises an alarm that the upstream never takes. */
const poison: Step = ({ sensors: [sensor] }) => sensor?.alarm({ kind: 'noise' });

/** Resolves when so many alarms of each device have arrived. */
function arrived(count: number): Step {
  return (run) => {
    const [watcher] = run.home.ledger.destinations;
    const came = ({ device }: Sensor) => watcher?.of(device.id).length ?? 0;
    return eventually(() =>
      expect(Math.min(...run.sensors.map(came))).toBeGreaterThanOrEqual(count),
    );
  };
}

function shows(status: object): Step {
  return (run) => run.shows(status);
}

function down(kind: string, detail?: string): Step {
  const lastError = detail === undefined ? { kind } : { kind, detail };
  return shows({ connected: false, connectedSince: null, lastError });
}

/** The operator sees this fault, or none. */
function fault(text?: string): Step {
  return (run) => run.hasFaults(text === undefined ? [] : [text]);
}

/** The log has one line with the text, however often it was tried. */
function saidOnce(text: string): Step {
  return ({ home, name }) => {
    const own = home.gateway.lines.filter((line) => line.includes(`"bridge":"${name}"`));
    expect(
      own.filter((line) => line.includes(text)),
      text,
    ).toHaveLength(1);
  };
}

const connected = shows({ connected: true });
const stop: Step = ({ mosquitto }) => mosquitto.stop();
const kill: Step = ({ mosquitto }) => mosquitto.kill();
const start: Step = ({ mosquitto }) => mosquitto.start();
const freeze: Step = ({ mosquitto }) => mosquitto.freeze();
const thaw: Step = ({ mosquitto }) => mosquitto.thaw();
const mend: Step = ({ proxy }) => proxy.mend();
const hangUp: Step = ({ scripted }) => scripted.hangUp();

function swallow(direction: Direction): Step {
  return ({ proxy }) => proxy.swallow(direction);
}

/** A new connection was tried so often. */
function tried(count: number): Step {
  return async ({ proxy }) => proxy.untilAttempts(proxy.attempts + count);
}

/** Mosquitto is started again without its limits. */
const unlimited: Step = async ({ mosquitto, plainListener }) => {
  await mosquitto.stop();
  mosquitto.change({ settings: plainListener });
  await mosquitto.start();
};

function versions(...wanted: number[]): Step {
  return (run) => eventually(() => expect(run.scripted.protocolVersions).toEqual(wanted));
}

/** A state that lasts until the step. */
function untilMended(): [isSo: () => boolean, mend: Step] {
  let isSo = true;
  return [
    () => isSo,
    () => {
      isSo = false;
    },
  ];
}

const isPoison = ({ topic }: IPublishPacket) => topic.includes('/noise');
const WATCHER = { watcher: 'watching' };
const ACL = ['topic write care-homes/+/devices/+/alarms/fall', 'user watcher', 'topic read #'];
const IP = 'IP:127.0.0.1';
const UNREACHABLE = 'A bridge is down: the upstream cannot be reached';
const CLOSED = 'A bridge is down: the upstream has closed the connection';
const REFUSES = 'The upstream of a bridge refuses alarms';

/** A connection cut by the network, or by the upstream's end. */
const OUTAGES: UpstreamRow[] = [
  {
    name: 'Mosquitto is killed under load, twice: nothing is missing',
    mosquitto: {},
    steps: [
      ...[alarms(10), arrived(1), kill, down('unreachable'), fault(UNREACHABLE), alarms()],
      ...[start, connected, alarms(), arrived(20), kill, alarms(10), start],
    ],
  },
  {
    name: 'Mosquitto is stopped under load: nothing is missing',
    mosquitto: {},
    steps: [alarms(10), arrived(1), stop, down('unreachable'), alarms(), start],
  },
  {
    name: 'Mosquitto is down from the start: it gets everything once it is up',
    mosquitto: { isDown: true },
    steps: [alarms(20), shows({ queued: 40, delivered: 0, connected: false }), start],
  },
  {
    name: 'Mosquitto freezes: it is given up, and gets everything when it thaws',
    mosquitto: {},
    steps: [alarms(), arrived(1), freeze, alarms(), down('silent'), thaw, connected, alarms()],
  },
  ...(['up', 'down'] as const).map((direction) => ({
    name: `the line is dead (${direction}): a missing acknowledgement shows it`,
    mosquitto: {},
    isCut: true as const,
    steps: [
      ...[alarms(), arrived(5), swallow(direction), alarms(), down('silent')],
      ...[fault('A bridge is down: the upstream does not answer'), mend, alarms()],
    ],
  })),
  {
    name: 'the line is dead and there is nothing to send: the pings show it',
    mosquitto: {},
    isCut: true,
    keys: { keepAliveSeconds: 1 },
    steps: [swallow('both'), down('silent'), mend, connected, alarms()],
  },
  {
    name: 'the line is cut again and again under load: nothing is missing, in order',
    mosquitto: {},
    isCut: true,
    keys: { maxInFlight: 20 },
    steps: [1, 2, 3].flatMap((cut): Step[] => [
      alarms(20),
      arrived(20 * cut - 15),
      ({ proxy }) => proxy.reset(),
      tried(1),
    ]),
  },
  {
    name: 'the line refuses connections: they are tried again',
    mosquitto: {},
    isCut: true,
    steps: [({ proxy }) => proxy.refuse(), alarms(), tried(2), fault(CLOSED), mend],
  },
];

/** An upstream that is there, and does not take the connection or a message. */
const REFUSALS: UpstreamRow[] = [
  {
    name: 'Mosquitto does not know the password: said once, without a secret; corrected, nothing is missing',
    mosquitto: { users: { ...WATCHER, gateway: 'other' } },
    isCut: true,
    keys: { username: 'gateway', password: 'right-password' },
    isRefused: true,
    steps: [
      ...[alarms(10), down('credentials'), tried(1), saidOnce('"failure":"credentials"')],
      fault('A bridge is down: the upstream does not accept the credentials'),
      ({ home }) => expect(home.gateway.lines.join()).not.toContain('right-password'),
      ({ mosquitto }) => mosquitto.setUsers({ ...WATCHER, gateway: 'right-password' }),
    ],
  },
  // Mosquitto 2.0 ends the connection after each refused PUBLISH where `max_queued_messages` is 0.
  ...[{}, { max_queued_messages: 0 }].map((settings) => ({
    name: `Mosquitto denies a topic, with ${JSON.stringify(settings)}: dead letters, and the rest arrives`,
    mosquitto: { acl: ACL, settings },
    keys: { protocol: 5 },
    steps: [alarms(1), poison, alarms(1), poison, alarms(1)],
    deadLetters: ['Not authorized', 'Not authorized'],
  })),
  // CONNACK announces the first; the bridge finds out the second by trying.
  ...['max_packet_size', 'message_size_limit'].map((setting) => ({
    name: `an alarm is larger than Mosquitto’s ${setting}: a dead letter, and the rest arrives`,
    mosquitto: { settings: { [setting]: 3_000 } },
    keys: { protocol: 5 },
    steps: [alarms(1), alarms(1, { kind: 'noise', note: 'x'.repeat(4_000) }), alarms(1)],
    deadLetters: ['Packet too large', 'Packet too large'],
  })),
  {
    name: 'Mosquitto’s memory is full: tried again, and everything arrives when it has room',
    // The least with which it starts.
    mosquitto: { settings: { memory_limit: 400_000 } },
    isCut: true,
    steps: [
      async ({ mosquitto: { port } }) => {
        const away = { clean: false, clientId: 'away', isDescribed: false };
        const client = await Client.connect({ mqttPort: port }, {}, away);
        await client.subscribe('#');
        await client.end();
      },
      ...[alarms(25, { note: 'x'.repeat(10_000) }), tried(3), unlimited],
    ],
  },
  {
    name: 'Mosquitto takes no more connections: tried again, until it does',
    mosquitto: { settings: { max_connections: 1 } },
    keys: async ({ mosquitto: { port }, home }) => {
      const other = await Client.connect({ mqttPort: port }, {});
      home.onClose(() => other.vanish());
      return {};
    },
    isRefused: true,
    steps: [alarms(), shows({ connected: false, queued: 10 }), unlimited],
  },
  {
    name: 'another client takes over the bridge’s client id for a while: nothing is missing',
    mosquitto: {},
    isCut: true,
    keys: { clientId: 'haus-am-see' },
    steps: [
      alarms(),
      async ({ mosquitto: { port }, proxy }) => {
        const { attempts } = proxy;
        const other = await Client.connect({ mqttPort: port }, {}, { clientId: 'haus-am-see' });
        await proxy.untilAttempts(attempts + 1);
        other.vanish();
      },
      alarms(),
    ],
  },
];

const TLS: UpstreamRow[] = [
  {
    name: 'Mosquitto wants a certificate, and is killed: nothing is missing',
    mosquitto: { tls: { name: IP, requiresClientCertificate: true } },
    keys: async ({ mosquitto: { authority } }) => {
      return { caFile: authority.certFile, ...(await authority.client('gateway')) };
    },
    steps: [alarms(10), arrived(1), kill, alarms(10), down('unreachable'), start],
  },
  {
    name: 'Mosquitto wants a certificate, and the bridge has none: TLS, and nothing is sent',
    mosquitto: { tls: { name: IP, requiresClientCertificate: true } },
    keys: ({ mosquitto }) => ({ caFile: mosquitto.authority.certFile, protocol: 5 }),
    isNever: true,
    steps: [alarms(), down('tls')],
  },
  {
    name: 'an untrusted authority: said once, nothing is sent; corrected, nothing is missing',
    mosquitto: { tls: { name: IP } },
    isCut: true,
    keys: async (run) => ({ caFile: (await run.authority()).certFile }),
    isRefused: true,
    steps: [
      ...[alarms(), down('tls'), tried(1), saidOnce('"failure":"tls"')],
      fault('A bridge is down: no trusted TLS connection to the upstream'),
      (run) => run.configure({ caFile: run.mosquitto.authority.certFile }),
    ],
  },
  {
    name: 'a certificate for another name: nothing is sent until that name is expected',
    mosquitto: { tls: { name: 'DNS:broker.example' } },
    keys: ({ mosquitto }) => ({ caFile: mosquitto.authority.certFile }),
    isRefused: true,
    steps: [
      ...[alarms(), down('tls'), shows({ queued: 10 })],
      (run) => {
        const caFile = run.mosquitto.authority.certFile;
        return run.configure({ caFile, serverName: 'broker.example' });
      },
    ],
  },
  {
    name: 'WebSocket with TLS, the right authority and name: everything arrives',
    aedes: ({ certFile }) => ({ caFile: certFile, serverName: 'broker.example' }),
    steps: [alarms()],
  },
  {
    name: 'WebSocket with TLS and another name: nothing is sent',
    aedes: ({ certFile }) => ({ caFile: certFile }),
    isNever: true,
    steps: [alarms(), down('tls')],
  },
  {
    name: 'WebSocket with TLS and another authority: nothing is sent',
    aedes: (_, { certFile }) => ({ caFile: certFile, serverName: 'broker.example' }),
    isNever: true,
    steps: [alarms(), down('tls')],
  },
];

/** [MQTT-3.1.2-2]: an upstream of an older version says so, or just hangs up. */
const VERSIONS: UpstreamRow[] = [
  { name: 'Aedes speaks only 3.1.1: so does the bridge', aedes: 'mqtt', steps: [alarms(20)] },
  { name: 'Aedes over WebSocket: everything arrives', aedes: 'ws', steps: [alarms(20)] },
  {
    name: 'it hangs up once at CONNECT: the bridge returns to MQTT 5',
    script: () => ({ onConnect: (connection) => (connection === 1 ? 'hang up' : 0) }),
    steps: [versions(5, 4), connected, hangUp, versions(5, 4, 5), alarms()],
  },
  ...[1, 132].map((code) => ({
    name: `it answers MQTT 5 with ${code}: the bridge speaks 3.1.1 at once and for good`,
    script: () => ({ onConnect: (_: number, version: number) => (version === 5 ? code : 0) }),
    steps: [shows({ lastError: null }), hangUp, versions(5, 4, 4), alarms()],
  })),
  {
    name: 'it takes no version: tried again after a pause, and named',
    script: () => ({ onConnect: () => 1 }),
    isNever: true,
    steps: [
      ...[alarms(), down('protocol'), versions(5, 4)],
      fault('A bridge is down: the upstream does not speak this version of MQTT'),
    ],
  },
];

/** Answers to one message of many. */
const ANSWERS: UpstreamRow[] = [
  ...(
    [
      [135, 'Not authorized'],
      [144, 'Topic Name invalid'],
      [153, 'Payload format invalid'],
    ] as const
  ).map(([code, reason]) => ({
    name: `it refuses an alarm for good (${code}): a dead letter, and the rest over the same connection`,
    script: () => ({ onPublish: (packet: IPublishPacket) => (isPoison(packet) ? code : 0) }),
    steps: [alarms(1), poison, alarms(10), arrived(11), versions(5)],
    deadLetters: [reason],
  })),
  {
    name: 'it ends the connection for an alarm (149): tried alone, a dead letter, and the rest arrives',
    script: () => {
      let isEnding = false;
      return {
        onConnect: () => {
          isEnding = false;
          return 0;
        },
        onPublish: (packet) => {
          if (!isPoison(packet)) return isEnding ? 'nothing' : 0;
          isEnding = true;
          return { disconnect: 149 };
        },
      };
    },
    steps: [alarms(1), poison, alarms(10), arrived(11), versions(5, 5, 5)],
    deadLetters: ['Packet too large'],
  },
  {
    name: 'it ends each connection for another reason (139): nothing is refused, and everything arrives',
    script: () => ({
      onPublish: (_, connection) => (connection <= 4 ? { disconnect: 139 } : 0),
    }),
    steps: [alarms()],
  },
  ...(
    [
      [128, 'Unspecified error'],
      [131, 'Implementation specific error'],
      [151, 'Quota exceeded'],
    ] as const
  ).map(([code, detail]) => {
    const [isRefusing, open] = untilMended();
    return {
      name: `it refuses alarms for now (${code}): a fault meanwhile, then everything in order`,
      script: () => ({ onPublish: () => (isRefusing() ? code : 0) }),
      steps: [
        ...[alarms(3), shows({ state: 'refusing', lastError: { kind: 'refused', detail } })],
        (run) => eventually(async () => expect(await run.faults()).toContain(REFUSES)),
        ...[open, shows({ state: 'delivering', delivered: 6 })],
      ] satisfies Step[],
    };
  }),
  {
    name: 'it says that another client has the client id (142): named, and tried again after a longer pause',
    script: () => ({
      onPublish: (_, connection) => (connection === 1 ? { disconnect: 142 } : 0),
    }),
    steps: [
      ...[alarms(1), down('taken-over', 'Session taken over')],
      fault('A bridge is down: another client uses the client id of the bridge'),
    ],
  },
  {
    name: 'it refuses an alarm for good: a fault until it takes one',
    script: () => ({ onPublish: (packet) => (isPoison(packet) ? 135 : 0) }),
    steps: [
      poison,
      shows({ state: 'refusing', connected: true, lastError: { detail: 'Not authorized' } }),
      ...[fault(REFUSES), alarms(1), shows({ state: 'delivering' })],
    ],
    deadLetters: ['Not authorized'],
  },
  {
    name: 'it acknowledges nothing and hangs up: the same again, with DUP, under the same identifiers',
    // [MQTT-4.4.0-1], [MQTT-3.3.1-1]
    script: () => ({ onPublish: (_, connection) => (connection === 1 ? 'nothing' : 0) }),
    steps: [
      alarms(3),
      (run) => eventually(() => expect(run.scripted.topics).toHaveLength(6)),
      ...[hangUp, arrived(3)],
      ({ publishes: [, first = [], second = []] }) => {
        const told = (sent: IPublishPacket[]) =>
          sent.map(({ topic, messageId }) => [topic, messageId]);
        expect(told(second)).toEqual(told(first));
        expect(first.map(({ dup }) => dup)).not.toContain(true);
        expect(second.map(({ dup }) => dup)).not.toContain(false);
      },
    ],
  },
  {
    name: 'it denies the commands: a fault until it grants them',
    script: () => ({ onSubscribe: (connection) => (connection === 1 ? 135 : 1) }),
    keys: { commands: ['#'] },
    steps: [
      fault('A bridge gets no commands: the upstream denies the subscription'),
      ...[hangUp, fault(), alarms()],
    ],
  },
  ...([5, '3.1.1'] as const).map((protocol) => ({
    name: `it announces 100 MiB with MQTT ${protocol}: given up before they come, and told to forget`,
    script: () => ({}),
    keys: { protocol, commands: ['#'] },
    steps: [
      // PUBLISH with a remaining length of 100 MiB, and as much of it as shows that nothing gathers them.
      ({ scripted }) => {
        scripted.sendBytes(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x32, 0, 1, 0x61]));
        scripted.sendBytes(Buffer.alloc(20_000_000));
      },
      fault('A bridge is down: the upstream sends packets far over the limit'),
      (run) => eventually(() => expect(run.scripted.cleanFlags).toEqual([false, true])),
      alarms(),
    ] satisfies Step[],
  })),
];

/** At a message of this kind it hangs up, which says nothing about the reason. */
const hangsUp = (packet: IPublishPacket) => (isPoison(packet) ? ('hang up' as const) : 0);
const CLOSED_EACH_TIME = 'Connection closed each time';
const LAGS = 'A bridge lags: its oldest message has waited for more than a minute';

function connections(count: number): Step {
  return (run) =>
    eventually(() => expect(run.scripted.protocolVersions.length).toBeGreaterThanOrEqual(count));
}

/**
 * Hang-ups at messages. The bridge takes a minute and ten hang-ups to believe that one message is to blame, so these
 * run while its pauses are short and the minute is none.
 */
export const HANG_UPS: UpstreamRow[] = [
  ...([5, '3.1.1'] as const).map((protocol) => ({
    name: `it hangs up at one alarm, with MQTT ${protocol}: named, a dead letter, and the rest arrives`,
    script: () => ({ onPublish: hangsUp }),
    keys: { protocol },
    steps: [
      ...[alarms(1), poison, alarms(10), connections(10), arrived(11)],
      saidOnce('closes the connection at a message'),
    ],
    deadLetters: [CLOSED_EACH_TIME],
  })),
  {
    name: 'it hangs up at two alarms in a row: both are dead letters, and no others',
    script: () => ({ onPublish: hangsUp }),
    steps: [poison, poison, alarms(3)],
    deadLetters: [CLOSED_EACH_TIME, CLOSED_EACH_TIME],
  },
  {
    name: 'it refuses one alarm for now, each time, and takes all others: a dead letter',
    script: () => ({ onPublish: (packet) => (isPoison(packet) ? 128 : 0) }),
    steps: [poison, alarms(3), connections(10)],
    deadLetters: ['Unspecified error'],
  },
  {
    name: 'it hangs up at every alarm until it is repaired: nothing is refused, and all arrive in order',
    script: () => {
      let first: string | undefined;
      let isRepaired = false;
      return {
        onPublish: ({ payload }, connection) => {
          if (isRepaired) return 0;
          first ??= payload.toString();
          // It has now seen that the bridge tries others instead of the first.
          isRepaired = connection > 10 && payload.toString() !== first;
          return 'hang up';
        },
      };
    },
    steps: [alarms(10), connections(11)],
  },
  {
    name: 'it hangs up at an alarm several times and then takes it: nothing is refused',
    script: () => ({ onPublish: (_, connection) => (connection < 8 ? 'hang up' : 0) }),
    steps: [poison, alarms(5), connections(8)],
  },
  {
    name: 'it hangs up at the only alarm: kept, until it takes another that comes later',
    script: () => ({ onPublish: hangsUp }),
    steps: [poison, connections(14), shows({ queued: 1, dropped: { refused: 0 } }), alarms(1)],
    deadLetters: [CLOSED_EACH_TIME],
  },
  (() => {
    const [isBroken, repair] = untilMended();
    const lags: Step = (run) => eventually(async () => expect(await run.faults()).toContain(LAGS));
    return {
      name: 'it hangs up at everything for more than a minute: the bridge lags, connected or not',
      script: () => ({ onPublish: () => (isBroken() ? ('hang up' as const) : 0) }),
      steps: [
        ...[alarms(1), connections(5), ({ home }: Run) => home.gateway.clock.advance(61_000), lags],
        async (run: Run) => {
          const length = run.scripted.protocolVersions.length + 3;
          const seen = new Set<boolean>();
          for (; run.scripted.protocolVersions.length < length; ) {
            seen.add((await run.faults()).includes(LAGS));
          }
          expect([...seen]).toEqual([true]);
        },
        repair,
      ],
    };
  })(),
];

export const ROWS = [...OUTAGES, ...REFUSALS, ...TLS, ...VERSIONS, ...ANSWERS];
