import type { Logger } from 'pino';
import type { AuditAction } from './audit-trail.js';
import type { Health } from './health.js';

/** For how long after the last one it is told of as a fault. */
const TOLD_FOR_MS = 3_600_000;
const FAULT = 'audit';

/**
 * Tells that records fall out of the audit trail before their time, because there are too many of one
 * action: whoever wants to hide what he did must not be able to push it out unseen.
 */
export class AuditOverflow {
  readonly #health: Health;
  readonly #log: Logger;
  readonly #counts = new Map<AuditAction, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(health: Health, log: Logger) {
    this.#health = health;
    this.#log = log;
  }

  /** How many there were since the start, by action. */
  get counts(): ReadonlyMap<AuditAction, number> {
    return this.#counts;
  }

  add(action: AuditAction, count: number): void {
    if (this.#timer === undefined) {
      this.#log.error({ action }, 'audit records fall out before their time: there are too many');
    }
    this.#counts.set(action, (this.#counts.get(action) ?? 0) + count);
    // The gateway forwards as before: it is as ready as it was.
    this.#health.reportElsewhere(FAULT, 'Audit records fall out before their time: too many.');
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end(), TOLD_FOR_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #end(): void {
    this.#timer = undefined;
    this.#health.reportElsewhere(FAULT, undefined);
  }
}
