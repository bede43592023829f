import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { claimPort } from '../harness/program.js';
import { fillIn, RedisProgram } from '../harness/redis.js';
import { until } from '../harness/wait.js';

const run = promisify(execFile);

const FILE = 'config/many-homes/redis.conf';
const PASSWORD = 'password-of-the-cluster';
const NODES = 6;
const PRIMARIES = 3;
const SLOTS = 16_384;
const KEYS_AT_ONCE = '20';

const keysSchema = z.array(z.string());

/** A node of `CLUSTER NODES`. */
interface Node {
  readonly id: string;
  readonly port: number;
  readonly isPrimary: boolean;
  readonly hasFailed: boolean;
  readonly primaryId: string;
  /** First and last slot of each range. */
  readonly slots: readonly (readonly [number, number])[];
}

/** A Redis Cluster of three primaries with a replica each, from the actual file in config/many-homes. */
export class RedisCluster {
  readonly password = PASSWORD;
  readonly nodes: readonly RedisProgram[];
  readonly #directory: string;

  private constructor(directory: string, nodes: readonly RedisProgram[]) {
    this.#directory = directory;
    this.nodes = nodes;
  }

  /** Starts all six nodes; resolves once every slot is served and every primary has a replica. */
  static async start(): Promise<RedisCluster> {
    const directory = await mkdtemp(join(tmpdir(), 'redis-cluster-'));
    const nodes: RedisProgram[] = [];
    for (let at = 0; at < NODES; at++) nodes.push(await node(directory, at));
    const cluster = new RedisCluster(directory, nodes);
    try {
      await Promise.all(nodes.map((each) => each.start()));
      await cluster.#join();
    } catch (error) {
      await cluster.remove();
      throw error;
    }
    return cluster;
  }

  /** The nodes, as `redis.cluster` has them. */
  get addresses(): string[] {
    return this.nodes.map(({ address }) => address);
  }

  /** The `redis` part of a gateway's configuration. */
  get settings() {
    return { cluster: this.addresses, password: this.password };
  }

  /** The slot of a key, or of a site given as `{site}:`. */
  async slotOf(key: string): Promise<number> {
    return Number(await this.#anyNode().redis.cluster('KEYSLOT', key));
  }

  /** The node that serves a slot. */
  async primaryOf(slot: number): Promise<RedisProgram> {
    const found = (await this.#view()).find(
      (each) => each.isPrimary && !each.hasFailed && each.slots.some(isWithin(slot)),
    );
    if (found === undefined) throw new Error(`nobody serves slot ${slot}`);
    return this.#program(found);
  }

  /**
   * Moves a slot with all its keys to another primary, as `redis-cli --cluster reshard` does.
   *
   * @param meanwhile awaited after each few keys, while the others have not moved yet
   */
  async moveSlot(
    slot: number,
    to: RedisProgram,
    meanwhile: () => Promise<void> = async () => undefined,
  ): Promise<void> {
    const from = await this.primaryOf(slot);
    if (from === to) return;
    const [fromId, toId] = await Promise.all([from, to].map(({ redis }) => redis.cluster('MYID')));
    await to.redis.call('cluster', 'setslot', slot, 'importing', String(fromId));
    await from.redis.call('cluster', 'setslot', slot, 'migrating', String(toId));
    for (;;) {
      const keys = keysSchema.parse(
        await from.redis.call('cluster', 'getkeysinslot', slot, KEYS_AT_ONCE),
      );
      if (keys.length === 0) break;
      const target = ['127.0.0.1', String(to.port), '', '0', '5000', 'AUTH', PASSWORD];
      await from.redis.call('migrate', ...target, 'KEYS', ...keys);
      await meanwhile();
    }
    // The new owner first: otherwise the old owner would take the slot back.
    for (const program of [to, from, ...(await this.#otherPrimaries(from, to))]) {
      await program.redis.call('cluster', 'setslot', slot, 'node', String(toId));
    }
  }

  /** Resolves once another node serves all slots of this one. */
  async untilTakenOver(former: RedisProgram): Promise<void> {
    const isTakenOver = async () => {
      const view = await this.#view(former);
      const isServed = (each: Node) =>
        each.isPrimary && !each.hasFailed && each.port !== former.port;
      return slotsOf(view.filter(isServed)) === SLOTS;
    };
    await until(isTakenOver, `nobody has taken over from ${former.address}`);
  }

  /** Resolves once all six nodes agree that every slot is served and every primary has a replica. */
  async untilWhole(): Promise<void> {
    await until(() => this.#isWhole(), 'the cluster is not whole');
  }

  async remove(): Promise<void> {
    await Promise.all(this.nodes.map((each) => each.remove()));
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #join(): Promise<void> {
    const replicas = ['--cluster-replicas', '1', '--cluster-yes'];
    const env = { ...process.env, REDISCLI_AUTH: PASSWORD };
    await run('redis-cli', ['--cluster', 'create', ...this.addresses, ...replicas], { env });
    await this.untilWhole();
  }

  #anyNode(except?: RedisProgram): RedisProgram {
    const found = this.nodes.find((each) => each !== except && each.isRunning);
    if (found === undefined) throw new Error('no node runs');
    return found;
  }

  #program({ port }: Node): RedisProgram {
    const found = this.nodes.find((each) => each.port === port);
    if (found === undefined) throw new Error(`no node has port ${port}`);
    return found;
  }

  /** The cluster as one of its nodes sees it. */
  async #view(except?: RedisProgram, of = this.#anyNode(except)): Promise<Node[]> {
    const text = String(await of.redis.cluster('NODES'));
    return text.trim().split('\n').map(parseNode);
  }

  async #otherPrimaries(...without: readonly RedisProgram[]): Promise<RedisProgram[]> {
    return (
      (await this.#view())
        .filter((each) => each.isPrimary && !each.hasFailed)
        .map((each) => this.#program(each))
        // A killed node hears of it from the others when it is back.
        .filter((program) => program.isRunning && !without.includes(program))
    );
  }

  async #isWhole(): Promise<boolean> {
    const views = await Promise.all(this.nodes.map((each) => this.#view(undefined, each)));
    const links = await Promise.all(
      this.nodes.map((each) => each.info('replication', 'master_link_status')),
    );
    const isLinked = links.filter((link) => link === 'up').length === NODES - PRIMARIES;
    return isLinked && views.every((view) => isComplete(view));
  }
}

function isComplete(view: readonly Node[]): boolean {
  const primaries = view.filter(({ isPrimary }) => isPrimary);
  const hasReplica = ({ id }: Node) => view.some(({ primaryId }) => primaryId === id);
  return (
    view.length === NODES &&
    view.every(({ hasFailed }) => !hasFailed) &&
    slotsOf(primaries) === SLOTS &&
    primaries.filter(({ slots }) => slots.length > 0).every(hasReplica)
  );
}

function slotsOf(view: readonly Node[]): number {
  return view
    .flatMap(({ slots }) => slots)
    .reduce((count, [first, last]) => count + last - first + 1, 0);
}

function isWithin(slot: number) {
  return ([first, last]: readonly [number, number]) => first <= slot && slot <= last;
}

/** `<id> <ip:port@bus> <flags> <primary> <ping> <pong> <epoch> <link> <slot> …` */
function parseNode(line: string): Node {
  const [id = '', address = '', flags = '', primaryId = '', , , , , ...slots] = line.split(' ');
  return {
    id,
    port: Number(/:(\d+)@/.exec(address)?.[1]),
    isPrimary: flags.split(',').includes('master'),
    hasFailed: flags.includes('fail') || flags.includes('handshake'),
    primaryId,
    // A slot that is being moved also appears in brackets.
    slots: slots.filter((range) => !range.startsWith('[')).map(parseRange),
  };
}

function parseRange(range: string): readonly [number, number] {
  const [first, last = first] = range.split('-').map(Number);
  return [first ?? Number.NaN, last ?? Number.NaN];
}

async function node(directory: string, at: number): Promise<RedisProgram> {
  const place = join(directory, `node-${at + 1}`);
  const file = join(place, 'redis.conf');
  const [port, busPort] = [await claimPort(), await claimPort()];
  const filledIn = fillIn(await readFile(FILE, 'utf8'), [
    [/^bind .*$/m, 'bind 127.0.0.1'],
    [/^port .*$/m, `port ${port}`],
    [/^cluster-port .*$/m, `cluster-port ${busPort}`],
    [/^dir .*$/m, `dir ${place}`],
    [/^requirepass .*$/m, `requirepass ${PASSWORD}`],
    [/^masterauth .*$/m, `masterauth ${PASSWORD}`],
    // A takeover within two seconds instead of ten.
    [/^cluster-node-timeout .*$/m, 'cluster-node-timeout 1000'],
  ]);
  await mkdir(place);
  await writeFile(file, filledIn);
  return new RedisProgram({ args: [file], directory: place, port, password: PASSWORD });
}
