/** What the Sentinels say: when another server becomes the primary, and whether most of them take a server for it. */
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { z } from 'zod';
import { type Address, addressText } from '../../domain/server-address.js';
import { accessOptions, askServer, type StoreAccess } from '../server/connection.js';

const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MS = 1_000;
/** `<name> <old address> <old port> <new address> <new port>` */
const SWITCHED = '+switch-master';
/** The fields of SENTINEL MASTER: `name`, …, `ip`, …, `port`, …. */
const masterSchema = z.array(z.string()).transform((fields): [string, number] => {
  const field = (name: string) => fields[fields.indexOf(name) + 1] ?? '';
  return [field('ip'), Number(field('port'))];
});

/** The Sentinels of a primary and its replicas. */
export interface SentinelPlace {
  readonly sentinels: readonly Address[];
  /** The primary's name in the Sentinels' configuration. */
  readonly name: string;
  /** Access to the Sentinels, not to the store. */
  readonly access: StoreAccess;
}

/**
 * Hears from every Sentinel when another server becomes the primary: a frozen primary closes no connection.
 *
 * The failover detector of ioredis subscribes once more for each connection to the store, and writes to the
 * console while a Sentinel is away.
 */
export class Failovers {
  readonly place: SentinelPlace;
  readonly #log: Logger;
  readonly #listeners = new Set<() => void>();
  #connections: readonly Redis[] = [];
  #primary: string | undefined;

  constructor(place: SentinelPlace, log: Logger) {
    this.place = place;
    this.#log = log;
  }

  start(): void {
    this.#connections = this.place.sentinels.map((address) => this.#subscribe(address));
  }

  stop(): void {
    for (const redis of this.#connections) redis.disconnect();
  }

  /** Calls the listener once for each new primary, until the returned function is called. */
  onSwitch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #subscribe(address: Address): Redis {
    const redis = new Redis({
      ...address,
      ...accessOptions(this.place.access),
      connectionName: 'failovers',
      connectTimeout: CONNECT_TIMEOUT_MS,
      disconnectTimeout: 1,
      // Asked anew on each connection.
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
      this.#listen(redis).then(() => {
        if (isAway) this.#log.info({ sentinel }, 'a Sentinel answers again');
        isAway = false;
      }, failed);
    });
    redis.on('message', (_channel, message) => {
      const [name, , , host = '', port] = message.split(' ');
      if (name === this.place.name) this.#isPrimary(host, Number(port));
    });
    return redis;
  }

  /** Asks first: the failover may have happened while nobody listened. */
  async #listen(redis: Redis): Promise<void> {
    const { name } = this.place;
    const [host, port] = masterSchema.parse(await redis.call('SENTINEL', 'MASTER', name));
    this.#isPrimary(host, port);
    await redis.subscribe(SWITCHED);
  }

  #isPrimary(host: string, port: number): void {
    const primary = addressText({ host, port });
    const former = this.#primary;
    this.#primary = primary;
    if (former === undefined || former === primary) return;
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

  /** Resolves soon after most agree, or once all have answered or failed. */
  takesForPrimary(sought: Sought): Promise<boolean> {
    return new Promise((resolve) => {
      const views: View[] = [];
      let open = this.#place.sentinels.length;
      let timer: NodeJS.Timeout | undefined;
      const decide = () => {
        clearTimeout(timer);
        resolve(this.#isAgreed(views, sought));
      };
      const answered = (view: View | undefined) => {
        open--;
        if (view !== undefined) views.push(view);
        if (open === 0) decide();
        else if (this.#isAgreed(views, sought)) timer ??= setTimeout(decide, LAST_ANSWERS_MS);
      };
      for (const sentinel of this.#place.sentinels) {
        this.#viewOf(sentinel).then(answered, () => answered(undefined));
      }
    });
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

  async #viewOf(sentinel: Address): Promise<View> {
    const { access, name } = this.#place;
    const fields = fieldsSchema.parse(
      await askServer(sentinel, access, 'SENTINEL', 'MASTER', name),
    );
    const field = (name: string) => fields[fields.indexOf(name) + 1] ?? '';
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
}

function isAgreed(view: View, { runId, host, port, heardWithinMs }: Sought): boolean {
  const isIt = view.runId === runId || (view.host === host && view.port === port);
  const isDoubtful = view.flags.some((flag) => DOUBTFUL.includes(flag));
  return isIt && !isDoubtful && view.heardAgoMs <= heardWithinMs;
}
