import type { Logger } from 'pino';
import { warning } from '../../domain/faults.js';
import type { Health } from '../../site/health.js';

const SOURCE = 'audit';
const CANNOT_WRITE = 'Audit records cannot be moved to the disk.';
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
  readonly #current = new Set<string>();
  /** Files that could not be read when they were last looked at. */
  readonly #unreadable = new Set<string>();

  constructor(health: Health, log: Logger) {
    this.#health = health;
    this.#log = log;
  }

  cannotWrite(err: unknown): void {
    if (!this.#begins(this.#current, CANNOT_WRITE)) return;
    this.#log.error({ err }, 'failed to move audit records to the disk, retrying');
  }

  canWrite(): void {
    if (this.#current.delete(CANNOT_WRITE)) this.#report();
  }

  /** Reports that the directory cannot be read: the archived records are unknown. */
  cannotLoad(err: unknown): void {
    if (!this.#begins(this.#current, CANNOT_LOAD)) return;
    this.#log.error({ err }, 'failed to read the directory of the audit trail');
  }

  loaded(): void {
    if (this.#current.delete(CANNOT_LOAD)) this.#report();
  }

  cannotRead(path: string, err: unknown): void {
    if (!this.#begins(this.#unreadable, path)) return;
    this.#log.error({ err, path }, 'failed to read a file of the audit trail');
  }

  /** The file can be read, or is gone. */
  readable(path: string): void {
    if (this.#unreadable.delete(path)) this.#report();
  }

  /** Whether this fault is a new one; reports it then. */
  #begins(faults: Set<string>, fault: string): boolean {
    if (faults.has(fault)) return false;
    faults.add(fault);
    this.#report();
    return true;
  }

  #report(): void {
    const faults = [CANNOT_WRITE, CANNOT_LOAD].filter((fault) => this.#current.has(fault));
    const { size } = this.#unreadable;
    if (size > 0) faults.push(`Files of the audit trail cannot be read: ${size}.`);
    const fault = warning('audit-archive-failing', faults.join(' '));
    this.#health.report(SOURCE, faults.length === 0 ? undefined : fault);
  }
}
