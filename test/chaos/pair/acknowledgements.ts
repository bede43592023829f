/** Acknowledgements of two gateways, in the order in which the clients saw them. */

/** From the last acknowledgement of one gateway to the first one of the other. */
export interface Takeover {
  readonly from: string;
  readonly to: string;
  readonly tookMs: number;
  /** By `performance.now()`. */
  readonly atMs: number;
}

/** A pause between two acknowledgements. */
export interface Pause {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Tenure {
  readonly gateway: string;
  readonly epoch: number;
  acknowledged: number;
}

/** Pauses up to this are no interruption. */
const PAUSE_FROM_MS = 300;

/**
 * Watches who acknowledges in which epoch.
 *
 * In one epoch only one gateway may acknowledge, and none after one of a later epoch has.
 */
export class Acknowledgements {
  readonly takeovers: Takeover[] = [];
  readonly pauses: Pause[] = [];
  readonly violations: string[] = [];
  readonly #tenures: Tenure[] = [];
  #last: { readonly gateway: string; readonly atMs: number } | undefined;
  #newest: Tenure | undefined;

  /** Notes that the gateway has said that it holds the lease in this epoch. */
  held(gateway: string, epoch: number): void {
    this.#tenures.push({ gateway, epoch, acknowledged: 0 });
  }

  /** Notes an acknowledgement by the gateway. */
  acknowledged(gateway: string, atMs = performance.now()): void {
    const last = this.#last;
    if (last !== undefined && last.gateway !== gateway) {
      this.takeovers.push({
        ...{ from: last.gateway, to: gateway, tookMs: atMs - last.atMs, atMs },
      });
    }
    if (last !== undefined && atMs - last.atMs >= PAUSE_FROM_MS) {
      this.pauses.push({ fromMs: last.atMs, toMs: atMs });
    }
    this.#last = { gateway, atMs };
    this.#check(gateway, last?.atMs ?? atMs, atMs);
  }

  /** The number of epochs in which somebody acknowledged. */
  get epochs(): number {
    return new Set(this.#used.map(({ epoch }) => epoch)).size;
  }

  get #used(): Tenure[] {
    return this.#tenures.filter(({ acknowledged }) => acknowledged > 0);
  }

  #check(gateway: string, lastMs: number, atMs: number): void {
    const tenure = this.#tenures.findLast((one) => one.gateway === gateway);
    if (tenure === undefined) {
      this.violations.push(`${gateway} acknowledged without a lease`);
      return;
    }
    tenure.acknowledged++;
    const other = this.#used.find(
      ({ epoch, ...one }) => epoch === tenure.epoch && one.gateway !== gateway,
    );
    if (other !== undefined) {
      this.violations.push(`${gateway} and ${other.gateway} both acknowledged in ${tenure.epoch}`);
    }
    const newest = this.#newest;
    if (newest === undefined || tenure.epoch >= newest.epoch) this.#newest = tenure;
    else {
      this.violations.push(
        `${gateway} acknowledged in epoch ${tenure.epoch}, ${Math.round(atMs - lastMs)} ms after ${newest.gateway} in ${newest.epoch}`,
      );
    }
  }
}
