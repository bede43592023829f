import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { store, stored } from './kept-values.js';

interface StoredChoiceOptions<Value extends string> {
  /** The key in the storage of the device. */
  readonly key: string;
  readonly values: readonly Value[];
  /** The value while nothing is chosen. */
  readonly initial: Value;
  /** Applies the value, immediately and on every change. */
  readonly apply: (value: Value) => void;
}

/** One of several values, chosen by the user for this device. */
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

  /** Takes the text of a field, if it is one of the values. */
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
