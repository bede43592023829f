type Area = 'localStorage' | 'sessionStorage';

/** Reads what a browser keeps; null when there is nothing, or when it forbids pages to keep anything. */
export function stored(area: Area, key: string): string | null {
  try {
    return globalThis[area].getItem(key);
  } catch {
    return null;
  }
}

/** Has the browser keep a value, null for none; where it must not, or is full, the value ends with the page. */
export function store(area: Area, key: string, value: string | null): void {
  try {
    if (value === null) globalThis[area].removeItem(key);
    else globalThis[area].setItem(key, value);
  } catch {
    // What needs the value has it.
  }
}
