import { z } from 'zod';
import { RedisServer } from '../../../../test/former/servers/redis-server.js';
import type { Cleanups } from '../cleanups.js';
import { Program } from '../program.js';
import { type Contestant, plainHome, type RestartableBroker } from './contestant.js';

export const FSYNC_ALWAYS = ['--appendonly', 'yes', '--appendfsync', 'always'] as const;

/** Stock Aedes; with a socket it keeps its sessions in that Redis, otherwise in memory. */
export class AedesProcess {
  readonly #cleanups: Cleanups;
  readonly #socketPath: string | undefined;
  #program: Program | undefined;
  /** 0, for any free port, until the first start. */
  #port = 0;

  constructor(cleanups: Cleanups, socketPath?: string) {
    this.#cleanups = cleanups;
    this.#socketPath = socketPath;
  }

  get port(): number {
    return this.#port;
  }

  get processId(): number {
    return this.#program?.processId ?? 0;
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    this.#program = Program.start('contestants/aedes-program.js', this.#cleanups);
    const place = { port: this.#port, socketPath: this.#socketPath };
    this.#port = await this.#program.ask(place, z.number());
  }

  async restart(): Promise<void> {
    await this.#program?.kill();
    await this.start();
  }
}

/** Stores nothing: everything is lost with the process. */
export const AEDES: Contestant<RestartableBroker> = {
  name: 'Aedes in memory',
  start: async (devices, cleanups) => {
    const aedes = new AedesProcess(cleanups);
    await aedes.start();
    return {
      ...plainHome(devices),
      port: aedes.port,
      get processIds() {
        return [aedes.processId];
      },
      restart: () => aedes.restart(),
    };
  },
};

export const AEDES_REDIS: Contestant = {
  name: 'Aedes with Redis',
  start: async (devices, cleanups) => {
    const redis = await RedisServer.start(...FSYNC_ALWAYS);
    cleanups.onEnd(() => redis.remove());
    const aedes = new AedesProcess(cleanups, redis.socketPath);
    await aedes.start();
    const processIds = [aedes.processId, redis.processId];
    return { ...plainHome(devices), port: aedes.port, processIds };
  },
};
