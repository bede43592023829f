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

/** The commands that `read` may send: they change nothing. */
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

/** What a script is given beside its keys. */
export type ScriptArgument = string | number | Buffer;

export interface StoreOptions {
  /** The lease that each write is checked against; undefined without one. */
  readonly guard?: WriteGuard | undefined;
  /** What replicas must have before a write is answered. */
  readonly replicas?: Replicas | undefined;
  /** A key of the site that never exists; in a cluster only. */
  readonly absentKey?: string | undefined;
  /**
   * Whether a call is repeated while the store is away.
   *
   * Only for calls that may be made twice, and may overtake each other: an invalid publish may then be listed twice. All others fail at once, and whoever makes
   * them decides what comes first when the store is back.
   */
  readonly isPatient?: boolean;
}

/**
 * The one door to the store, over one connection.
 *
 * Whatever is written is a script: it is checked against the lease within the store, by the same atomic call that
 * writes, and answered once the replicas have it. The connection queues nothing and sends nothing twice.
 */
export class Store {
  readonly #redis: Redis;
  readonly #options: StoreOptions;
  readonly #confirmed: ((call: ScriptCall) => Promise<unknown>) | undefined;
  #isClosed = false;

  /** @param redis a connection that fails at once while the store is away (server/connection.ts) */
  constructor(redis: Redis, options: StoreOptions = {}) {
    this.#redis = redis;
    this.#options = options;
    this.#confirmed = options.replicas?.writer(redis);
  }

  /** Whether the connection is there. */
  get isReady(): boolean {
    return this.#redis.status === 'ready';
  }

  /** Reads, by commands that change nothing. */
  read<T>(ask: (redis: StoreReader) => Promise<T>): Promise<T> {
    return this.#answered(() => ask(this.#redis));
  }

  /**
   * Runs a script as one atomic call; what it wrote is durable when this resolves.
   *
   * @throws ReplyError `FENCED` when another gateway has the lease
   * @throws GatewayError `store-unavailable` when it was made, but no replica confirms it
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

  /** Runs commands as one atomic call, all in one slot; resolves to their replies. */
  async write(...commands: readonly [StoreCommand, ...StoreCommand[]]): Promise<unknown[]> {
    return this.run(runCommands, [commands[0][1]], [packRows(commands)]);
  }

  /** Ends the connection, and whatever waits for the store. */
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
   * Its text goes with each call: a restarted store has forgotten its scripts. While a slot of a cluster moves, a script
   * may find some of its keys here and others gone, and Redis ends it then in the middle of its writes. A script with a
   * declared key that does not exist is not begun.
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
