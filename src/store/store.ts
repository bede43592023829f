import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { isPassing, replyCode } from '../delivery/log/reply-code.js';
import type { Keys } from './keys.js';
import { FENCE_PROLOGUE, isFenced, type WriteGuard } from './pair/fence.js';
import type { ScriptCall } from './pair/replica-link.js';
import type { Replicas } from './pair/replicas.js';
import { type Packable, packRows, Script } from './scripts.js';

const RETRY_MS = 100;
const NO_ROWS = packRows([]);

const commitScript = new Script('commit', z.union([z.literal(0), z.array(z.unknown())]));

/** How many audit records of each sort are kept. */
export const MAX_AUDITED_CHANGES = 1_000_000;
const MAX_AUDITED_DENIALS = 100_000;

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
  | 'xrange'
  | 'xrangeBuffer'
  | 'xrevrange'
  | 'zmscore'
  | 'zrangebyscore'
  | 'zrevrangebyscore'
>;

/** A writing command of the store, with its key. */
export type StoreCommand = readonly [name: string, key: string, ...args: Packable[]];

/** A record of the audit trail. */
export interface RecordToWrite {
  readonly isDenial: boolean;
  readonly atMs: number;
  /** When it is written, by the steady clock, which decides its age. */
  readonly steadyMs: number;
  /** JSON of the entry without its time. */
  readonly text: string;
}

/** Writes that are made as one, or not at all. */
export interface Commit {
  readonly commands: readonly StoreCommand[];
  /** Commands that change nothing, with the reply that each must have; '' for none. */
  readonly conditions?: readonly (readonly [wanted: string, ...command: StoreCommand])[];
  readonly records?: readonly RecordToWrite[];
}

/** An argument of a script besides its keys. */
export type ScriptArgument = string | number | Buffer;

export interface StoreOptions {
  /** The lease that each write is checked against; undefined: no lease. */
  readonly guard?: WriteGuard | undefined;
  /** The replicas that must have a write before it is answered. */
  readonly replicas?: Replicas | undefined;
  /** A key of the site that never exists; only in a cluster. */
  readonly absentKey?: string | undefined;
  /**
   * Whether to repeat calls while the store is away.
   *
   * Only for calls that may run twice and overtake each other: an invalid publish may then be listed twice. All
   * others fail immediately, and their caller decides what comes first when the store is back.
   */
  readonly isPatient?: boolean;
}

/** A script as it is sent, and its digest as the server knows it. */
interface PreparedScript {
  readonly text: string;
  readonly digest: string;
}

/**
 * The only door to the store, over one connection.
 *
 * Every write is a script: the store checks it against the lease in the same atomic call, and it is answered once
 * the replicas have it. The connection queues nothing and sends nothing twice.
 */
export class Store {
  readonly #redis: Redis;
  readonly #options: StoreOptions;
  readonly #confirmed: ((call: ScriptCall) => Promise<unknown>) | undefined;
  readonly #prepared = new Map<Script<unknown>, PreparedScript>();
  /** The scripts that the server has had over this connection; a restarted server has forgotten them. */
  readonly #known = new Set<PreparedScript>();
  #isClosed = false;

  /** @param redis a connection that fails immediately while the store is away (server/connection.ts) */
  constructor(redis: Redis, options: StoreOptions = {}) {
    this.#redis = redis;
    this.#options = options;
    this.#confirmed = options.replicas?.writer(redis);
    redis.on('close', () => this.#known.clear());
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
   * Runs a script as one atomic call. Its writes are durable when this resolves.
   *
   * @throws ReplyError `FENCED` when another gateway has the lease
   * @throws GatewayError `store-unavailable` when the script ran but no replica confirms it
   */
  async run<Reply>(
    script: Script<Reply>,
    keys: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<Reply> {
    const reply = await this.#answered(() =>
      script.isReading ? this.#send(script, keys, args) : this.#write(script, keys, args),
    );
    return script.parse(reply);
  }

  /** Runs commands as one atomic call, all in one slot. Resolves to their replies. */
  async write(...commands: readonly [StoreCommand, ...StoreCommand[]]): Promise<unknown[]> {
    const args = [packRows(commands), NO_ROWS, NO_ROWS];
    const replies = await this.run(commitScript, [commands[0][1]], args);
    return replies === 0 ? [] : replies;
  }

  /**
   * Makes all writes as one atomic call, unless a condition does not hold.
   *
   * @returns the replies of the commands; undefined, with nothing written, if a condition does not hold
   */
  async commit(
    keys: Keys,
    { commands, conditions = [], records = [] }: Commit,
  ): Promise<unknown[] | undefined> {
    const { siteRevision, auditSequence, auditChanges, auditDenials } = keys;
    const rows = records.map(({ isDenial, atMs, steadyMs, text }) => {
      return [isDenial ? 1 : 0, atMs, steadyMs, text];
    });
    const args = [packRows(commands), packRows(conditions), packRows(rows)];
    const replies = await this.run(
      commitScript,
      [siteRevision, auditSequence, auditChanges, auditDenials],
      [...args, MAX_AUDITED_CHANGES, MAX_AUDITED_DENIALS],
    );
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

  async #write(
    script: Script<unknown>,
    keys: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<unknown> {
    const { guard } = this.#options;
    if (guard === undefined) return this.#acknowledged(script, keys, args);
    const { key, token } = guard.fence;
    try {
      return await this.#acknowledged(script, [...keys, key], [...args, token]);
    } catch (error) {
      if (isFenced(error)) guard.fenced();
      throw error;
    }
  }

  #acknowledged(
    script: Script<unknown>,
    keys: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<unknown> {
    const isConfirmed = this.#options.replicas?.isOn === true && this.#confirmed !== undefined;
    if (!isConfirmed) return this.#send(script, keys, args);
    return this.#confirmed([this.#preparedOf(script).text, ...this.#argumentsOf(keys, args)]);
  }

  /** Sends a script's text once over a connection, and then its digest: hashing the text takes as long as a small batch. */
  async #send(
    script: Script<unknown>,
    keys: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<unknown> {
    const prepared = this.#preparedOf(script);
    const call = this.#argumentsOf(keys, args);
    const ask = (command: 'EVAL' | 'EVALSHA', body: string) =>
      script.hasBytes
        ? this.#redis.callBuffer(command, body, ...call)
        : this.#redis.call(command, body, ...call);
    if (this.#known.has(prepared)) {
      try {
        return await ask('EVALSHA', prepared.digest);
      } catch (error) {
        // It has not run.
        if (replyCode(error) !== 'NOSCRIPT') throw error;
      }
    }
    this.#known.add(prepared);
    return await ask('EVAL', prepared.text);
  }

  /**
   * While a cluster slot moves, a script may find some of its keys here and others gone, and Redis then aborts it in
   * the middle of its writes. Redis does not start a script with a declared key that does not exist.
   */
  #argumentsOf(keys: readonly string[], args: readonly ScriptArgument[]): ScriptArgument[] {
    const { absentKey } = this.#options;
    if (absentKey === undefined) return [keys.length, ...keys, ...args];
    return [keys.length + 1, ...keys, absentKey, ...args];
  }

  #preparedOf(script: Script<unknown>): PreparedScript {
    const known = this.#prepared.get(script);
    if (known !== undefined) return known;
    const { absentKey, guard } = this.#options;
    const removed = absentKey === undefined ? '' : 'table.remove(KEYS) ';
    const fenced = guard === undefined || script.isReading ? '' : FENCE_PROLOGUE;
    const text = removed + fenced + script.text;
    const prepared = { text, digest: createHash('sha1').update(text).digest('hex') };
    this.#prepared.set(script, prepared);
    return prepared;
  }
}
