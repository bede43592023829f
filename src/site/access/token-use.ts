import type { Logger } from 'pino';

/** Stores when access tokens were last used, across restarts. */
export interface TokenUseStore {
  /** Id of the token → milliseconds since 1970. */
  load(): Promise<ReadonlyMap<string, number>>;
  save(usedAtMs: ReadonlyMap<string, number>): Promise<void>;
}

/** When access tokens were last used, so that people can find forgotten ones. */
export class TokenUse {
  readonly #store: TokenUseStore;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #usedAtMs = new Map<string, number>();
  readonly #unsaved = new Map<string, number>();

  constructor(store: TokenUseStore, log: Logger, now: () => number) {
    this.#store = store;
    this.#log = log;
    this.#now = now;
  }

  /** @throws GatewayError `store-unavailable` */
  async load(): Promise<void> {
    for (const [id, atMs] of await this.#store.load()) this.#usedAtMs.set(id, atMs);
  }

  note(id: string): void {
    const nowMs = this.#now();
    this.#usedAtMs.set(id, nowMs);
    this.#unsaved.set(id, nowMs);
  }

  /** Null: never. */
  lastUsedAtMs(id: string): number | null {
    return this.#usedAtMs.get(id) ?? null;
  }

  /** Saves what was noted since the last save; never throws, because the next save is soon enough. */
  async save(): Promise<void> {
    if (this.#unsaved.size === 0) return;
    const saved = new Map(this.#unsaved);
    this.#unsaved.clear();
    try {
      await this.#store.save(saved);
    } catch (error) {
      for (const [id, atMs] of saved) {
        if (!this.#unsaved.has(id)) this.#unsaved.set(id, atMs);
      }
      this.#log.warn({ part: 'access tokens', err: error }, 'failed to save when tokens were used');
    }
  }
}
