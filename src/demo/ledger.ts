/** The arrival of an alarm. */
export interface Arrival {
  readonly tookMs: number;
  readonly waited: boolean;
}

/** The totals of all alarms. */
export interface Totals {
  readonly published: number;
  readonly forwarded: number;
  readonly lost: number;
  /** Deliveries of an alarm that had arrived before: MQTT allows them at QoS 1. */
  readonly repeated: number;
  /** Alarms that arrived after they had waited for the nurse-call system. */
  readonly waited: number;
  /** The median latency of the other alarms. */
  readonly medianMs: number | undefined;
  readonly maxMs: number | undefined;
}

interface Entry {
  readonly sequence: number;
  readonly sentAtMs: number;
  readonly waits: boolean;
}

/** Records every alarm as published and as arrived. */
export class Ledger {
  readonly #now: () => number;
  readonly #outstanding = new Map<string, Entry>();
  readonly #liveMs: number[] = [];
  /** Sequence numbers, in the order of arrival. */
  readonly #waited: number[] = [];
  #published = 0;
  #forwarded = 0;
  #repeated = 0;
  #onSettled: (() => void) | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  get outstanding(): number {
    return this.#outstanding.size;
  }

  /** @param waits whether the alarm must wait for the nurse-call system to come back */
  published(alarmId: string, waits: boolean): void {
    this.#published += 1;
    this.#outstanding.set(alarmId, { sequence: this.#published, sentAtMs: this.#now(), waits });
  }

  /** Notes an arrival; undefined for a repeated alarm or one of another publisher. */
  arrived(alarmId: string): Arrival | undefined {
    const entry = this.#outstanding.get(alarmId);
    if (entry === undefined) {
      this.#repeated += 1;
      return undefined;
    }
    this.#outstanding.delete(alarmId);
    this.#forwarded += 1;
    const tookMs = this.#now() - entry.sentAtMs;
    if (entry.waits) this.#waited.push(entry.sequence);
    else this.#liveMs.push(tookMs);
    if (this.outstanding === 0) this.#onSettled?.();
    return { tookMs, waited: entry.waits };
  }

  /** Whether the waiting alarms arrived in the order of publication. */
  get waitedInOrder(): boolean {
    return this.#waited.every((sequence, index) => sequence > (this.#waited[index - 1] ?? 0));
  }

  /** Resolves when every alarm has arrived, or at the deadline. */
  async untilAllArrived(deadlineMs: number): Promise<void> {
    if (this.outstanding === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, deadlineMs);
      this.#onSettled = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  totals(): Totals {
    const sorted = this.#liveMs.toSorted((a, b) => a - b);
    return {
      published: this.#published,
      forwarded: this.#forwarded,
      lost: this.outstanding,
      repeated: this.#repeated,
      waited: this.#waited.length,
      medianMs: sorted[Math.floor((sorted.length - 1) / 2)],
      maxMs: sorted.at(-1),
    };
  }
}
