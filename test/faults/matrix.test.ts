/**
 * Every fault of the matrix at every instant, for all destinations at once: a durable and a live nurse, a bridge, an
 * event stream and a webhook. The home's ledger compares what came with what was acknowledged.
 */
import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe } from 'vitest';
import { z } from 'zod';
import { EventReader } from '../harness/events.js';
import {
  expect,
  type Gateway,
  Home,
  NO_LIMITS,
  type Nurse,
  Own,
  type Sensor,
  test,
} from '../harness/index.js';
import type { Destination, SentAlarm } from '../harness/ledger.js';
import { WEBHOOK_SECRET, WebhookReceiver } from '../harness/receivers.js';
import { ScriptedUpstream } from '../harness/upstream.js';
import { eventually, until } from '../harness/wait.js';
import { FAULTS, type Fault, type Place } from './matrix.js';

const TIMEOUT_MS = 60_000;
const ALARMS = 4;
const QOS = [0, 1, 2] as const;
const DISK = ['-t', 'tmpfs', '-o', 'size=16m,mode=0700', 'tmpfs'];
const [BRIDGE, WEBHOOK] = ['bridge/region', 'webhook/app'];

const webhookBody = z.object({ topic: z.string(), payload: z.unknown() });
const faultList = z.object({ faults: z.array(z.object({ code: z.string() })) });

/** A gateway with a bridge and a webhook, and what the faults of its tests need. */
class Site {
  readonly gateway: Gateway;
  readonly upstream: ScriptedUpstream;
  readonly rest: Pick<Place, 'server' | 'line' | 'disk'>;
  /** Whether upstream and webhook acknowledge nothing. */
  isHolding = false;
  /** Packet identifiers that the upstream has not acknowledged. */
  readonly held: number[] = [];
  run: Run | undefined;

  private constructor(gateway: Gateway, upstream: ScriptedUpstream, rest: Site['rest']) {
    this.gateway = gateway;
    this.upstream = upstream;
    this.rest = rest;
  }

  static async start(on: Fault['on'], own: Own): Promise<Site> {
    let site: Site | undefined;
    const upstream = await own.keep(
      ScriptedUpstream.start({
        onPublish: ({ topic, payload, qos, dup, retain, messageId = 0 }) => {
          const text = payload.toString();
          site?.run?.bridge.received({ topic, text, qos, dup, retain, atMs: performance.now() });
          if (site?.isHolding !== true) return 0;
          site.held.push(messageId);
          return 'nothing';
        },
      }),
      (one) => one.remove(),
    );
    const receiver = await own.keep(WebhookReceiver.start(), (one) => one.stop());
    receiver.answer = ({ text, headers }) => {
      if (site?.isHolding === true) return { status: 503 };
      const { topic, payload } = webhookBody.parse(JSON.parse(text));
      site?.run?.posted(String(headers['webhook-id']), message(topic, payload, 1));
      return { status: 200 };
    };
    const server = await own.redis();
    const line = await own.proxy(server.socketPath);
    const disk = own.directory();
    if (on === 'disk') {
      spawnSync('mount', [...DISK, disk]);
      own.onEnd(() => spawnSync('umount', ['--lazy', disk]));
    }
    const gateway = await own.gateway({
      kind: on === 'process' ? 'process' : 'here',
      isHurried: on !== 'process',
      env: {
        ...NO_LIMITS,
        ...(on === 'server' && { GATEWAY_REDIS_URL: `redis://127.0.0.1:${line.port}` }),
        ...(on === 'disk' && { GATEWAY_DATA_DIR: disk }),
      },
      config: {
        bridges: [{ name: 'region', url: upstream.url, send: 'alarms' }],
        outputs: [
          {
            name: 'app',
            type: 'webhook',
            url: `http://127.0.0.1:${receiver.port}/`,
            secret: WEBHOOK_SECRET,
            topics: ['care-homes/+/devices/+/alarms/#'],
            allowPrivate: true,
          },
        ],
      },
    });
    site = new Site(gateway, upstream, { server, line, disk });
    return site;
  }

  release(): void {
    this.isHolding = false;
    for (const messageId of this.held.splice(0)) this.upstream.send({ cmd: 'puback', messageId });
  }
}

/** An event stream that resumes where it broke off, as an EventSource does. */
class Stream {
  readonly #home: Home;
  readonly destination: Destination;
  #reader: EventReader | undefined;
  #last: string | undefined;
  #isAway = false;

  constructor(home: Home, destination: Destination) {
    this.#home = home;
    this.destination = destination;
  }

  async open(): Promise<void> {
    this.#isAway = false;
    const { gateway, viewer } = this.#home;
    const filters = [this.#home.filter(undefined, 'alarms/#')];
    const reader = await EventReader.open(gateway, viewer, { filters, lastEventId: this.#last });
    if (reader.response.statusCode !== 200) throw new Error(`${reader.response.statusCode}`);
    this.#reader = reader;
    let read = 0;
    const take = () => {
      const messages = reader.messages('/alarms/');
      for (; read < messages.length; read++) {
        const { topic, payload, id, retained } = messages[read] ?? {};
        if (topic === undefined || retained === true) continue;
        this.destination.received(message(topic, payload, id === undefined ? 0 : 1));
      }
      this.#last = reader.lastEventId ?? this.#last;
    };
    reader.response.on('data', take);
    reader.response.on('close', () => {
      this.#reader = undefined;
      if (this.#isAway) return;
      eventually(async () => this.#isAway || (await this.open())).catch(() => undefined);
    });
    await reader.opened();
    take();
  }

  get isOpen(): boolean {
    return this.#reader !== undefined;
  }

  close(): void {
    this.#isAway = true;
    this.#reader?.close();
  }
}

type Message = Parameters<Destination['received']>[0];

function message(topic: string, payload: unknown, qos: 0 | 1): Message {
  const text = JSON.stringify(payload);
  return { topic, text, qos, dup: false, retain: false, atMs: performance.now() };
}

/** A home whose alarms go to every kind of destination, and one fault of it. */
class Run {
  readonly home: Home;
  readonly fault: Fault;
  readonly site: Site;
  readonly sensors: readonly Sensor[];
  readonly durable: Nurse;
  readonly live: Nurse;
  readonly stream: Stream;
  readonly bridge: Destination;
  readonly webhook: Destination;
  /** By `webhook-id`, in the order in which each came last: nothing else tells a live copy from the alarm. */
  readonly #posts = new Map<string, Message>();
  /** Everything that was posted. */
  readonly #posted: Destination;
  /** Whether the durable nurse acknowledges nothing. */
  isSilent: boolean;
  #isApplied = false;

  private constructor(
    { site, home, fault }: Pick<Run, 'site' | 'home' | 'fault'>,
    { sensors, durable, live }: Pick<Run, 'sensors' | 'durable' | 'live'>,
  ) {
    this.site = site;
    this.home = home;
    this.fault = fault;
    this.sensors = sensors;
    this.durable = durable;
    this.live = live;
    this.isSilent = fault.isSilent === true;
    const filters = [home.filter(undefined, 'alarms/#')];
    const destination = (name: string) => {
      const one = home.ledger.destination(name, true, false);
      one.subscribed(filters);
      return one;
    };
    this.bridge = destination(BRIDGE);
    this.webhook = destination(WEBHOOK);
    this.#posted = home.ledger.destination('posted', false);
    this.stream = new Stream(home, destination('events'));
  }

  static async begin(site: Site, fault: Fault): Promise<Run> {
    const home = await Home.at(site.gateway);
    const sensors = await Promise.all(QOS.map((qos) => home.sensor({ qos })));
    const durable = await home.nurse({ isDurable: true, acknowledges: false });
    const live = await home.nurse({ reconnects: true });
    const run = new Run({ site, home, fault }, { sensors, durable, live });
    site.run = run;
    await run.stream.open();
    await run.back();
    return run;
  }

  get place(): Place {
    const { gateway, rest } = this.site;
    return { gateway, ...rest, durable: this.durable, sensors: this.sensors };
  }

  /** Raises alarms at each QoS, and waits for nothing. */
  publish(count = this.fault.alarms ?? ALARMS): SentAlarm[] {
    return this.sensors.flatMap((sensor) => Array.from({ length: count }, () => sensor.alarm()));
  }

  posted(id: string, post: Message): void {
    this.#posts.delete(id);
    this.#posts.set(id, post);
    this.#posted.received({ ...post, qos: 0 });
  }

  /** Has everybody connected again who was not. */
  async back(): Promise<void> {
    if (this.durable.client.isClosed) await eventually(() => this.durable.connect());
    if (!this.isSilent) this.durable.client.acknowledgeAll();
    await until(
      () =>
        this.stream.isOpen &&
        [this.live, ...this.sensors].every(({ client }) => !client.isClosed) &&
        this.site.upstream.connections > 0,
      'the clients to be back',
    );
  }

  async apply(): Promise<void> {
    this.#isApplied = true;
    await this.fault.apply(this.place);
  }

  async undo(): Promise<void> {
    this.#isApplied = false;
    await this.fault.undo(this.place);
    this.isSilent = false;
    await this.back();
  }

  /** Leaves the gateway as it was, for the tests after one that fails. */
  async close(): Promise<void> {
    if (this.#isApplied) await this.fault.undo(this.place);
    this.site.release();
    this.stream.close();
    await this.home.close();
  }

  /** Checks what each destination has, and what is acknowledged, while the fault lasts. */
  async meanwhile(alarms: readonly SentAlarm[]): Promise<void> {
    const { owed, isStored, losesQos0 = false } = this.fault;
    const expected = alarms.filter(({ isOwed }) => isOwed || !losesQos0);
    const { ledger } = this.home;
    const destinations = {
      durable: ledger.destination(this.durable.clientId, true),
      live: ledger.destination(this.live.clientId, false),
      bridge: this.bridge,
      events: this.stream.destination,
      webhook: this.#posted,
    };
    for (const kind of ['durable', 'live', 'bridge', 'events', 'webhook'] as const) {
      if (owed[kind] === 'late' || owed[kind] === 'may miss') continue;
      const isRecord = owed[kind] === 'at once' && kind !== 'webhook';
      const has = (alarm: SentAlarm) =>
        isRecord ? destinations[kind].hasRecord(alarm) : destinations[kind].has(alarm);
      const what = () => `${expected.filter((one) => !has(one)).length} alarms at ${kind}`;
      await until(() => expected.every(has), what);
    }
    const acknowledged = alarms.filter(({ isAcknowledged }) => isAcknowledged);
    if (isStored === false) expect(acknowledged).toEqual([]);
    if (isStored === true) for (const sensor of this.sensors) await sensor.untilAcknowledged();
  }

  /** Checks that the gateway says so, and refuses changes that it cannot store. */
  async isReported(): Promise<void> {
    const { code, isStored, on } = this.fault;
    if (code === undefined) return;
    await expect.poll(() => this.#codes()).toContain(code);
    if (on !== 'server' || isStored !== false) return;
    const { status, headers } = await this.home.ask('PATCH', this.home.path, {
      json: { name: 'Haus' },
    });
    expect([status, Number(headers['retry-after'])]).toEqual([503, expect.any(Number)]);
  }

  /** Checks that nothing is lost, and that nothing is repeated that need not be. */
  async end(isRestarted = this.fault.endsGateway === true): Promise<void> {
    for (const sensor of this.sensors) await sensor.untilAcknowledged();
    for (const name of [BRIDGE, WEBHOOK]) {
      const account = async () => {
        const { accepted = 0, delivered = 0, ...rest } = (await this.home.account(name)) ?? {};
        return { ...rest, open: accepted - delivered };
      };
      await expect.poll(account).toEqual({ queued: 0, expired: 0, dropped: 0, open: 0 });
    }
    for (const post of this.#posts.values()) this.webhook.received(post);
    await this.home.settled({ mayRepeat: isRestarted, liveMayMiss: isRestarted });
    if (!isRestarted && this.fault.losesQos0 !== true) {
      const open = () =>
        this.home.ledger.alarms.filter((one) => !one.isOwed && !this.#isStored(one));
      await expect.poll(open).toEqual([]);
    }
    if (this.fault.code !== undefined && this.fault.code !== 'clock-jumped') {
      await expect.poll(() => this.#codes()).not.toContain(this.fault.code);
    }
  }

  /** Whether an alarm at QoS 0 came to every durable destination, as one that is acknowledged. */
  #isStored(alarm: SentAlarm): boolean {
    const { destinations } = this.home.ledger;
    return destinations.every((one) => !one.isDurable || one.hasRecord(alarm));
  }

  async #codes(): Promise<string[]> {
    const { json } = await this.home.ask('GET', '/readyz');
    return faultList.parse(json).faults.map(({ code }) => code);
  }
}

const INSTANTS: readonly (readonly [name: string, pass: (run: Run) => Promise<void>])[] = [
  [
    'before an alarm',
    async (run) => {
      await run.apply();
      await run.meanwhile(run.publish());
      await run.isReported();
      await run.undo();
      await run.end();
    },
  ],
  [
    'while alarms are published',
    async (run) => {
      run.publish();
      await run.apply();
      await run.meanwhile(run.publish());
      await run.undo();
      run.publish();
      await run.end();
    },
  ],
  [
    'while a backlog is drained',
    async (run) => {
      await run.durable.leave();
      run.stream.close();
      run.publish(2 * ALARMS);
      for (const sensor of run.sensors) await sensor.untilAcknowledged();
      await run.stream.open();
      await run.durable.connect();
      await run.apply();
      await run.meanwhile(run.publish());
      await run.undo();
      await run.end();
    },
  ],
  [
    'while destinations acknowledge',
    async (run) => {
      run.site.isHolding = true;
      await run.durable.leave();
      await run.durable.connect();
      run.isSilent = true;
      run.publish(ALARMS);
      await run.durable.until(({ records }) => records.length >= ALARMS);
      await run.apply();
      if (!run.durable.client.isClosed) run.durable.client.acknowledge();
      run.site.release();
      await run.meanwhile(run.publish());
      await run.undo();
      await run.end();
    },
  ],
  [
    'while the gateway starts',
    async (run) => {
      const { fault, site } = run;
      const { gateway } = site;
      run.publish();
      for (const sensor of run.sensors) await sensor.untilAcknowledged();
      await gateway.stop();
      const isBefore = fault.on === 'server' || fault.on === 'disk';
      if (isBefore) await run.apply();
      const from = gateway.lines.length;
      const starting = gateway.start();
      // A start may fail when the store is killed: the service manager tries again.
      const started = starting.catch(async () => fault.endsGateway || (await gateway.restart()));
      run.publish();
      if (fault.delaysStart === true) await gateway.logged('failed to reach the store', from);
      else if (fault.endsGateway === true) await gateway.logged('', from);
      if (!isBefore) await run.apply();
      if (fault.delaysStart !== true && fault.endsGateway !== true) {
        await started;
        await run.back();
        await run.meanwhile(run.publish());
      }
      await run.undo();
      if (fault.endsGateway !== true) await started;
      await run.end(true);
    },
  ],
];

describe.each(['own store', 'server', 'disk', 'process'] as const)('with %s', (on) => {
  const own = new Own();
  let site: Site;
  beforeAll(async () => {
    site = await Site.start(on, own);
  }, TIMEOUT_MS);
  afterAll(() => own.release(), TIMEOUT_MS);

  for (const fault of FAULTS.filter((one) => one.on === on)) {
    test.for(INSTANTS.filter(([name]) => !fault.skips?.includes(name)))(
      `${fault.name} %s`,
      { timeout: TIMEOUT_MS },
      async ([, pass]) => {
        const run = await Run.begin(site, fault);
        try {
          await pass(run);
        } finally {
          await run.close();
        }
      },
    );
  }
});
