import type { Health } from '../site/health.js';
import type { DiskReserve } from './disk-reserve.js';

const INTERVAL_MS = 10_000;
/** With room for fewer of the largest uploads the folder is nearly full. */
const MIN_UPLOADS = 2;
const MIB = 1024 * 1024;

/** Reports a folder of recordings that is nearly full (FINDINGS S10). */
export class FootageWatch {
  readonly #reserve: DiskReserve;
  readonly #maxUploadBytes: number;
  readonly #health: Health;
  #timer: NodeJS.Timeout | undefined;

  constructor(reserve: DiskReserve, maxUploadBytes: number, health: Health) {
    this.#reserve = reserve;
    this.#maxUploadBytes = maxUploadBytes;
    this.#health = health;
  }

  start(): void {
    this.#timer = setInterval(() => this.check(), INTERVAL_MS);
    this.check();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Looks at the disk now. A disk that cannot be asked is the store's fault to report. */
  check(): void {
    this.#reserve.roomBytes().then(
      (bytes) => this.#health.reportElsewhere('footage', this.#faultOf(bytes)),
      () => undefined,
    );
  }

  #faultOf(bytes: number): string | undefined {
    if (bytes >= MIN_UPLOADS * this.#maxUploadBytes) return undefined;
    const left = Math.max(0, Math.floor(bytes / MIB));
    return `the folder of recordings is nearly full, ${left} MiB left: free some of the disk, or delete devices that are gone`;
  }
}
