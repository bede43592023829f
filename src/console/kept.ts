/** Values that this browser keeps for the console, also when pages may store nothing: then they end with the page. */

import { type Signal, signal } from '@preact/signals';

type Area = 'localStorage' | 'sessionStorage';

/** Reads a value; null if there is none, or if pages may not store anything. */
export function stored(area: Area, key: string): string | null {
  try {
    return globalThis[area].getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a value, null for none. */
export function store(area: Area, key: string, value: string | null): void {
  try {
    if (value === null) globalThis[area].removeItem(key);
    else globalThis[area].setItem(key, value);
  } catch {
    // The caller has the value anyway.
  }
}

/** One of several values, chosen by the user for this device. */
export class StoredChoice<Value extends string> {
  readonly values: readonly Value[];
  readonly current: Signal<Value>;
  readonly #key: string;

  /** @param initial the value while nothing is chosen */
  constructor(key: string, values: readonly Value[], initial: NoInfer<Value>) {
    this.values = values;
    this.current = signal(initial);
    this.#key = key;
  }

  /** Takes the value that was chosen before, and calls back with it now and after each change. */
  restore(apply: (value: Value) => void): void {
    this.current.value = this.#known(stored('localStorage', this.#key)) ?? this.current.peek();
    this.current.subscribe(apply);
  }

  /** Takes the text of a field, if it is one of the values. */
  choose(text: string): void {
    const value = this.#known(text);
    if (value === undefined) return;
    this.current.value = value;
    store('localStorage', this.#key, value);
  }

  #known(text: string | null): Value | undefined {
    return this.values.find((value) => value === text);
  }
}

/** Light, dark, or the device's setting. */
export const themeChoice = new StoredChoice(
  'care-home-gateway.theme',
  ['auto', 'light', 'dark'],
  'auto',
);
