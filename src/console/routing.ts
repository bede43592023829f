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

  /** Questions to answer before the place is left. */
  readonly #questions = new Set<string>();

  constructor() {
    addEventListener('hashchange', () => {
      if (location.hash === this.#hash.peek()) return;
      if (this.mayLeave()) this.#hash.value = location.hash;
      else history.replaceState(null, '', this.#hash.peek());
    });
    addEventListener('beforeunload', (event) => {
      if (this.#questions.size > 0) event.preventDefault();
    });
  }

  /** Goes to the place without asking; the browser's back button returns. */
  go(path: string, query?: Readonly<Record<string, string>>): void {
    location.hash = hrefTo(path, query);
    this.#hash.value = location.hash;
  }

  /**
   * Asks before the user leaves the place by a link, the back button or otherwise.
   *
   * @returns a function that ends it
   */
  keep(question: string): () => void {
    this.#questions.add(question);
    return () => this.#questions.delete(question);
  }

  /** Asks what is to be asked. @returns whether the user may leave */
  mayLeave(): boolean {
    return [...this.#questions].every((question) => confirm(question));
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
