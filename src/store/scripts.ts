import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { z } from 'zod';

/** One Lua script of ./lua; each opens with its contract. */
export class Script<Reply> {
  readonly #lua: string;
  readonly #reply: z.ZodType<Reply>;

  constructor(name: string, reply: z.ZodType<Reply>) {
    this.#lua = readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8');
    this.#reply = reply;
  }

  /**
   * Sends the text with every call: a store that was restarted has forgotten its scripts, and a
   * NOSCRIPT answer would let later alarms overtake this one (DEPENDENCY-FAULTS 19).
   */
  async run(
    redis: Redis,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
  ): Promise<Reply> {
    return this.#reply.parse(await redis.eval(this.#lua, keys.length, ...keys, ...args));
  }

  /** The same for a script whose answer holds bytes that are no text. */
  async runForBuffers(
    redis: Redis,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
  ): Promise<Reply> {
    const reply = await redis.callBuffer('EVAL', this.#lua, keys.length, ...keys, ...args);
    return this.#reply.parse(reply);
  }
}
