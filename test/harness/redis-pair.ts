import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { claimPort } from './program.js';
import { fillIn, RedisProgram } from './redis.js';
import { until } from './wait.js';

const RECIPE = 'config/pair';
const STORE_PASSWORD = 'password-of-the-store';
const SENTINEL_PASSWORD = 'password-of-the-sentinels';

/** Sentinel's settings for a takeover in a second. */
const HURRIED = [
  [/(?<=^sentinel down-after-milliseconds care-home ).*$/m, '500'],
  [/(?<=^sentinel failover-timeout care-home ).*$/m, '1000'],
] as const;
/** Periods in milliseconds that Sentinel has no setting for. */
const HURRIED_PERIODS = ['info-period', '500', 'publish-period', '250', 'ask-period', '250'];
/**
 * A thawed Sentinel takes no part for 30 s. If the primary dies meanwhile, it takes the replica's data for too old
 * afterwards, and promotes nobody.
 */
const SHORT_TILT = ['tilt-period', '1000'];

const addressSchema = z.tuple([z.string(), z.string()]);
const listSchema = z.array(z.array(z.string()));

/**
 * A network between the five programs that a test can cut.
 *
 * Each program connects from its own address; others reach it by a different port than the one it listens on.
 * The names are `redis-1`, `redis-2` and `sentinel-1` to `sentinel-3`.
 */
export interface RedisLinks {
  sourceOf(name: string): string;
  /** Resolves to the port by which others reach the named program. */
  front(name: string, port: number): Promise<number>;
}

/** Differences from the files of the recipe. */
export interface RedisPairOptions {
  /**
   * Whether Sentinel does everything sooner than in the recipe.
   *
   * A silent primary is down after half a second, the next takeover is possible a second or two after
   * the last, and a former primary becomes a replica within 2 s instead of 10.
   */
  readonly isHurried?: boolean;
  /** Lines at the end of both redis.conf. */
  readonly redisSettings?: readonly string[];
  readonly links?: RedisLinks;
}

interface Place {
  readonly directory: string;
  readonly ports: readonly [number, number];
  /** The ports by which others reach the servers. */
  readonly fronts: readonly [number, number];
  readonly options: RedisPairOptions;
}

/**
 * The store of a pair: two Redis servers and three Sentinels, started from the actual files in config/pair.
 *
 * Only addresses, ports, directories and passwords are filled in, as docs/operate/pair.md says.
 */
export class RedisPair {
  /** The `redis.name` of the gateways. */
  readonly name = 'care-home';
  readonly password = STORE_PASSWORD;
  readonly sentinelPassword = SENTINEL_PASSWORD;
  /** Box one, the first primary, and box two. */
  readonly servers: readonly [RedisProgram, RedisProgram];
  /** Those of box one, box two and the witness. */
  readonly sentinelPrograms: readonly RedisProgram[];
  readonly #directory: string;
  /** The port by which others reach each program. */
  readonly #fronts: ReadonlyMap<RedisProgram, number>;

  private constructor(
    directory: string,
    servers: readonly [RedisProgram, RedisProgram],
    sentinelPrograms: readonly RedisProgram[],
    fronts: ReadonlyMap<RedisProgram, number>,
  ) {
    this.#directory = directory;
    this.servers = servers;
    this.sentinelPrograms = sentinelPrograms;
    this.#fronts = fronts;
  }

  /** Starts all five; resolves once the replica has copied and the Sentinels know each other. */
  static async start(options: RedisPairOptions = {}): Promise<RedisPair> {
    const directory = await mkdtemp(join(tmpdir(), 'redis-pair-'));
    const ports = [await claimPort(), await claimPort()] as const;
    const { links } = options;
    const front = async (name: string, port: number) => (await links?.front(name, port)) ?? port;
    const fronts = [await front('redis-1', ports[0]), await front('redis-2', ports[1])] as const;
    const place = { directory, ports, fronts, options };
    const servers = [await server(place, 0), await server(place, 1)] as const;
    const reached = new Map([
      [servers[0], fronts[0]],
      [servers[1], fronts[1]],
    ]);
    const sentinels: RedisProgram[] = [];
    for (let at = 0; at < 3; at++) {
      const port = await claimPort();
      const sentinelFront = await front(`sentinel-${at + 1}`, port);
      const program = await sentinel(place, at, port, sentinelFront);
      sentinels.push(program);
      reached.set(program, sentinelFront);
    }
    const pair = new RedisPair(directory, servers, sentinels, reached);
    try {
      for (const program of servers) await program.start();
      // Sentinel immediately finds only the replicas that are there before it starts.
      await pair.untilReplicated();
      await Promise.all(sentinels.map((program) => program.start()));
      await until(() => pair.#isWatched(), 'the Sentinels do not know each other');
    } catch (error) {
      await pair.remove();
      throw error;
    }
    return pair;
  }

  /** The Sentinels, as `redis.sentinels` has them. */
  get sentinels(): string[] {
    return this.sentinelPrograms.map((each) => `127.0.0.1:${this.#fronts.get(each)}`);
  }

  /** The `redis` part of a gateway's configuration. */
  get settings() {
    const { sentinels, name, password, sentinelPassword } = this;
    return { sentinels, name, password, sentinelPassword };
  }

  /** The server that most Sentinels take for the primary. */
  async primary(): Promise<RedisProgram> {
    const ports = await Promise.all(this.sentinelPrograms.map((each) => this.#primaryPort(each)));
    const [one, two] = this.servers;
    const votes = (program: RedisProgram) =>
      ports.filter((port) => port === this.#fronts.get(program)).length;
    return votes(one) >= votes(two) ? one : two;
  }

  /** The server that is not the primary. */
  async replica(): Promise<RedisProgram> {
    return this.#other(await this.primary());
  }

  /** Makes the other server the primary; resolves once it and most Sentinels say so. */
  async failover(): Promise<void> {
    const former = await this.primary();
    await until(() => this.#beginsFailover(), 'the Sentinel knows of no replica to promote');
    await this.untilTakenOver(former);
  }

  /** Resolves once the other server has become the primary. */
  async untilTakenOver(former: RedisProgram): Promise<void> {
    const next = this.#other(former);
    const isTakenOver = async () =>
      (await this.primary()) === next && (await next.info('replication', 'role')) === 'master';
    await until(isTakenOver, `${next.address} has not become the primary`);
  }

  /**
   * Resolves once every Sentinel names the same primary.
   *
   * One that has not heard yet makes the new primary a replica of a thawed one again, which loses what it has taken.
   */
  async untilAgreed(): Promise<void> {
    const isAgreed = async () => {
      const ports = await Promise.all(this.sentinelPrograms.map((each) => this.#primaryPort(each)));
      return ports[0] !== undefined && new Set(ports).size === 1;
    };
    await until(isAgreed, 'the Sentinels do not agree on a primary');
  }

  /** Resolves once one of the two servers is a replica of the other, with all its data. */
  async untilReplicated(): Promise<void> {
    const isReplicated = async () => {
      const states = await Promise.all(
        this.servers.map((each) => each.info('replication', 'master_link_status')),
      );
      return states.filter((state) => state === 'up').length === 1;
    };
    await until(isReplicated, 'there is no replica');
  }

  async remove(): Promise<void> {
    await Promise.all([...this.servers, ...this.sentinelPrograms].map((each) => each.remove()));
    await rm(this.#directory, { recursive: true, force: true });
  }

  #other(program: RedisProgram): RedisProgram {
    const [one, two] = this.servers;
    return program === one ? two : one;
  }

  async #primaryPort(from: RedisProgram): Promise<number | undefined> {
    // A frozen Sentinel answers later, and a killed one not at all.
    const answer = await Promise.race([
      from.redis.call('sentinel', 'get-master-addr-by-name', this.name).catch(() => undefined),
      new Promise((resolve) => setTimeout(resolve, 300).unref()),
    ]);
    const address = addressSchema.safeParse(answer);
    return address.success ? Number(address.data[1]) : undefined;
  }

  /** Asks the first Sentinel, which learns of a connected replica later than the replica itself. */
  async #beginsFailover(): Promise<boolean> {
    try {
      await this.sentinelPrograms[0]?.redis.call('sentinel', 'failover', this.name);
      return true;
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('NOGOODSLAVE')) return false;
      throw error;
    }
  }

  async #isWatched(): Promise<boolean> {
    const known = await Promise.all(
      this.sentinelPrograms.map(async ({ redis }) => {
        const others = listSchema.parse(await redis.call('sentinel', 'sentinels', this.name));
        const replicas = listSchema.parse(await redis.call('sentinel', 'replicas', this.name));
        return others.length === 2 && replicas.some(isConnected);
      }),
    );
    return known.every(Boolean);
  }
}

function setPeriods(isHurried: boolean) {
  const periods = [...SHORT_TILT, ...(isHurried ? HURRIED_PERIODS : [])];
  return (redis: Redis) => redis.call('sentinel', 'debug', ...periods);
}

/** Whether a Sentinel has heard from the replica that it is connected to its primary. */
function isConnected(fields: readonly string[]): boolean {
  return fields[fields.indexOf('master-link-status') + 1] === 'ok';
}

async function server(
  { directory, ports, fronts, options }: Place,
  at: 0 | 1,
): Promise<RedisProgram> {
  const place = join(directory, `box-${at + 1}`);
  const file = join(place, 'redis.conf');
  const filledIn = fillIn(await readFile(join(RECIPE, 'redis.conf'), 'utf8'), [
    [/^bind .*$/m, 'bind 127.0.0.1'],
    [/^port .*$/m, `port ${ports[at]}`],
    [/^dir .*$/m, `dir ${place}`],
    [/^requirepass .*$/m, `requirepass ${STORE_PASSWORD}`],
    [/^masterauth .*$/m, `masterauth ${STORE_PASSWORD}`],
    // As on box two.
    [/^# replicaof .*$/m, at === 0 ? '' : `replicaof 127.0.0.1 ${fronts[0]}`],
  ]);
  await mkdir(place);
  const linked = options.links && [
    `bind-source-addr ${options.links.sourceOf(`redis-${at + 1}`)}`,
    'replica-announce-ip 127.0.0.1',
    `replica-announce-port ${fronts[at]}`,
  ];
  const lines = [filledIn, ...(options.redisSettings ?? []), ...(linked ?? []), ''];
  await writeFile(file, lines.join('\n'));
  return new RedisProgram({
    args: [file],
    directory: place,
    port: ports[at],
    password: STORE_PASSWORD,
  });
}

async function sentinel(
  { directory, fronts, options }: Place,
  at: number,
  port: number,
  front: number,
): Promise<RedisProgram> {
  const place = join(directory, `sentinel-${at + 1}`);
  const file = join(place, 'sentinel.conf');
  const filledIn = fillIn(await readFile(join(RECIPE, 'sentinel.conf'), 'utf8'), [
    [/^bind .*$/m, 'bind 127.0.0.1'],
    [/^port .*$/m, `port ${port}`],
    [/^dir .*$/m, `dir ${place}`],
    [/^requirepass .*$/m, `requirepass ${SENTINEL_PASSWORD}`],
    [/(?<=^sentinel monitor care-home ).*(?= 2$)/m, `127.0.0.1 ${fronts[0]}`],
    [/(?<=^sentinel auth-pass care-home ).*$/m, STORE_PASSWORD],
    ...(options.isHurried === true ? HURRIED : []),
  ]);
  await mkdir(place);
  const linked = options.links && [
    `bind-source-addr ${options.links.sourceOf(`sentinel-${at + 1}`)}`,
    'sentinel announce-ip 127.0.0.1',
    `sentinel announce-port ${front}`,
  ];
  await writeFile(file, [filledIn, ...(linked ?? []), ''].join('\n'));
  return new RedisProgram({
    args: [file, '--sentinel'],
    directory: place,
    port,
    password: SENTINEL_PASSWORD,
    prepare: setPeriods(options.isHurried === true),
  });
}
