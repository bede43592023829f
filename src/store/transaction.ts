import type { ChainableCommander } from 'ioredis';

/**
 * Runs a pipeline or a transaction. ioredis resolves even when commands in it have failed; here the
 * first failure is thrown.
 */
export async function execute(commands: ChainableCommander): Promise<void> {
  for (const [error] of (await commands.exec()) ?? []) if (error !== null) throw error;
}
