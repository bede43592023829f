import type { ProcessorShare } from './processor-share.js';
import type { Health } from './site/health.js';
import { describeHolder } from './site/holder-names.js';
import type { SiteModel } from './site/site-model.js';

const INTERVAL_MS = 5_000;
/** Work that waits for its turn all the time pauses for half of it. */
const BUSY_PAUSED_MS = INTERVAL_MS / 4;

/** Reports a fault while HTTP and TLS clients ask for more than their share of the processor. */
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
    const isBusy = pausedMs >= BUSY_PAUSED_MS && busiest !== undefined;
    const fault = isBusy
      ? `HTTP and TLS clients ask for more than their share of the processor, most of all ${describeHolder(this.#model, busiest[0])}.`
      : undefined;
    this.#health.reportElsewhere('web-share', fault);
  }
}
