import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { GatewayError } from '../errors.js';
import type { Actor, AuditEntry, AuditSubject, AuditTrail } from './audit-trail.js';
import { RefusalAllowance } from './refusal-allowance.js';
import { refusalDetails } from './refusal-details.js';

/** How long after a write that the store has refused it is tried again. */
const RETRY_AFTER_MS = 500;
/** So many in one call: it holds the store up for a millisecond or two. */
const MAX_BATCH = 100;

/** What somebody known asked for and has no grant for. */
export interface RefusedPermission {
  readonly subject: AuditSubject;
  readonly details: AuditEntry['details'];
}

export interface PermissionRefusalsOptions {
  readonly audit: AuditTrail;
  /** The same, but waits for the store as long as it takes. */
  readonly patientAudit: AuditTrail;
  readonly log: Logger;
  readonly now: () => number;
  /** By which is measured how often somebody is refused. */
  readonly steadyNow: () => number;
}

/**
 * Puts every refused permission into the audit trail, each as a record of its own, before anybody is
 * told of it. Whoever asks so often that the store would fill up with his refusals is told nothing of
 * permissions any more, but to wait; nothing that is permitted comes by here.
 */
export class PermissionRefusals {
  readonly #options: PermissionRefusalsOptions;
  readonly #allowance: RefusalAllowance;
  #turnedAwayCount = 0;

  constructor(options: PermissionRefusalsOptions) {
    this.#options = options;
    this.#allowance = new RefusalAllowance(options.steadyNow);
  }

  /** How many requests and packets were not told that they are refused, but to wait, since the start. */
  get turnedAwayCount(): number {
    return this.#turnedAwayCount;
  }

  /**
   * Resolves once all of them are stored: only then may the actor be told.
   *
   * @param refused what one request or packet was refused, a thousand at most
   * @throws GatewayError `store-unavailable`, some of them may be stored; `too-many-refusals` with how
   *   long to wait, none of them is
   */
  async record(actor: Actor, refused: readonly RefusedPermission[]): Promise<void> {
    for (const batch of this.#batches(actor, refused)) await this.#options.audit.record(batch);
  }

  /**
   * The same for an actor who can wait for it: it is tried again until the store takes it.
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
        if (attempt === 1) log.warn({ err: error }, 'refusals not written down, trying again');
      }
      await pause(RETRY_AFTER_MS);
    }
  }

  /** They are counted when this returns, whether or not they can be written. */
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

/** A principal whatever his address; of those who are not known, as with footage URLs, the address. */
function ownerOf({ type, id, address }: Actor): string {
  return JSON.stringify([type, id ?? address]);
}
