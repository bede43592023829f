import { EventEmitter } from 'node:events';

/** What is wrong with the gateway right now, in sentences for whoever must put it right. */
export class Health extends EventEmitter<{ changed: [] }> {
  readonly #faults = new Map<string, string>();
  #started = false;

  /** Reports a fault, or with `undefined` that it is over. */
  report(source: string, fault: string | undefined): void {
    if (this.#faults.get(source) === fault) return;
    if (fault === undefined) this.#faults.delete(source);
    else this.#faults.set(source, fault);
    this.emit('changed');
  }

  started(): void {
    this.#started = true;
  }

  faults(): readonly string[] {
    return [...this.#faults.values()];
  }

  /** Whether the gateway does its whole work: it has started, and nothing is wrong. */
  ready(): boolean {
    return this.#started && this.#faults.size === 0;
  }
}
