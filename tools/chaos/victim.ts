import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Gateway, killProcess, storeProcessId } from '../../test/harness/gateway.js';
import { ESCALATION, UNBOUNDED } from './clients.js';
import type { KillTarget } from './schedule.js';

const MAX_FAILED_STARTS = 20;

/** The gateway under test; it is killed, and restarted immediately as systemd does. */
export class Victim {
  readonly gateway: Gateway;
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

  private constructor(gateway: Gateway) {
    this.gateway = gateway;
  }

  static async start(bridges: readonly object[]): Promise<Victim> {
    const config = { bridges, escalations: [ESCALATION] };
    return new Victim(await Gateway.start({ kind: 'process', env: UNBOUNDED, config }));
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
    if (store !== undefined) killProcess(store);
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

  /** Notes an acknowledged alarm, by the time of its publish. */
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
    await this.gateway.stop();
    return keepLog(this.gateway);
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
        if (killedMs === this.#gatewayKilledMs) this.failedStarts++;
        if (this.failedStarts > MAX_FAILED_STARTS) throw error;
        continue;
      }
      if (killedMs !== this.#gatewayKilledMs) continue;
      this.readyAfterMs.push(performance.now() - (killedMs ?? 0));
      return;
    }
  }
}

/** Writes the log of a gateway into its data directory. Resolves to the directory. */
export async function keepLog({ dataDir, lines }: Gateway): Promise<string> {
  await writeFile(join(dataDir, 'gateway.log'), `${lines.join('\n')}\n`);
  return dataDir;
}
