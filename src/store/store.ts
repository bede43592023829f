import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { isPassing } from '../delivery/log/reply-code.js';
import { FENCE_PROLOGUE, isFenced, lateReply, type WriteGuard } from './pair/fence.js';
import type { ScriptCall } from './pair/replica-link.js';
import type { Replicas } from './pair/replicas.js';
import { type Packable, packRows, Script } from './scripts.js';

const RETRY_MS = 100;

const runCommands = new Script('run-commands', z.array(z.unknown()));

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
  #isClosed = false;

  /** @param redis a connection that fails immediately while the store is away (server/connection.ts) */
  constructor(redis: Redis, options: StoreOptions = {}) {
    this.#redis = redis;
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
      script.isReading
        ? this.#send(script, this.#callOf(script.text, keys, args))
        : this.#write(script, keys, args),
    );
    return script.parse(reply);
  }

  /** Runs commands as one atomic call, all in one slot. Resolves to their replies. */
  async write(...commands: readonly [StoreCommand, ...StoreCommand[]]): Promise<unknown[]> {
    return this.run(runCommands, [commands[0][1]], [packRows(commands)]);
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
    if (guard === undefined)
      return this.#acknowledged(script, this.#callOf(script.text, keys, args));
    const { key, token } = guard.fence;
    const call = this.#callOf(FENCE_PROLOGUE + script.text, [...keys, key], [...args, token]);
    try {
      const reply = await this.#acknowledged(script, call);
      if ((await guard.overdue()) === false) throw lateReply();
      return reply;
    } catch (error) {
      if (isFenced(error)) guard.fenced();
      throw error;
    }
  }

  #acknowledged(script: Script<unknown>, call: readonly ScriptArgument[]): Promise<unknown> {
    const isConfirmed = this.#options.replicas?.isOn === true && this.#confirmed !== undefined;
    return isConfirmed ? this.#confirmed(call) : this.#send(script, call);
  }

  #send(script: Script<unknown>, call: readonly ScriptArgument[]): Promise<unknown> {
    return script.hasBytes
      ? this.#redis.callBuffer('EVAL', ...call)
      : this.#redis.call('EVAL', ...call);
  }

  /**
   * The arguments of EVAL.
   *
   * Each call sends the text: a restarted store has forgotten its scripts. While a cluster slot moves, a script may
   * find some of its keys here and others gone, and Redis then aborts it in the middle of its writes. Redis does not
   * start a script with a declared key that does not exist.
   */
  #callOf(
    text: string,
    keys: readonly string[],
    args: readonly ScriptArgument[],
  ): ScriptArgument[] {
    const { absentKey } = this.#options;
    if (absentKey === undefined) return [text, keys.length, ...keys, ...args];
    return [`table.remove(KEYS) ${text}`, keys.length + 1, ...keys, absentKey, ...args];
  }
}
