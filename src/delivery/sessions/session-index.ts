import type { Session } from './session.js';

/** All sessions by key and by owner. */
export class SessionIndex<S extends Session> {
  readonly #byKey = new Map<string, S>();
  readonly #byOwner = new Map<string, Set<S>>();

  get size(): number {
    return this.#byKey.size;
  }

  add(session: S): void {
    this.#byKey.set(session.key, session);
    addTo(this.#byOwner, session.owner.key, session);
  }

  remove(session: S): void {
    if (!this.has(session)) return;
    this.#byKey.delete(session.key);
    removeFrom(this.#byOwner, session.owner.key, session);
  }

  get(key: string): S | undefined {
    return this.#byKey.get(key);
  }

  /** Whether this is the current session of its key. */
  has(session: S): boolean {
    return this.#byKey.get(session.key) === session;
  }

  all(): Iterable<S> {
    return this.#byKey.values();
  }

  /** @param owner `principalKey` */
  ofOwner(owner: string): readonly S[] {
    return [...(this.#byOwner.get(owner) ?? [])];
  }
}

function addTo<S>(index: Map<string, Set<S>>, key: string, session: S): void {
  const sessions = index.get(key) ?? new Set();
  index.set(key, sessions.add(session));
}

function removeFrom<S>(index: Map<string, Set<S>>, key: string, session: S): void {
  const sessions = index.get(key);
  sessions?.delete(session);
  if (sessions?.size === 0) index.delete(key);
}
