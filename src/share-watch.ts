import type { FairTurns } from './fair-turns.js';
import type { Health } from './site/health.js';

const INTERVAL_MS = 5_000;
/** Work that waits for its turn all the time pauses for half of it. */
const BUSY_PAUSED_MS = INTERVAL_MS / 4;

/** Reports a fault while HTTP and TLS clients ask for more than their share of the processor. */
export class ShareWatch {
  readonly #turns: FairTurns;
  readonly #health: Health;
  #timer: NodeJS.Timeout | undefined;

  constructor(turns: FairTurns, health: Health) {
    this.#turns = turns;
    this.#health = health;
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { pausedMs, usedMs } = this.#turns.takeUsage();
    const [busiest] = [...usedMs].sort(([, one], [, other]) => other - one);
    const isBusy = pausedMs >= BUSY_PAUSED_MS && busiest !== undefined;
    const fault = isBusy
      ? `HTTP and TLS clients ask for more than their share of the processor, most of all ${busiest[0]}.`
      : undefined;
    this.#health.reportElsewhere('web-share', fault);
  }
}
