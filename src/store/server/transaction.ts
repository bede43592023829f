import type { ChainableCommander, Redis } from 'ioredis';
import { z } from 'zod';
import { type Packable, packRows, Script } from '../scripts.js';

const runCommands = new Script('run-commands', z.number());

/** A command of the store, with its key. */
export type StoreCommand = readonly [name: string, key: string, ...args: Packable[]];

/**
 * Runs commands in one atomic call, all in one slot.
 *
 * No MULTI: its commands could not be checked against the lease (write-guard.ts).
 */
export async function runAtOnce(redis: Redis, commands: readonly StoreCommand[]): Promise<void> {
  const [first] = commands;
  if (first !== undefined) await runCommands.run(redis, [first[1]], [packRows(commands)]);
}

/**
 * Runs a pipeline and throws the first failure in it, which ioredis does not.
 */
export async function execute(commands: ChainableCommander): Promise<void> {
  for (const [error] of (await commands.exec()) ?? []) if (error !== null) throw error;
}
