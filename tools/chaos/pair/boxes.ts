import { z } from 'zod';
import type { RedisProgram } from '../../../test/harness/redis.js';
import { RedisPair } from '../../../test/harness/redis-pair.js';
import { until } from '../../../test/harness/wait.js';
import { ESCALATION } from '../clients.js';
import { Keepalived, PairAddress } from './address.js';
import { Epochs, Interruptions } from './epochs.js';
import { PairGateway } from './gateway.js';
import { PairNetwork } from './network.js';

/** Longer than anything takes: Sentinel waits up to 20 s before it retries a takeover. */
const WHOLE_WITHIN_MS = 90_000;
const ANSWER_WITHIN_MS = 500;
const fieldsSchema = z.array(z.string());

export interface BoxesOptions {
  readonly bridges: readonly object[];
  /** `redis.replicas` of the gateways. */
  readonly replicas: number;
  readonly withoutReplica: 'continue' | 'refuse';
  /** Whether the Sentinels react sooner than in the recipe. */
  readonly isHurried: boolean;
}

/** Two boxes and a witness: gateways, servers and Sentinels on a network that a run can cut. */
export class Boxes {
  readonly network: PairNetwork;
  readonly store: RedisPair;
  readonly gateways: readonly [PairGateway, PairGateway];
  readonly keepalived: Keepalived;
  /** For clients with one address, which moves. */
  readonly following: PairAddress;
  /** For clients that try both gateways in turn. */
  readonly alternating: PairAddress;
  readonly epochs = new Epochs();
  /** As seen by all clients together. */
  readonly interruptions = new Interruptions();
  /** As seen by clients behind the moving address. */
  readonly behindAddress = new Interruptions();

  private constructor(
    network: PairNetwork,
    store: RedisPair,
    gateways: readonly [PairGateway, PairGateway],
  ) {
    this.network = network;
    this.store = store;
    this.gateways = gateways;
    this.keepalived = new Keepalived(gateways);
    this.following = new PairAddress(
      () => this.keepalived.holder,
      (gateway) => {
        this.#acknowledged(gateway);
        this.behindAddress.acknowledged(gateway.name, performance.now());
      },
    );
    this.keepalived.onMove = () => this.following.breakAll();
    let turn = 0;
    this.alternating = new PairAddress(
      () => gateways[++turn % 2],
      (gateway) => this.#acknowledged(gateway),
    );
  }

  /** Starts everything; resolves once one gateway serves and the other stands by. */
  static async start(options: BoxesOptions): Promise<Boxes> {
    const network = new PairNetwork();
    const { replicas, withoutReplica, bridges, isHurried } = options;
    const store = await RedisPair.start({ isHurried, links: network });
    const redis = { ...store.settings, replicas, withoutReplica };
    const config = { bridges, escalations: [ESCALATION], redis };
    const gateway = (name: string) => PairGateway.create(name, network.sourceOf(name), config);
    const gateways = [await gateway('gateway-1'), await gateway('gateway-2')] as const;
    const boxes = new Boxes(network, store, gateways);
    try {
      await Promise.all(gateways.map((each) => each.start()));
      await Promise.all([boxes.following.listen(), boxes.alternating.listen()]);
      boxes.keepalived.start();
      await boxes.untilWhole();
      await until(() => boxes.keepalived.holder !== undefined, 'the address to lead anywhere');
    } catch (error) {
      await boxes.end();
      throw error;
    }
    return boxes;
  }

  /** The gateway that says that it serves. */
  async serving(): Promise<PairGateway | undefined> {
    const [one, two] = this.gateways;
    if (await one.isServing()) return one;
    return (await two.isServing()) ? two : undefined;
  }

  /** How many alarms the gateways have reported as lost. */
  get toldLost(): number {
    const [one, two] = this.gateways;
    return one.toldLost + two.toldLost;
  }

  /** Resolves once the effects of all faults are gone, so that the next fault stands alone. */
  async untilWhole(): Promise<void> {
    let missing = '';
    const isWhole = async () => {
      missing = await this.#missing();
      return missing === '';
    };
    await until(isWhole, () => `the pair to be whole: ${missing}`, WHOLE_WITHIN_MS);
  }

  /** Ends all processes; the gateways' data stays. */
  async end(): Promise<void> {
    this.keepalived.end();
    await Promise.all([this.following, this.alternating].map((each) => each.close()));
    await Promise.all(this.gateways.map((each) => each.end()));
    await this.store.remove();
    await this.network.close();
  }

  /** What keeps the pair from being whole; empty when nothing does. */
  async #missing(): Promise<string> {
    const states = await Promise.all(this.gateways.map((each) => each.readiness()));
    const text = states.sort().join(' and ');
    if (text !== 'ready and standing-by') return `the gateways are ${text}`;
    const primary = await this.store.primary();
    const replica = this.store.servers.find((each) => each !== primary);
    const link = await answered(replica?.info('replication', 'master_link_status'));
    if (link !== 'up') return `the link of the replica is ${link}`;
    const confirmed = await answered(primary.redis.wait(1, ANSWER_WITHIN_MS));
    if (confirmed !== 1) return 'the replica confirms nothing';
    for (const sentinel of this.store.sentinelPrograms) {
      const seen = await seenBy(sentinel, this.store.name);
      if (seen !== 'master 1 2') return `a Sentinel sees ${seen}`;
    }
    return '';
  }

  #acknowledged(gateway: PairGateway): void {
    const nowMs = performance.now();
    // A gateway tells of its lease before it acknowledges by it.
    for (const each of this.gateways) {
      for (const epoch of each.newEpochs()) this.epochs.held(each.name, epoch);
    }
    this.epochs.acknowledged(gateway.name, nowMs);
    this.interruptions.acknowledged(gateway.name, nowMs);
  }
}

/** The flags of the primary, and the number of replicas and other Sentinels. */
async function seenBy(sentinel: RedisProgram, name: string): Promise<string> {
  const fields = fieldsSchema.safeParse(
    await answered(sentinel.redis.call('sentinel', 'master', name)),
  );
  if (!fields.success) return 'nothing';
  const field = (key: string) => fields.data[fields.data.indexOf(key) + 1];
  return `${field('flags')} ${field('num-slaves')} ${field('num-other-sentinels')}`;
}

/** The answer if it comes in time, otherwise undefined: processes may be frozen. */
async function answered<T>(answer: Promise<T> | undefined): Promise<T | undefined> {
  const late = new Promise<undefined>((resolve) => {
    setTimeout(() => resolve(undefined), 2 * ANSWER_WITHIN_MS);
  });
  return Promise.race([answer?.catch(() => undefined), late]);
}
