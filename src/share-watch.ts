import type { ProcessorShare } from './processor-share.js';
import type { Health } from './site/health.js';
import { describeHolder } from './site/holder-names.js';
import type { SiteModel } from './site/site-model.js';

const INTERVAL_MS = 5_000;
/** What one client may use; and how long work may pause, which it does for half of the time if there is always some. */
const BUSY_MS = INTERVAL_MS / 4;

/** Reports a fault while HTTP and TLS clients take much of the processor, or ask for more than their share. */
export class ShareWatch {
  readonly #turns: ProcessorShare;
  readonly #health: Health;
  readonly #model: SiteModel;
  #timer: NodeJS.Timeout | undefined;

  constructor(turns: ProcessorShare, health: Health, model: SiteModel) {
    this.#turns = turns;
    this.#health = health;
    this.#model = model;
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
    this.#health.reportElsewhere('web-share', busiest && this.#faultOf(busiest, pausedMs));
  }

  #faultOf([line, usedMs]: readonly [string, number], pausedMs: number): string | undefined {
    if (Math.max(usedMs, pausedMs) < BUSY_MS) return undefined;
    return `HTTP and TLS clients take much of the processor, most of all ${describeHolder(this.#model, line)}.`;
  }
}
