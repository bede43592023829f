import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { RunningGateway } from '../gateway/running-gateway.js';

/** Access to the embedded store of a gateway, to inspect and disturb it. */
export class Store {
  readonly redis: Redis;
  readonly processId: number;

  private constructor(redis: Redis, processId: number) {
    this.redis = redis;
    this.processId = processId;
  }

  static async of(gateway: RunningGateway): Promise<Store> {
    const path = join(gateway.dataDir, 'redis', 'redis.sock');
    const redis = new Redis({ path, retryStrategy: () => null, lazyConnect: true });
    redis.on('error', () => undefined);
    await redis.connect();
    const processId = Number(/^process_id:(\d+)/m.exec(await redis.info('server'))?.[1]);
    return new Store(redis, processId);
  }

  /** Freezes the store until `thaw`: it accepts commands but answers none. */
  freeze(): void {
    process.kill(this.processId, 'SIGSTOP');
  }

  /** Kills the store; a running gateway starts it again. */
  kill(): void {
    process.kill(this.processId, 'SIGKILL');
  }

  thaw(): void {
    process.kill(this.processId, 'SIGCONT');
  }

  async keys(pattern = '*'): Promise<string[]> {
    return (await this.redis.keys(pattern)).sort();
  }

  /** How often a command was called since the last `CONFIG RESETSTAT`. */
  async calls(command: string): Promise<number> {
    const stats = await this.redis.info('commandstats');
    return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  }

  close(): void {
    this.redis.disconnect();
  }
}
