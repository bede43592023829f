/**
 * The only door to the store, over one connection: read, run a script, write, commit.
 *
 * Every write is a script: the store checks it against the lease in the same atomic call, and it is answered once the
 * replicas have it (`pair/replicas.ts`). The connection queues nothing; only a patient store repeats a call.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { isPassing, replyCode } from '../delivery/reply-code.js';
import { GatewayError } from '../errors.js';
import type { ScriptCall } from './pair/replica-link.js';
import type { Replicas } from './pair/replicas.js';
import { FENCE, isFenced, type Packable, pack, Script } from './scripts.js';

const RETRY_MS = 100;

const commitScript = new Script('commit', z.union([z.literal(0), z.array(z.unknown())]));

/** The commands that `read` may send. They change nothing. */
export type StoreReader = Pick<
  Redis,
  | 'config'
  | 'get'
  | 'hget'
  | 'hgetBuffer'
  | 'hgetall'
  | 'hkeys'
  | 'info'
  | 'lrange'
  | 'ping'
  | 'smembers'
  | 'time'
  | 'xrange'
  | 'xrangeBuffer'
  | 'xrevrange'
  | 'zrangebyscore'
>;

/** A writing command of the store, with its whole key. */
export type StoreCommand = readonly [name: string, key: string, ...args: (string | Buffer)[]];

/** A command that changes nothing, and the reply that it must have; '' for none. */
export type Condition = readonly [wanted: string, ...command: StoreCommand];

/** A record of the audit trail. */
export type RecordToWrite = {
  readonly isDenial: boolean;
  readonly atMs: number;
  /** When it is written, by the steady clock, which decides its age. */
  readonly steadyMs: number;
  /** JSON of the entry without its time. */
  readonly text: string;
};

/** Writes that are made as one, or not at all. */
export interface Commit {
  readonly commands: readonly StoreCommand[];
  readonly conditions?: readonly Condition[];
  readonly records?: readonly RecordToWrite[];
}

/** The lease under which a gateway writes. */
export interface WriteGuard {
  /** A write succeeds only while the lease has this token; otherwise the store refuses it with `FENCED`. */
  readonly token: string;
  /** Called for each refused write. */
  readonly fenced: () => void;
}

export interface StoreOptions {
  /** The lease that each write is checked against; undefined: no lease. */
  readonly guard?: WriteGuard | undefined;
  /** The replicas that must have a write before it is answered. */
  readonly replicas?: Replicas | undefined;
  /**
   * Whether to repeat calls while the store is away.
   *
   * Only for calls that may run twice and overtake each other: an invalid publish may then be listed twice. All
   * other calls fail immediately, and their caller decides what comes first when the store is back.
   */
  readonly isPatient?: boolean;
}

export class Store {
  readonly #redis: Redis;
  readonly #sitePrefix: string;
  readonly #options: StoreOptions;
  readonly #confirmed: ((call: ScriptCall) => Promise<unknown>) | undefined;
  /** Sends each script: its text once over a connection, and then its digest. */
  readonly #commands = new Map<string, (...args: (string | Buffer)[]) => Promise<unknown>>();
  #isClosed = false;

  /**
   * @param redis a connection that fails immediately while the store is away (server/connection.ts)
   * @param sitePrefix what all keys of the site begin with
   */
  constructor(redis: Redis, sitePrefix: string, options: StoreOptions = {}) {
    this.#redis = redis;
    this.#sitePrefix = sitePrefix;
    this.#options = options;
    this.#confirmed = options.replicas?.writer(redis);
  }

  /** Whether the connection is ready. */
  get isReady(): boolean {
    return this.#redis.status === 'ready';
  }

  /** Reads with commands that change nothing. */
  read<T>(ask: (redis: StoreReader) => Promise<T>): Promise<T> {
    return this.#answered(() => ask(this.#redis));
  }

  /**
   * Runs a script as one atomic call. When this resolves, its writes are as durable as the server is set up to make them.
   *
   * @throws ReplyError `FENCED` when another gateway has the lease
   * @throws GatewayError `store-unavailable` when no replica confirms the write, or none may be made without one
   */
  async run<Reply>(
    script: Script<Reply>,
    args: { readonly [name: string]: Packable | undefined },
  ): Promise<Reply> {
    const packed = pack(args);
    const reply = await this.#answered(() =>
      script.isReading ? this.#send(script, [packed]) : this.#write(script, packed),
    );
    return script.parse(reply);
  }

  /** Runs commands as one atomic call. Resolves to their replies. */
  async write(...commands: readonly StoreCommand[]): Promise<unknown[]> {
    const replies = await this.run(commitScript, { commands, conditions: [], records: [] });
    return replies === 0 ? [] : replies;
  }

  /**
   * Makes all writes as one atomic call, unless a condition does not hold.
   *
   * @returns the replies of the commands; undefined, with nothing written, if a condition does not hold
   */
  async commit({
    commands,
    conditions = [],
    records = [],
  }: Commit): Promise<unknown[] | undefined> {
    const replies = await this.run(commitScript, { commands, conditions, records });
    return replies === 0 ? undefined : replies;
  }

  /** Ends the connection and everything that waits for the store. */
  close(): void {
    this.#isClosed = true;
    this.#redis.disconnect();
  }

  async #answered<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (this.#options.isPatient !== true || this.#isClosed || !isPassing(error)) throw error;
      }
      await delay(RETRY_MS);
    }
  }

  async #write(script: Script<unknown>, packed: Buffer): Promise<unknown> {
    const { guard, replicas } = this.#options;
    const args = guard === undefined ? [packed] : [packed, guard.token];
    try {
      if (replicas?.isOn !== true || this.#confirmed === undefined)
        return await this.#send(script, args);
      // Not by its digest: what is sent again would come behind the question to the replicas.
      return await this.#confirmed([this.#textOf(script), 1, this.#sitePrefix, ...args]);
    } catch (error) {
      if (guard !== undefined && isFenced(error)) guard.fenced();
      throw error;
    }
  }

  #send(script: Script<unknown>, args: readonly (string | Buffer)[]): Promise<unknown> {
    return this.#commandOf(script)(this.#sitePrefix, ...args);
  }

  /** ioredis adds a method for each command that is defined, and one that answers with bytes. */
  #commandOf(script: Script<unknown>): (...args: (string | Buffer)[]) => Promise<unknown> {
    const known = this.#commands.get(script.name);
    if (known !== undefined) return known;
    const redis = this.#redis;
    // Some scripts have the name of a command.
    const name = `script:${script.name}`;
    redis.defineCommand(name, { numberOfKeys: 1, lua: this.#textOf(script) });
    const method: unknown = Reflect.get(redis, name + (script.hasBytes ? 'Buffer' : ''));
    if (typeof method !== 'function') throw new TypeError(`no command ${name}`);
    const command = (...args: (string | Buffer)[]) => Reflect.apply(method, redis, args);
    this.#commands.set(script.name, command);
    return command;
  }

  #textOf(script: Script<unknown>): string {
    const isFenced = this.#options.guard !== undefined && !script.isReading;
    return isFenced ? FENCE + script.text : script.text;
  }
}

/**
 * Runs a call to the store for a caller who waits for the answer.
 *
 * Any failure (closed connection, timeout, full memory) becomes `store-unavailable`.
 *
 * @throws GatewayError `store-unavailable`, or the error that `call` itself throws
 */
export async function answering<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new GatewayError('store-unavailable', 'The store does not answer.', { cause: error });
  }
}

/**
 * Resolves to the value of a key, or to undefined if somebody has overwritten it with another type.
 *
 * Any other refusal says nothing about the key: the store may be busy with somebody else's script.
 */
export async function unlessOfAnotherType<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (replyCode(error) === 'WRONGTYPE') return undefined;
    throw error;
  }
}
