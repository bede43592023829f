import { RedisPair } from '../../../test/former/servers/redis-pair.js';
import { until } from '../../../test/former/until.js';
import { ESCALATION } from '../victim.js';
import { Epochs, Interruptions } from './acknowledgements.js';
import { AlternatingAddress, FollowingAddress } from './address.js';
import { PairGateway } from './gateway.js';
import { PairNetwork } from './network.js';
import { missingOf } from './wholeness.js';

/** Sessions without bounds: dropped entries would look like a loss. */
const ENVIRONMENT = { GATEWAY_SESSIONS_MAX_QUEUED_MESSAGES: '100000000' };
/** Longer than anything takes: Sentinel waits up to 20 s before it retries a takeover. */
const WHOLE_WITHIN_MS = 90_000;

export interface PairWorldOptions {
  readonly bridges: readonly object[];
  /** `redis.replicas` of the gateways. */
  readonly replicas: number;
  readonly withoutReplica: 'continue' | 'refuse';
  /** Whether the Sentinels react sooner than in the recipe. */
  readonly isHurried: boolean;
}

/** Two boxes and a witness: gateways, servers and Sentinels on a network that a test can cut. */
export class PairWorld {
  readonly network: PairNetwork;
  readonly store: RedisPair;
  readonly gateways: readonly [PairGateway, PairGateway];
  /** For clients with one address, which moves. */
  readonly following: FollowingAddress;
  /** For clients that try both gateways in turn. */
  readonly alternating: AlternatingAddress;
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
    for (const gateway of gateways) {
      gateway.onLease = (epoch) => this.epochs.held(gateway.name, epoch);
    }
    this.following = new FollowingAddress(gateways, (gateway) => {
      this.#acknowledged(gateway);
      this.behindAddress.acknowledged(gateway.name, performance.now());
    });
    this.alternating = new AlternatingAddress(gateways, (gateway) => this.#acknowledged(gateway));
  }

  /** Starts everything; resolves once one gateway serves and the other stands by. */
  static async start(options: PairWorldOptions): Promise<PairWorld> {
    const network = new PairNetwork();
    const { replicas, withoutReplica, bridges, isHurried } = options;
    const store = await RedisPair.start({ isHurried, links: network });
    const escalations = [ESCALATION];
    const config = { bridges, escalations, redis: { ...store.settings, replicas, withoutReplica } };
    const gateway = (name: string) =>
      PairGateway.create(name, network.sourceOf(name), config, ENVIRONMENT);
    const world = new PairWorld(network, store, [
      await gateway('gateway-1'),
      await gateway('gateway-2'),
    ]);
    try {
      for (const each of world.gateways) each.start();
      await world.following.listen();
      await world.alternating.listen();
      await world.untilWhole();
      await until(() => world.following.isHeld, 'the address leads nowhere');
    } catch (error) {
      for (const each of world.gateways) await each.keep();
      await world.end();
      throw error;
    }
    return world;
  }

  /** The gateway that says that it serves. */
  async serving(): Promise<PairGateway | undefined> {
    const [one, two] = this.gateways;
    if (await one.isServing()) return one;
    return (await two.isServing()) ? two : undefined;
  }

  /** Resolves once the effects of all faults are gone, so that the next fault stands alone. */
  async untilWhole(): Promise<void> {
    let missing = '';
    const isWhole = async () => {
      missing = await this.#missing();
      return missing === '';
    };
    await until(isWhole, 'the pair was not whole', WHOLE_WITHIN_MS).catch((error: unknown) => {
      throw new Error(`${error instanceof Error ? error.message : error}: ${missing}`);
    });
  }

  /** Ends all processes; `keep` or `remove` of the gateways decides about their data. */
  async end(): Promise<void> {
    await Promise.all([this.following.close(), this.alternating.close()]);
    await Promise.all(this.gateways.map((gateway) => gateway.kill()));
    await this.store.remove();
    await this.network.close();
  }

  /** What keeps the pair from being whole; empty when nothing does. */
  async #missing(): Promise<string> {
    const [one, two] = await Promise.all(this.gateways.map((each) => each.readiness()));
    const states = [one, two].sort().join(' and ');
    if (states !== 'ready and standing-by') return `the gateways are ${states}`;
    const lacking = await missingOf(this.store);
    return lacking === '' ? '' : `the store lacks ${lacking}`;
  }

  #acknowledged(gateway: PairGateway): void {
    const nowMs = performance.now();
    this.epochs.acknowledged(gateway.name, nowMs);
    this.interruptions.acknowledged(gateway.name, nowMs);
  }
}
