import type { ChainableCommander } from 'ioredis';

/**
 * Runs a pipeline or transaction and throws the first failure in it, which ioredis does not.
 */
export async function execute(commands: ChainableCommander): Promise<void> {
  for (const [error] of (await commands.exec()) ?? []) if (error !== null) throw error;
}
