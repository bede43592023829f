import { computed, type ReadonlySignal, signal } from '@preact/signals';

/** A place in the console: `#/history?kinds=fall` has the path `/history` and a query. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

/**
 * The place in the console, which comes after the `#` of the address.
 *
 * A server never sees that part: no path of the console can be mistaken for a path of the HTTP interface, and
 * a secret in it reaches no log.
 */
export class Routing {
  readonly #hash = signal(location.hash);
  readonly place: ReadonlySignal<Place> = computed(() => parsePlace(this.#hash.value));

  constructor() {
    addEventListener('hashchange', () => {
      this.#hash.value = location.hash;
    });
  }

  /** Goes to the place; the browser's back button returns. */
  go(path: string, query?: Readonly<Record<string, string>>): void {
    location.hash = hrefTo(path, query);
  }

  /** Replaces the current place, which the back button then skips. */
  replace(path: string, query?: Readonly<Record<string, string>>): void {
    history.replaceState(null, '', hrefTo(path, query));
    this.#hash.value = location.hash;
  }
}

/** The page of a path: `home` for `/home/rooms`; the rest is a place within it. */
export function pageOf(path: string): string {
  return path.split('/')[1] ?? '';
}

/** The `href` of a link to a place in the console. */
export function hrefTo(path: string, query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(query).toString();
  return search === '' ? `#${path}` : `#${path}?${search}`;
}

function parsePlace(hash: string): Place {
  const [path = '', search = ''] = hash.replace(/^#/, '').split('?', 2);
  return { path: path === '' ? '/' : path, query: new URLSearchParams(search) };
}
