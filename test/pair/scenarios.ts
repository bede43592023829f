/**
 * A pair of boxes from the files of config/pair: two gateways, two Redis servers and three Sentinels. A scenario says
 * who dies, freezes or is cut while alarms flow, who serves afterwards, and what may be lost; the ledger judges.
 */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { faultTextsIn } from '../harness/described/fault-texts.js';
import {
  ask,
  eventually,
  expect,
  Gateway,
  Home,
  type MqttPlace,
  Nurse,
  Sensor,
} from '../harness/index.js';
import type { Allowances } from '../harness/ledger.js';
import { fillIn, type RedisProgram } from '../harness/redis.js';
import { RedisPair, type RedisPairOptions } from '../harness/redis-pair.js';

/** So that the other box need not wait for five seconds. */
const LEASE_SECONDS = 2;
/** Sentinels, gateway and clients each wait for the other before them. */
const TAKEOVER_MS = 80_000;
const TOOK_LEASE = 'took the lease of the store';
const ALONE = 'No replica confirms what is stored: new alarms are on one machine only.';

const leaseSchema = z.object({ epoch: z.number(), holder: z.string() });

export interface Scenario {
  readonly name: string;
  /** Who dies, freezes or is cut, and comes back, while alarms flow. */
  readonly happens: (pair: Pair) => unknown;
  readonly serves: 'same' | 'other';
  /** Whether the same gateway serves, started again. */
  readonly isRestarted?: boolean;
  /** Nothing may be lost or repeated, unless said here or by `NEW_GATEWAY`. */
  readonly may?: Allowances;
}

/** A pair under way: one gateway serves, and the other stands by. */
export class Pair {
  readonly redis: RedisPair;
  readonly #gateways: readonly [Gateway, Gateway];
  #serving: Gateway;

  private constructor(redis: RedisPair, gateways: readonly [Gateway, Gateway]) {
    this.redis = redis;
    this.#gateways = gateways;
    this.#serving = gateways[0];
  }

  static async start(options: RedisPairOptions = {}): Promise<Pair> {
    const redis = await RedisPair.start(options);
    const sentinels = redis.sentinels.map((address) => `    - ${address}`).join('\n');
    const config = fillIn(await readFile('config/pair/gateway.yaml', 'utf8'), [
      [/^ {4}- 192\.168\.20\.11:26379\n.*\n.*$/m, sentinels],
      [/(?<=^ {2}password: ).*$/m, redis.password],
      [/(?<=^ {2}sentinelPassword: ).*$/m, redis.sentinelPassword],
      // Clients of the tests connect without TLS.
      [/^tls:\n.*\n.*$/m, ''],
    ]);
    const env = { GATEWAY_LEASE_LENGTH_SECONDS: String(LEASE_SECONDS) };
    const create = () => Gateway.create({ kind: 'process', env, config });
    return new Pair(redis, [await create(), await create()]);
  }

  /** The gateway that serves, and the one that stands by. */
  get serving(): Gateway {
    return this.#serving;
  }

  get other(): Gateway {
    const [one, two] = this.#gateways;
    return this.#serving === one ? two : one;
  }

  /** The pair's address: always that of the gateway that serves. */
  get address(): MqttPlace {
    const serving = () => this.#serving;
    return {
      get mqttPort() {
        return serving().mqttPort;
      },
    };
  }

  /** The faults that the operator sees, but for what a takeover has lost: that stays. */
  async faults(): Promise<string[]> {
    const { json } = await ask(this.#serving, 'GET', '/readyz');
    return faultTextsIn(json).filter((text) => !text.includes('has lost'));
  }

  /** Resolves once one gateway serves, the other stands by, and the operator sees no fault. */
  async whole(): Promise<void> {
    if (!this.#serving.isRunning) await this.#serving.start();
    if (!this.other.isRunning) await this.other.startStandingBy();
    await this.redis.untilReplicated();
    await eventually(async () => expect(await this.faults()).toEqual([]));
  }

  /** Resolves once the other gateway serves, by its log from this line on. */
  async takenOver(from: number): Promise<void> {
    const next = this.other;
    await eventually(() => next.ready(from), TAKEOVER_MS);
    this.#serving = next;
  }

  /** The server and the Sentinel of the box whose server is the primary. */
  async primaryBox(): Promise<RedisProgram[]> {
    const primary = await this.redis.primary();
    const sentinel = this.redis.sentinelPrograms[this.redis.servers.indexOf(primary)];
    return sentinel === undefined ? [primary] : [primary, sentinel];
  }

  /** Runs the scenario while two devices raise alarms for a durable and a live nurse-call system. */
  async passes({ happens, serves, isRestarted = false, may = {} }: Scenario): Promise<void> {
    await this.whole();
    // What the store does not take for now is a 503, which every client repeats.
    const before = await eventually(() => Home.at(this.#serving));
    const { address } = this;
    const devices = [await before.device(), await before.device()];
    const filters = devices.map((device) => before.filter(device, 'alarms/#'));
    const ledger = before.ledger;
    const nurses = [];
    for (const isDurable of [true, false]) {
      const nurse = await Nurse.connect(address, before.viewer, ledger, {
        isDurable,
        reconnects: true,
        reconnectsForMs: TAKEOVER_MS,
      });
      nurses.push(await nurse.subscribe(...filters));
    }
    const sensors = await Promise.all(
      devices.map((device) =>
        Sensor.connect(address, device, ledger, { reconnectsForMs: TAKEOVER_MS }),
      ),
    );
    const epoch = await this.epoch();
    let isOver = false;
    const flows = sensors.map(async (sensor) => {
      for (; !isOver; await eventually(() => sensor.untilAcknowledged(), TAKEOVER_MS)) {
        for (let one = 0; one < 3; one++) sensor.alarm();
      }
    });
    try {
      await this.#moreAcknowledged(sensors);
      const [first, from] = [this.#serving, this.other.lines.length];
      await happens(this);
      if (serves === 'other' && this.#serving === first) await this.takenOver(from);
      await this.#moreAcknowledged(sensors);
    } finally {
      isOver = true;
      await Promise.all(flows);
    }
    const isNewEpoch = serves === 'other' || isRestarted;
    expect(await this.epoch(), 'the epoch of the lease').toBe(isNewEpoch ? epoch + 1 : epoch);
    const home = before.servedBy(this.#serving);
    await home.settled({ ...(isNewEpoch && NEW_GATEWAY), ...may });
    for (const client of [...sensors, ...nurses]) await client.end();
    for (const nurse of nurses) expect(nurse.sessionsLost).toBe(0);
  }

  /** The epoch of the lease of the gateway that serves. */
  async epoch(): Promise<number> {
    const { text } = await ask(this.#serving, 'GET', '/metrics');
    return Number(/^gateway_lease_epoch (\d+)$/m.exec(text)?.[1]);
  }

  async remove(): Promise<void> {
    await Promise.all(this.#gateways.map((gateway) => gateway.remove()));
    await this.redis.remove();
  }

  async #moreAcknowledged(sensors: readonly Sensor[]): Promise<void> {
    const before = sensors.map(({ alarms }) => alarms);
    await eventually(() => {
      for (const [at, { alarms }] of sensors.entries())
        expect(alarms).toBeGreaterThan((before[at] ?? 0) + 9);
    }, TAKEOVER_MS);
  }
}

async function seesFault(pair: Pair, fault: string | RegExp): Promise<void> {
  await eventually(async () => expect((await pair.faults()).join()).toMatch(fault));
}

/** Freezes programs while the work goes on. */
async function frozen(
  programs: readonly (RedisProgram | undefined)[],
  work: () => unknown,
): Promise<void> {
  for (const program of programs) program?.freeze();
  try {
    await work();
  } finally {
    for (const program of programs) program?.thaw();
  }
}

async function restarted(programs: readonly RedisProgram[], work: () => unknown): Promise<void> {
  await Promise.all(programs.map((program) => program.kill()));
  await work();
  await Promise.all(programs.map((program) => program.start()));
}

/** It sends again what it cannot know to have arrived; live subscribers miss what comes while nobody serves. */
const NEW_GATEWAY = { mayRepeat: true, liveMayMiss: true };
/** It lacks alarms that were on their way, of which none was acknowledged. */
const NEW_PRIMARY = { mayRepeat: true, lost: 6 };

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'nothing happens',
    happens: () => undefined,
    serves: 'same',
  },
  {
    name: 'the serving gateway is stopped: the other takes over at once',
    happens: async ({ serving }) => expect(await serving.stop()).toBe(0),
    serves: 'other',
  },
  {
    name: 'the serving gateway is killed: the other takes over when the lease has ended',
    happens: ({ serving }) => serving.kill(),
    serves: 'other',
  },
  {
    name: 'the serving gateway is killed and started again while the other is away: it serves when the lease has ended',
    happens: async ({ serving, other }) => {
      await other.stop();
      await serving.kill();
      await serving.start();
    },
    serves: 'same',
    isRestarted: true,
  },
  {
    name: 'the serving gateway freezes: the other takes over, and the first stores and acknowledges nothing when it thaws',
    happens: async ({ serving, other }) => {
      const from = other.lines.length;
      serving.signal('SIGSTOP');
      await other.logged(TOOK_LEASE, from);
      const thawedAt = serving.lines.length;
      serving.signal('SIGCONT');
      await serving.logged('"msg":"gateway standing by"', thawedAt);
      const line = await serving.logged('lost the lease to another gateway', thawedAt);
      expect(leaseSchema.parse(JSON.parse(line)).epoch).toBeGreaterThan(1);
      // Said once, not by each of its parts.
      const loud = serving.lines.slice(thawedAt).filter((each) => !each.includes('"level":30'));
      expect(loud).toEqual([line]);
    },
    serves: 'other',
  },
  {
    name: 'the gateway that stands by is stopped',
    happens: async ({ other }) => expect(await other.stop()).toBe(0),
    serves: 'same',
  },
  {
    name: 'both servers are silent for longer than the lease: nobody takes it, and nothing is acknowledged',
    happens: ({ redis, serving, other }) => {
      const from = [serving.lines.length, other.lines.length] as const;
      return frozen(redis.servers, async () => {
        // Each has asked in vain for longer than the lease.
        const isSilent = '"connection":"lease","maxSilenceMs":3000';
        await Promise.all([serving.logged(isSilent, from[0]), other.logged(isSilent, from[1])]);
        expect(serving.lines.slice(from[0]).join()).not.toContain('lost the lease');
        expect(other.lines.slice(from[1]).join()).not.toContain(TOOK_LEASE);
      });
    },
    serves: 'same',
  },
  {
    name: 'the primary is handed over',
    happens: async ({ redis }) => {
      await redis.failover();
      await redis.untilReplicated();
    },
    serves: 'same',
    may: NEW_PRIMARY,
  },
  {
    name: 'the primary freezes: the replica takes over, and the former primary becomes its replica',
    happens: async ({ redis }) => {
      const primary = await redis.primary();
      await frozen([primary], () => redis.untilTakenOver(primary));
      await redis.untilReplicated();
    },
    serves: 'same',
    may: NEW_PRIMARY,
  },
  {
    name: 'the primary is killed: the replica takes over, which the log says',
    happens: async ({ redis, serving }) => {
      const primary = await redis.primary();
      const from = serving.lines.length;
      await restarted([primary], () => redis.untilTakenOver(primary));
      await serving.logged('the store has a new primary', from);
      await redis.untilReplicated();
    },
    serves: 'same',
    may: NEW_PRIMARY,
  },
  {
    name: 'the replica is killed: alarms are on one machine only, which is a fault until it is back',
    happens: async (pair) => {
      await restarted([await pair.redis.replica()], () => seesFault(pair, ALONE));
      await pair.redis.untilReplicated();
    },
    serves: 'same',
  },
  {
    name: 'the replica and two Sentinels freeze: nothing is acknowledged until a Sentinel is back',
    happens: async (pair) => {
      const [, second, third] = pair.redis.sentinelPrograms;
      await frozen([await pair.redis.replica(), second], async () => {
        await frozen([third], () => seesFault(pair, /most Sentinels cannot/));
        await seesFault(pair, ALONE);
      });
    },
    serves: 'same',
  },
  {
    name: 'the box that serves and has the primary loses power: the other serves',
    happens: async (pair) => {
      const box = await pair.primaryBox();
      const from = pair.other.lines.length;
      await pair.serving.kill();
      await restarted(box, () => pair.takenOver(from));
      await pair.redis.untilReplicated();
    },
    serves: 'other',
    may: NEW_PRIMARY,
  },
  {
    name: 'both boxes lose power, and one comes back alone: it serves, with everything acknowledged',
    happens: async (pair) => {
      const { serving, other, redis } = pair;
      const lost = await pair.primaryBox();
      const all = [...redis.servers, ...redis.sentinelPrograms];
      await Promise.all([serving, other].map((gateway) => gateway.kill()));
      await Promise.all(all.map((program) => program.kill()));
      const back = all.filter((program) => !lost.includes(program));
      await Promise.all(back.toReversed().map((program) => program.start()));
      const from = other.lines.length;
      await other.start();
      await pair.takenOver(from);
      await Promise.all(lost.map((program) => program.start()));
      await redis.untilReplicated();
    },
    serves: 'other',
    may: NEW_PRIMARY,
  },
];
