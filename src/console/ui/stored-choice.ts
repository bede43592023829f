import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { store, stored } from './kept-values.js';

interface StoredChoiceOptions<Value extends string> {
  /** The key in the storage of the device. */
  readonly key: string;
  readonly values: readonly Value[];
  /** As long as nothing is chosen. */
  readonly initial: Value;
  /** Puts it into effect: at once, and whenever it changes. */
  readonly apply: (value: Value) => void;
}

/** One of some values, chosen by hand for this device. */
export class StoredChoice<Value extends string> {
  readonly values: readonly Value[];
  readonly #key: string;
  readonly #current: Signal<Value>;

  constructor({ key, values, initial, apply }: StoredChoiceOptions<Value>) {
    this.values = values;
    this.#key = key;
    this.#current = signal(this.#known(stored('localStorage', key)) ?? initial);
    this.#current.subscribe(apply);
  }

  get current(): ReadonlySignal<Value> {
    return this.#current;
  }

  /** Takes what a field has, if it is one of the values. */
  choose(text: string): void {
    const value = this.#known(text);
    if (value === undefined) return;
    this.#current.value = value;
    store('localStorage', this.#key, value);
  }

  #known(text: string | null): Value | undefined {
    return this.values.find((value) => value === text);
  }
}
