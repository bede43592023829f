import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { GatewayError } from '../errors.js';
import type { Actor, AuditEntry, AuditSubject, AuditTrail } from './audit-trail.js';
import { RefusalAllowance } from './refusal-allowance.js';
import { refusalDetails } from './refusal-details.js';

/** Pause after a write that the store has refused. */
const RETRY_AFTER_MS = 500;
/** Records in one call, which holds the store up for a millisecond or two. */
const MAX_BATCH = 100;

/** A denied operation of a known principal. */
export interface RefusedPermission {
  readonly subject: AuditSubject;
  readonly details: AuditEntry['details'];
}

export interface PermissionRefusalsOptions {
  readonly audit: AuditTrail;
  /** Like `audit`, but waits for the store as long as it takes. */
  readonly patientAudit: AuditTrail;
  readonly log: Logger;
  readonly now: () => number;
  /** Measures how often a principal is denied. */
  readonly steadyNow: () => number;
}

/**
 * Records every denied permission in the audit trail, each as a record of its own, before the answer
 * goes out. A principal that asks so often that denials would fill the store is no longer answered
 * about permissions, but asked to wait. Permitted requests do not pass through here.
 */
export class PermissionRefusals {
  readonly #options: PermissionRefusalsOptions;
  readonly #allowance: RefusalAllowance;
  #turnedAwayCount = 0;

  constructor(options: PermissionRefusalsOptions) {
    this.#options = options;
    this.#allowance = new RefusalAllowance(options.steadyNow);
  }

  /** Number of requests and packets that were asked to wait instead of denied, since the start. */
  get turnedAwayCount(): number {
    return this.#turnedAwayCount;
  }

  /**
   * Resolves once all denials are stored: only then may the answer go out.
   *
   * @param refused what one request or packet was refused, a thousand at most
   * @throws GatewayError `store-unavailable`, some of them may be stored; `too-many-refusals` with how
   *   long to wait, none of them is
   */
  async record(actor: Actor, refused: readonly RefusedPermission[]): Promise<void> {
    for (const batch of this.#batches(actor, refused)) await this.#options.audit.record(batch);
  }

  /**
   * Like `record`, for an actor who can wait: retried until the store takes the denials.
   *
   * @param isOver whether he has gone
   * @throws GatewayError `store-unavailable` when he has; `too-many-refusals`
   */
  async recordPatiently(
    actor: Actor,
    refused: readonly RefusedPermission[],
    isOver: () => boolean,
  ): Promise<void> {
    for (const batch of this.#batches(actor, refused)) await this.#store(batch, isOver);
  }

  async #store(entries: readonly AuditEntry[], isOver: () => boolean): Promise<void> {
    const { patientAudit, log } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        await patientAudit.record(entries);
        return;
      } catch (error) {
        if (isOver()) throw error;
        if (attempt === 1) log.warn({ err: error }, 'failed to record denials, trying again');
      }
      await pause(RETRY_AFTER_MS);
    }
  }

  /** Counts the denials against the allowance, whether or not they can be written. */
  #batches(actor: Actor, refused: readonly RefusedPermission[]): readonly AuditEntry[][] {
    this.#take(actor, refused.length);
    const atMs = this.#options.now();
    const entries = refused.map(({ subject, details }): AuditEntry => {
      return {
        action: 'permission.refused',
        actor,
        atMs,
        ...subject,
        details: refusalDetails(details),
      };
    });
    const batches: AuditEntry[][] = [];
    for (let from = 0; from < entries.length; from += MAX_BATCH) {
      batches.push(entries.slice(from, from + MAX_BATCH));
    }
    return batches;
  }

  #take(actor: Actor, count: number): void {
    const excess = this.#allowance.take(ownerOf(actor), count);
    if (excess === undefined) return;
    this.#turnedAwayCount++;
    const { type, id, address } = actor;
    if (excess.isNews) this.#options.log.warn({ type, id, address }, 'refused too much: must wait');
    throw new GatewayError('too-many-refusals', 'Too much of this was refused; wait.', {
      retryAfterMs: excess.waitMs,
    });
  }
}

/** The principal, whatever his address; for an unknown one, as with footage URLs, the address. */
function ownerOf({ type, id, address }: Actor): string {
  return JSON.stringify([type, id ?? address]);
}
