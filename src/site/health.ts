import { EventEmitter } from 'node:events';

/** The gateway's current faults, as sentences for the operator. */
export class Health extends EventEmitter<{ changed: [] }> {
  readonly #faults = new Map<string, string>();
  /** Sources of faults that do not make the gateway unready. */
  readonly #elsewhere = new Set<string>();
  #started = false;

  /** Reports a fault, or its end with `undefined`. */
  report(source: string, fault: string | undefined): void {
    if (this.#faults.get(source) === fault) return;
    if (fault === undefined) this.#faults.delete(source);
    else this.#faults.set(source, fault);
    this.emit('changed');
  }

  /**
   * Reports a fault that others must mend, and that leaves the gateway ready.
   */
  reportElsewhere(source: string, fault: string | undefined): void {
    this.#elsewhere.add(source);
    this.report(source, fault);
  }

  started(): void {
    this.#started = true;
  }

  faults(): readonly string[] {
    return [...this.#faults.values()];
  }

  /** Whether the gateway has started, and has no fault of its own. */
  ready(): boolean {
    if (!this.#started) return false;
    return [...this.#faults.keys()].every((source) => this.#elsewhere.has(source));
  }
}
