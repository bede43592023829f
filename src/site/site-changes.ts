import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { fault, faultWords } from '../domain/fault.js';
import type { RecordChange } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import type { SiteStoreRedis } from '../store/site/site-store.js';
import type { Actor, AuditAction, AuditEntry } from './audit-trail.js';
import type { Health } from './health/health.js';
import type { StoreHeadroom } from './health/store-headroom.js';
import { announce, noteConcerned, noteSite } from './site-announcements.js';
import type { SiteEvents } from './site-events.js';
import type { SiteModel } from './site-model.js';
import { StoreTurns } from './store-turns.js';

const RETRY_AFTER_MS = 500;
const MAX_LOGGED_IDS = 100;
/** How often a change is tried when another gateway changes the same site at the same moment. */
const MAX_ATTEMPTS = 10;

export interface SiteChangesOptions {
  readonly store: SiteStoreRedis;
  readonly model: SiteModel;
  readonly events: SiteEvents;
  readonly health: Pick<Health, 'report'>;
  readonly headroom: StoreHeadroom;
  readonly log: Logger;
  readonly now: () => number;
}

/** What a change does, and what the audit trail says about it. */
export interface PlannedChange<Result> {
  readonly action: AuditAction;
  readonly details: AuditEntry['details'];
  /** When it took effect; now unless given. */
  readonly atMs?: number | undefined;
  /** The audit trail names the first. */
  readonly records: readonly [RecordChange, ...RecordChange[]];
  readonly result: Result;
}

/**
 * The only writer of the site; it keeps the model equal to the store.
 *
 * One change at a time: checked against the model, stored with its audit entry in one atomic write, made in
 * the model, and announced. The write also checks that the store has had no other change: by a second
 * gateway, by an earlier write that got no answer, or by a restored backup. If it has, the site is read
 * again, and the change is checked again.
 *
 * The site is read at start, and again when a write without an answer did take effect. What has changed is
 * announced in the same way.
 */
export class SiteChanges {
  readonly #options: SiteChangesOptions;
  readonly #stopping = new AbortController();
  readonly #turns = new StoreTurns();
  #revision = 0;
  #isReloading = false;
  #isReloadWanted = false;

  constructor(options: SiteChangesOptions) {
    this.#options = options;
  }

  /** The revision of the site in memory. */
  get revision(): number {
    return this.#revision;
  }

  /** @throws GatewayError `store-unavailable` */
  async start(): Promise<void> {
    await this.#turns.take(() => this.#load());
  }

  /**
   * Makes one change, after the changes requested before it.
   *
   * @param plan checks the model and says what to change; called again after another gateway's change
   * @throws GatewayError what `plan` and the actor's precondition throw, with nothing changed;
   *   `store-unavailable`, and then it is unknown whether the change was made
   */
  make<Result>(actor: Actor, plan: () => PlannedChange<Result>): Promise<Result> {
    return this.#turns.take(async () => {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
        actor.precondition?.();
        const planned = plan();
        if (await this.#store(actor, planned)) return planned.result;
        await this.#load();
      }
      throw new GatewayError('store-unavailable', 'Another gateway keeps changing the site.');
    });
  }

  /** Requests a reload if the site has changed; it is made as soon as the store answers. */
  #requestReload(): void {
    this.#isReloadWanted = true;
    if (this.#isReloading) return;
    this.#isReloading = true;
    this.#reload().catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return;
      this.#options.log.error({ part: 'site', err: error }, 'failed to reload the site');
    });
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Stores the change, makes it in the model and announces it; false if others have changed the site. */
  async #store(
    actor: Actor,
    { action, details, atMs, records }: PlannedChange<unknown>,
  ): Promise<boolean> {
    const { store, model, events, headroom, now } = this.#options;
    if (!headroom.hasRoom() && records.some(({ before }) => before === undefined)) {
      throw new GatewayError(
        'store-unavailable',
        'The store is nearly full: it takes alarms only.',
      );
    }
    const [main] = records;
    const resourceId = (main.before ?? main.after)?.id ?? null;
    const locationId = locationOf(main);
    const entry = { action, actor, atMs: atMs ?? now(), locationId, resourceId, details };
    const isMade = await this.#answered(store.change(records, entry, this.#revision));
    if (!isMade) return false;
    this.#revision++;
    const before = noteConcerned(model, records);
    model.apply(records);
    announce(before, model, events);
    return true;
  }

  async #reload(): Promise<void> {
    const { log } = this.#options;
    while (this.#isReloadWanted) {
      this.#isReloadWanted = false;
      try {
        const isRead = await this.#turns.take(() => this.#loadIfChanged());
        if (isRead) log.info({ part: 'site' }, 'site reloaded');
      } catch (error) {
        log.warn({ part: 'site', err: error }, 'failed to reload the site, retrying');
        await delay(RETRY_AFTER_MS, undefined, { signal: this.#stopping.signal });
      }
    }
    this.#isReloading = false;
  }

  /** Checks first: a full store refuses one write after another, and none of them changes anything. */
  async #loadIfChanged(): Promise<boolean> {
    const revision = await this.#answered(this.#options.store.revision());
    if (revision === this.#revision) return false;
    await this.#load();
    return true;
  }

  async #load(): Promise<void> {
    const { store, model, events } = this.#options;
    const state = await this.#answered(store.load());
    const before = noteSite(model);
    model.load(state);
    this.#revision = state.revision;
    announce(before, model, events);
    this.#reportUnreadable([...state.unreadable]);
  }

  #reportUnreadable(all: readonly string[]): void {
    const { health, log } = this.#options;
    const count = all.length;
    const unreadable = count === 0 ? undefined : fault('recordsUnreadable', { count });
    health.report('site', unreadable);
    if (unreadable === undefined) return;
    const { message } = faultWords(unreadable, 'en');
    log.error(
      { fault: message, ids: all.slice(0, MAX_LOGGED_IDS), count },
      'stored site is inconsistent',
    );
  }

  /** Waits for the store; if it gives no answer, asks it later whether the site has changed. */
  async #answered<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await this.#turns.answered(answer);
    } catch (error) {
      this.#requestReload();
      throw error;
    }
  }
}

/** The location of the record before the change; of a new record, its location now. */
function locationOf({ kind, before, after }: RecordChange): string | null {
  if (kind === 'access-token') return null;
  if (kind === 'location') return (before ?? after)?.id ?? null;
  return (before ?? after)?.locationId ?? null;
}
