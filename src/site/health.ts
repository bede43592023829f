import { EventEmitter } from 'node:events';

/** What is wrong with the gateway right now, in sentences for whoever must put it right. */
export class Health extends EventEmitter<{ changed: [] }> {
  readonly #faults = new Map<string, string>();
  /** Of those, the sources of what is wrong elsewhere. */
  readonly #elsewhere = new Set<string>();
  #started = false;

  /** Reports a fault, or with `undefined` that it is over. */
  report(source: string, fault: string | undefined): void {
    if (this.#faults.get(source) === fault) return;
    if (fault === undefined) this.#faults.delete(source);
    else this.#faults.set(source, fault);
    this.emit('changed');
  }

  /**
   * The same for what is wrong elsewhere, and for somebody there to put right: the gateway itself
   * does its whole work, and is as ready as before.
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

  /** Whether the gateway does its whole work: it has started, and nothing is wrong. */
  ready(): boolean {
    if (!this.#started) return false;
    return [...this.#faults.keys()].every((source) => this.#elsewhere.has(source));
  }
}
