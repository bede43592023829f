import { join } from 'node:path';
import { lockFile } from '../../src/store/embedded/file-lock.js';
import { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import type { RunningGateway } from '../../test/former/gateway/running-gateway.js';
import { kill, storeProcessId } from '../../test/former/stored/store-process.js';
import type { KillTarget } from './schedule.js';

/** Sessions without bounds: dropped entries would look like a loss. */
const ENVIRONMENT = { GATEWAY_SESSIONS_MAX_QUEUED_MESSAGES: '100000000' };
/** Every alarm escalates, because nobody acknowledges any. */
export const ESCALATION = { name: 'in-charge', afterSeconds: 5 };
const MAX_FAILED_STARTS = 20;

/** The gateway under test; it is killed, and restarted immediately as systemd does. */
export class Victim {
  readonly gateway: GatewayProcess;
  /** Times from the last kill of the gateway to the ready line. */
  readonly readyAfterMs: number[] = [];
  /** Times from the last kill of anything to the first PUBACK for an alarm published after it. */
  readonly acknowledgingAfterMs: number[] = [];
  readonly kills: Record<KillTarget, number> = { gateway: 0, store: 0, both: 0 };
  /** Starts that failed because the store was killed meanwhile. */
  failedStarts = 0;
  #isStopping = false;
  #restarting: Promise<void> | undefined;
  #lastKillMs: number | undefined;
  #gatewayKilledMs: number | undefined;

  private constructor(gateway: GatewayProcess) {
    this.gateway = gateway;
  }

  static async start(bridges: readonly object[]): Promise<Victim> {
    const gateway = await GatewayProcess.create(ENVIRONMENT);
    await gateway.configure({ bridges, escalations: [ESCALATION] });
    await gateway.start();
    return new Victim(gateway);
  }

  /**
   * Kills; resolves once the processes are dead and the gateway is being restarted.
   *
   * If the store is already down, only the gateway dies.
   */
  async kill(target: KillTarget): Promise<void> {
    const store = target === 'gateway' ? undefined : storeProcessId(this.gateway.dataDir);
    const actual = store === undefined ? 'gateway' : target;
    // Kills both together: the gateway must not see the store die first.
    const dead = actual === 'store' ? undefined : this.gateway.kill();
    if (store !== undefined) process.kill(store, 'SIGKILL');
    const nowMs = performance.now();
    this.kills[actual]++;
    this.#lastKillMs = nowMs;
    if (dead === undefined) return;
    this.#gatewayKilledMs = nowMs;
    await dead;
    this.#restarting ??= this.#restart().finally(() => {
      this.#restarting = undefined;
    });
  }

  /** Notes an acknowledged alarm. */
  acknowledged(publishedMs: number): void {
    if (this.#lastKillMs === undefined || publishedMs < this.#lastKillMs) return;
    this.acknowledgingAfterMs.push(performance.now() - this.#lastKillMs);
    this.#lastKillMs = undefined;
  }

  /** Resolves when the gateway runs. @throws Error when it has ended */
  async settled(): Promise<void> {
    await this.#restarting;
    if (!this.gateway.isRunning) throw new Error('the gateway ended by itself');
  }

  async remove(): Promise<void> {
    await this.#calm();
    await this.gateway.remove();
  }

  /** Keeps data and log for an investigation. Resolves to their directory. */
  async keep(): Promise<string> {
    await this.#calm();
    await this.gateway.keep();
    return this.gateway.dataDir;
  }

  async #calm(): Promise<void> {
    this.#isStopping = true;
    await this.#restarting?.catch(() => undefined);
  }

  async #restart(): Promise<void> {
    while (!this.#isStopping) {
      const killedMs = this.#gatewayKilledMs;
      try {
        await this.gateway.start();
      } catch (error) {
        // The gateway was killed again before it was ready, or its store was.
        if (killedMs !== this.#gatewayKilledMs) continue;
        this.failedStarts++;
        if (this.failedStarts > MAX_FAILED_STARTS) throw error;
        continue;
      }
      if (killedMs !== this.#gatewayKilledMs) continue;
      this.readyAfterMs.push(performance.now() - (killedMs ?? 0));
      return;
    }
  }
}

/** Kills the store and holds its lock until the returned descriptor is closed. */
export function holdStoreDown({ dataDir }: Pick<RunningGateway, 'dataDir'>): number {
  const file = join(dataDir, 'redis', 'redis.lock');
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    // On a busy machine the gateway may start the next store before we get the lock; it waits longer each time.
    const processId = storeProcessId(dataDir);
    if (processId !== undefined) kill(processId);
    const lock = lockFile(file);
    if (lock !== undefined) return lock;
  }
  throw new Error('the lock of the store did not get free');
}

/** Each try takes some milliseconds; a killed process may take several to be gone. */
const MAX_TRIES = 5_000;
