import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GatewayProcess } from './gateway-process.js';

/** The clocks of a gateway, moved by a test. */
export class MovableClock {
  readonly #directory = mkdtempSync(join(tmpdir(), 'gateway-clock-'));
  readonly #file = join(this.#directory, 'ahead.json');

  /**
   * Variables for the gateway, with frequent sweeps.
   *
   * Do not restart the gateway: its clock would start over.
   */
  get environment(): Record<string, string> {
    const preloads = ['movable-clock.mjs', 'hurried-intervals.mjs'];
    const options = preloads.map((file) => `--import=${new URL(file, import.meta.url)}`);
    return { NODE_OPTIONS: options.join(' '), MOVABLE_CLOCK_FILE: this.#file };
  }

  /** Sets the machine's clock; no time passes. */
  jump(gateway: GatewayProcess, ms: number): void {
    this.#move(gateway, { wallMs: ms, elapsedMs: 0 });
  }

  /** Lets time pass. */
  pass(gateway: GatewayProcess, ms: number): void {
    this.#move(gateway, { wallMs: ms, elapsedMs: ms });
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #move(gateway: GatewayProcess, ahead: { wallMs: number; elapsedMs: number }): void {
    // Atomic: the gateway may still be reading the file for the previous move.
    writeFileSync(`${this.#file}.new`, JSON.stringify(ahead));
    renameSync(`${this.#file}.new`, this.#file);
    process.kill(gateway.processId, 'SIGUSR2');
  }
}
