type Area = 'localStorage' | 'sessionStorage';

/** Reads a value that the browser stores; null if there is none, or if pages may not store anything. */
export function stored(area: Area, key: string): string | null {
  try {
    return globalThis[area].getItem(key);
  } catch {
    return null;
  }
}

/** Stores a value in the browser, null for none; if storage is forbidden or full, the value ends with the page. */
export function store(area: Area, key: string, value: string | null): void {
  try {
    if (value === null) globalThis[area].removeItem(key);
    else globalThis[area].setItem(key, value);
  } catch {
    // The caller has the value anyway.
  }
}
