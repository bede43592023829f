import type { Logger } from 'pino';
import type { AuditEntry } from './audit-trail.js';
import type { BridgeFingerprints } from './bridge-changes.js';
import { bridgeChanges } from './bridge-changes.js';
import { pause } from './pause.js';

const RETRY_AFTER_MS = 500;

/** Where it is kept which bridges there were. */
export interface BridgeRegisterStore {
  /** @throws GatewayError `store-unavailable` */
  load(): Promise<BridgeFingerprints>;
  /**
   * Writes down which bridges there are, and what has changed, in one.
   *
   * @throws GatewayError `store-unavailable`
   */
  replace(bridges: BridgeFingerprints, changes: readonly AuditEntry[]): Promise<void>;
}

/**
 * Knows which bridges there were, also before the gateway started, and writes down in the audit trail
 * what has become of them: somebody may have changed the file while it was stopped. Bridges do not
 * wait for it; while the store is away it tries again, and a stop leaves the rest to the next start.
 */
export class BridgeRegister {
  readonly #store: BridgeRegisterStore;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #stopping = new AbortController();
  #noting: Promise<void> = Promise.resolve();

  constructor(store: BridgeRegisterStore, log: Logger, now: () => number) {
    this.#store = store;
    this.#log = log;
    this.#now = now;
  }

  /** From now on there are these. */
  note(bridges: BridgeFingerprints): void {
    const atMs = this.#now();
    this.#noting = this.#noting.then(() => this.#write(bridges, atMs));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#noting;
  }

  async #write(bridges: BridgeFingerprints, atMs: number): Promise<void> {
    for (let attempt = 1; !this.#stopping.signal.aborted; attempt++) {
      try {
        // Read again each time: a write that got no answer may have been made.
        const changes = bridgeChanges(await this.#store.load(), bridges, atMs);
        if (changes.length > 0) await this.#store.replace(bridges, changes);
        return;
      } catch (error) {
        if (attempt === 1) this.#log.warn({ err: error }, 'bridges not written down, trying again');
        await pause(RETRY_AFTER_MS, this.#stopping.signal);
      }
    }
  }
}
