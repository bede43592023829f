import type { Logger } from 'pino';
import type { Health } from '../../site/health.js';

const FAULT = 'audit';
const CANNOT_LOAD =
  'The directory of the audit trail cannot be read: pages come without the archived records.';

/**
 * Tells what is wrong with the archive of the audit trail, once each time. Alarms are forwarded as
 * before: the gateway is as ready as it was.
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
      this.#log.error({ err: error }, 'audit records cannot be moved to the disk, trying again');
    }
    this.#cannotWrite = true;
    this.#report();
  }

  canWrite(): void {
    this.#cannotWrite = false;
    this.#report();
  }

  /** A directory cannot be read: what is archived is unknown. */
  cannotLoad(error: unknown): void {
    if (!this.#cannotLoad) {
      this.#log.error({ err: error }, 'the directory of the audit trail cannot be read');
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
    this.#log.warn({ err: error, path }, 'a draft of the audit trail cannot be removed');
  }

  cannotRead(path: string, error: unknown): void {
    if (!this.#unreadable.has(path)) {
      this.#log.error({ err: error, path }, 'a file of the audit trail cannot be read');
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
