import type { Logger } from 'pino';
import type { Health } from '../../site/health.js';

const FAULT = 'audit';

/**
 * Tells what is wrong with the archive of the audit trail, once each time. Alarms are forwarded as
 * before: the gateway is as ready as it was.
 */
export class AuditArchiveFaults {
  readonly #health: Health;
  readonly #log: Logger;
  /** Files that could not be read when they were last looked at. */
  readonly #unreadable = new Set<string>();
  #cannotWrite = false;

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

  cannotRead(path: string, error: unknown): void {
    if (!this.#unreadable.has(path)) {
      this.#log.error({ err: error, path }, 'a file of the audit trail cannot be read');
    }
    this.#unreadable.add(path);
    this.#report();
  }

  /** It can be read, or is not there any more. */
  readable(path: string): void {
    if (this.#unreadable.delete(path)) this.#report();
  }

  #report(): void {
    const faults = [
      ...(this.#cannotWrite ? ['Audit records cannot be moved to the disk.'] : []),
      ...(this.#unreadable.size > 0
        ? [`Files of the audit trail cannot be read: ${this.#unreadable.size}.`]
        : []),
    ];
    this.#health.reportElsewhere(FAULT, faults.length === 0 ? undefined : faults.join(' '));
  }
}
