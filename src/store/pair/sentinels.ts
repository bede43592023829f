/** Asks the Sentinels which server is the primary, when another becomes it, and whether most of them agree. */
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { z } from 'zod';
import { type Address, addressText } from '../../domain/addresses.js';
import { accessOptions, askServer, type Finder, type StoreAccess } from '../server/connection.js';

const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MS = 1_000;
/** `<name> <old address> <old port> <new address> <new port>` */
const SWITCHED = '+switch-master';

/** The Sentinels of a primary and its replicas. */
export interface SentinelPlace {
  readonly sentinels: readonly Address[];
  /** The primary's name in the Sentinels' configuration. */
  readonly name: string;
  /** Access to the Sentinels, not to the store. */
  readonly access: StoreAccess;
}

/**
 * Finds the primary, and hears from every Sentinel when another server becomes it: a frozen primary closes no connection.
 *
 * The newest epoch is believed. ioredis believes the first Sentinel that answers, and one that was away for a while
 * still names the former primary.
 */
export class Failovers implements Finder {
  readonly #place: SentinelPlace;
  readonly #log: Logger;
  readonly #listeners = new Set<() => void>();
  #connections: readonly Redis[] = [];
  #primary: (Address & { readonly epoch: number }) | undefined;

  constructor(place: SentinelPlace, log: Logger) {
    this.#place = place;
    this.#log = log;
  }

  start(): void {
    this.#connections = this.#place.sentinels.map((address) => this.#subscribe(address));
  }

  stop(): void {
    for (const redis of this.#connections) redis.disconnect();
  }

  onSwitch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @throws Error that says why, for each Sentinel, when none names a primary */
  async find(): Promise<Address> {
    const { sentinels, name } = this.#place;
    const isEnough = ({ length }: readonly View[]) => length > sentinels.length / 2;
    const reasons: string[] = [];
    const views = await askSentinels(this.#place, isEnough, (reason) => reasons.push(reason));
    for (const view of views) this.#hear(view);
    if (views.length === 0 || this.#primary === undefined) {
      throw new Error(`no Sentinel names the primary of ${name}: ${reasons.join('; ')}`);
    }
    const { host, port } = this.#primary;
    return { host, port };
  }

  #subscribe(address: Address): Redis {
    const redis = new Redis({
      ...address,
      ...accessOptions(this.#place.access),
      connectionName: 'failovers',
      connectTimeout: CONNECT_TIMEOUT_MS,
      disconnectTimeout: 1,
      // Subscribed anew on each connection.
      autoResubscribe: false,
      maxRetriesPerRequest: null,
      retryStrategy: () => RECONNECT_MS,
    });
    const sentinel = addressText(address);
    let isAway = false;
    const failed = (err: unknown) => {
      if (!isAway) this.#log.warn({ sentinel, err }, 'failed to ask a Sentinel');
      isAway = true;
    };
    redis.on('error', failed);
    redis.on('ready', () => {
      this.#listen(redis, address).then(() => {
        if (isAway) this.#log.info({ sentinel }, 'a Sentinel answers again');
        isAway = false;
      }, failed);
    });
    redis.on('message', (_channel, message) => {
      if (message.startsWith(`${this.#place.name} `)) this.#ask(address).catch(failed);
    });
    return redis;
  }

  /** Asks afterwards: the failover may have happened while nobody listened. */
  async #listen(redis: Redis, address: Address): Promise<void> {
    await redis.subscribe(SWITCHED);
    await this.#ask(address);
  }

  async #ask(sentinel: Address): Promise<void> {
    this.#hear(await viewOf(sentinel, this.#place));
  }

  #hear({ host, port, epoch, flags }: View): void {
    const former = this.#primary;
    // While it leads a failover, a Sentinel has the new epoch with the old address.
    if (flags.includes(REPLACING) || epoch <= (former?.epoch ?? -1)) return;
    this.#primary = { host, port, epoch };
    const primary = addressText({ host, port });
    if (former === undefined || addressText(former) === primary) return;
    this.#log.info({ primary }, 'the store has a new primary');
    for (const listener of [...this.#listeners]) listener();
  }
}

const fieldsSchema = z.array(z.string());
/** Flags of a primary that is being replaced, or that the Sentinel cannot reach. */
const REPLACING = 'failover_in_progress';
const DOUBTFUL = ['s_down', 'o_down', 'disconnected', REPLACING, 'master_reboot'];
/** How long the last Sentinels may take once most have agreed: one of them may know of a newer primary. */
const LAST_ANSWERS_MS = 20;

/** The server that should be the primary. */
export interface Sought {
  readonly runId: string;
  /** The address we are connected to. A Sentinel learns the run id of a new primary only after some seconds. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  /** A Sentinel must have heard from it within this time. */
  readonly heardWithinMs: number;
}

/** The primary, as a Sentinel sees it. */
interface View {
  readonly runId: string;
  readonly host: string;
  readonly port: number;
  readonly flags: readonly string[];
  readonly heardAgoMs: number;
  /** Rises with every failover. */
  readonly epoch: number;
  /** How many Sentinels it knows, including itself. */
  readonly sentinels: number;
}

/**
 * Asks whether most Sentinels can be reached and consider a server the primary.
 *
 * If so, no other server becomes the primary until they have had time to notice its end.
 */
export class SentinelMajority {
  readonly #place: SentinelPlace;

  constructor(place: SentinelPlace) {
    this.#place = place;
  }

  async takesForPrimary(sought: Sought): Promise<boolean> {
    const views = await askSentinels(this.#place, (some) => this.#isAgreed(some, sought));
    return this.#isAgreed(views, sought);
  }

  #isAgreed(views: readonly View[], sought: Sought): boolean {
    const agreeing = views.filter((view) => isAgreed(view, sought));
    const epoch = Math.max(...agreeing.map((view) => view.epoch));
    // Sentinels that the configuration does not name count too.
    const all = Math.max(this.#place.sentinels.length, ...views.map(({ sentinels }) => sentinels));
    // For some seconds, only the Sentinel that leads a failover may know of it.
    const isReplaced = views.some((view) => view.epoch > epoch || view.flags.includes(REPLACING));
    return agreeing.length > all / 2 && !isReplaced;
  }
}

/** Asks all Sentinels. Resolves soon after the views are enough, or once all have answered or failed. */
function askSentinels(
  place: SentinelPlace,
  isEnough: (views: readonly View[]) => boolean,
  onFailure: (reason: string) => void = () => undefined,
): Promise<readonly View[]> {
  return new Promise((resolve) => {
    const views: View[] = [];
    let open = place.sentinels.length;
    let timer: NodeJS.Timeout | undefined;
    const decide = () => {
      clearTimeout(timer);
      resolve(views);
    };
    const answered = (view: View | undefined) => {
      open--;
      if (view !== undefined) views.push(view);
      if (open === 0) decide();
      else if (isEnough(views)) timer ??= setTimeout(decide, LAST_ANSWERS_MS);
    };
    for (const sentinel of place.sentinels) {
      viewOf(sentinel, place).then(answered, (error: unknown) => {
        onFailure(error instanceof Error ? error.message : String(error));
        answered(undefined);
      });
    }
  });
}

async function viewOf(sentinel: Address, { access, name }: SentinelPlace): Promise<View> {
  const fields = fieldsSchema.parse(await askServer(sentinel, access, 'SENTINEL', 'MASTER', name));
  // Alternating names and values; a value may be like a name.
  const field = (wanted: string) => {
    return fields[fields.findIndex((name, at) => at % 2 === 0 && name === wanted) + 1] ?? '';
  };
  return {
    runId: field('runid'),
    host: field('ip'),
    port: Number(field('port')),
    flags: field('flags').split(','),
    heardAgoMs: Number(field('last-ok-ping-reply')),
    epoch: Number(field('config-epoch')),
    sentinels: Number(field('num-other-sentinels')) + 1,
  };
}

function isAgreed(view: View, { runId, host, port, heardWithinMs }: Sought): boolean {
  const isIt = view.runId === runId || (view.host === host && view.port === port);
  const isDoubtful = view.flags.some((flag) => DOUBTFUL.includes(flag));
  return isIt && !isDoubtful && view.heardAgoMs <= heardWithinMs;
}
