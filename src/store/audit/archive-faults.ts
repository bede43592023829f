import type { Logger } from 'pino';
import type { Health } from '../../site/health.js';

const FAULT = 'audit';
const CANNOT_LOAD =
  'The directory of the audit trail cannot be read: pages come without the archived records.';

/**
 * Reports faults of the audit archive, each logged once per outage.
 *
 * Alarms are forwarded as before, so none of these makes the gateway unready.
 */
export class AuditArchiveFaults {
  readonly #health: Health;
  readonly #log: Logger;
  /** Files that could not be read when they were last looked at. */
  readonly #unreadable = new Set<string>();
  /** Drafts that could not be removed, each logged once. */
  readonly #drafts = new Set<string>();
  #cannotWrite = false;
  #cannotLoad = false;

  constructor(health: Health, log: Logger) {
    this.#health = health;
    this.#log = log;
  }

  cannotWrite(error: unknown): void {
    if (!this.#cannotWrite) {
      this.#log.error({ err: error }, 'failed to move audit records to the disk, retrying');
    }
    this.#cannotWrite = true;
    this.#report();
  }

  canWrite(): void {
    this.#cannotWrite = false;
    this.#report();
  }

  /** Reports that a directory cannot be read: the archived records are unknown. */
  cannotLoad(error: unknown): void {
    if (!this.#cannotLoad) {
      this.#log.error({ err: error }, 'failed to read the directory of the audit trail');
    }
    this.#cannotLoad = true;
    this.#report();
  }

  loaded(): void {
    this.#cannotLoad = false;
    this.#report();
  }

  cannotRemoveDraft(path: string, error: unknown): void {
    if (this.#drafts.has(path)) return;
    this.#drafts.add(path);
    this.#log.warn({ err: error, path }, 'failed to remove a draft of the audit trail');
  }

  cannotRead(path: string, error: unknown): void {
    if (!this.#unreadable.has(path)) {
      this.#log.error({ err: error, path }, 'failed to read a file of the audit trail');
    }
    this.#unreadable.add(path);
    this.#report();
  }

  /** The file can be read, or is gone. */
  readable(path: string): void {
    if (this.#unreadable.delete(path)) this.#report();
  }

  #report(): void {
    const faults = [
      ...(this.#cannotWrite ? ['Audit records cannot be moved to the disk.'] : []),
      ...(this.#cannotLoad ? [CANNOT_LOAD] : []),
      ...(this.#unreadable.size > 0
        ? [`Files of the audit trail cannot be read: ${this.#unreadable.size}.`]
        : []),
    ];
    this.#health.reportElsewhere(FAULT, faults.length === 0 ? undefined : faults.join(' '));
  }
}
