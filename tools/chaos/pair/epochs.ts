/** From the last acknowledgement of one gateway to the first of the other. */
export interface Takeover {
  readonly from: string;
  readonly to: string;
  readonly tookMs: number;
  /** By `performance.now()`. */
  readonly atMs: number;
}

/** A pause between two acknowledgements, by `performance.now()`. */
export interface Pause {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Tenure {
  readonly gateway: string;
  readonly epoch: number;
  acknowledged: number;
}

/** Shorter pauses are not interruptions. */
const PAUSE_FROM_MS = 300;

/** Measures when no gateway acknowledges, from the order in which clients see acknowledgements. */
export class Interruptions {
  readonly takeovers: Takeover[] = [];
  readonly pauses: Pause[] = [];
  #last: { readonly gateway: string; readonly atMs: number } | undefined;

  acknowledged(gateway: string, atMs: number): void {
    const last = this.#last;
    this.#last = { gateway, atMs };
    if (last === undefined) return;
    const tookMs = atMs - last.atMs;
    if (last.gateway !== gateway) {
      this.takeovers.push({ from: last.gateway, to: gateway, tookMs, atMs });
    }
    if (tookMs >= PAUSE_FROM_MS) this.pauses.push({ fromMs: last.atMs, toMs: atMs });
  }

  /** When the last acknowledgement came; 0 before the first. */
  get lastMs(): number {
    return this.#last?.atMs ?? 0;
  }

  /** The longest pause that is partly after the time; 0 if there is none. */
  longestSince(fromMs: number): number {
    const since = this.pauses.filter(({ toMs }) => toMs > fromMs);
    return Math.max(0, ...since.map((pause) => pause.toMs - pause.fromMs));
  }
}

/**
 * Watches which gateway acknowledges in which epoch.
 *
 * In an epoch only one gateway may acknowledge, and no gateway may after one of a later epoch has.
 */
export class Epochs {
  readonly violations: string[] = [];
  readonly #tenures: Tenure[] = [];
  #newest: { readonly tenure: Tenure; readonly sinceMs: number } | undefined;

  /** Notes that the gateway says it holds the lease in this epoch. */
  held(gateway: string, epoch: number): void {
    this.#tenures.push({ gateway, epoch, acknowledged: 0 });
  }

  /** The number of epochs in which a gateway acknowledged. */
  get used(): number {
    const used = this.#tenures.filter(({ acknowledged }) => acknowledged > 0);
    return new Set(used.map(({ epoch }) => epoch)).size;
  }

  acknowledged(gateway: string, atMs: number): void {
    const tenure = this.#tenures.findLast((one) => one.gateway === gateway);
    if (tenure === undefined) {
      this.violations.push(`${gateway} acknowledged without a lease`);
      return;
    }
    tenure.acknowledged++;
    const newest = this.#newest;
    if (newest === undefined || tenure.epoch > newest.tenure.epoch) {
      this.#newest = { tenure, sinceMs: atMs };
    } else if (tenure.epoch < newest.tenure.epoch) {
      this.#report(gateway, tenure.epoch, newest.tenure, atMs - newest.sinceMs);
    } else if (newest.tenure.gateway !== gateway) {
      this.violations.push(`${gateway} and ${newest.tenure.gateway} both in epoch ${tenure.epoch}`);
    }
  }

  #report(gateway: string, epoch: number, newest: Tenure, lateMs: number): void {
    const late = `${Math.round(lateMs)} ms after ${newest.gateway} began to in ${newest.epoch}`;
    this.violations.push(`${gateway} acknowledged in epoch ${epoch}, ${late}`);
  }
}
