import type { Logger } from 'pino';
import { type AuditAction, type AuditEntry, GATEWAY_ACTOR } from './audit-trail.js';
import { pause } from './pause.js';

const RETRY_AFTER_MS = 500;

/** Name of a bridge → digest of its configuration, which reveals only changes. */
export type BridgeFingerprints = ReadonlyMap<string, string>;

/** Stores which bridges were configured. */
export interface BridgeRegisterStore {
  /** @throws GatewayError `store-unavailable` */
  load(): Promise<BridgeFingerprints>;
  /**
   * Stores the configured bridges with the audit entries of the changes.
   *
   * @throws GatewayError `store-unavailable`
   */
  replace(bridges: BridgeFingerprints, changes: readonly AuditEntry[]): Promise<void>;
}

/**
 * Records in the audit trail which bridges were added, changed or removed.
 *
 * Changes made while the gateway was stopped count: the file may have been edited then. Bridges do not
 * wait for the record; while the store is away the register retries, and a stop leaves the rest to the
 * next start.
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

  /** Notes the bridges that are configured from now on. */
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
        // The register is read again each time, as a write without an answer may have been made.
        const changes = bridgeChanges(await this.#store.load(), bridges, atMs);
        if (changes.length > 0) await this.#store.replace(bridges, changes);
        return;
      } catch (error) {
        if (attempt === 1) this.#log.warn({ err: error }, 'failed to record bridges, retrying');
        await pause(RETRY_AFTER_MS, this.#stopping.signal);
      }
    }
  }
}

/**
 * Audit entries of a changed list of bridges, by name only: credentials and URLs stay in the file.
 */
function bridgeChanges(
  before: BridgeFingerprints,
  after: BridgeFingerprints,
  atMs: number,
): AuditEntry[] {
  const entry = (action: AuditAction, name: string): AuditEntry => ({
    ...{ action, actor: GATEWAY_ACTOR, atMs },
    ...{ locationId: null, resourceId: name, details: {} },
  });
  const removed = [...before.keys()].filter((name) => !after.has(name));
  const present = [...after].flatMap(([name, fingerprint]) => {
    const known = before.get(name);
    if (known === undefined) return entry('bridge.created', name);
    return known === fingerprint ? [] : entry('bridge.changed', name);
  });
  return [...removed.map((name) => entry('bridge.removed', name)), ...present];
}
