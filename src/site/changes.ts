/**
 * Changes of the site: one at a time, checked against the model, stored with their audit record in one atomic write, made
 * in the model, and announced.
 *
 * The model stays equal to the store. A write also checks that the store has had no other change: by a second gateway, by
 * an earlier write that got no answer, or by a restored backup. If it has, the site is read again and the change is
 * checked again. After a write without an answer the site is read again if the write did take effect; what has changed is
 * announced in the same way.
 */
import type { Logger } from 'pino';
import { fault, faultWords } from '../domain/fault.js';
import { principalKey } from '../domain/grants.js';
import type {
  AccessToken,
  Device,
  RecordChange,
  RecordKind,
  RecordOfKind,
} from '../domain/site.js';
import { formatTime } from '../domain/time.js';
import { GatewayError } from '../errors.js';
import { inTurn } from '../releasers.js';
import type { SiteStoreRedis } from '../store/site/site-store.js';
import type { Actor, AuditAction, AuditEntry } from './audit-trail.js';
import type { Health } from './health/health.js';
import type { StoreHeadroom } from './health/store-headroom.js';
import type { SiteModel } from './site-model.js';

const RETRY_AFTER_MS = 500;
const MAX_LOGGED_IDS = 100;
/** How often a change is tried when another gateway changes the same site at the same moment. */
const MAX_ATTEMPTS = 10;

/** What the audit trail shows of a new or deleted record. Never a secret, nor custom data. */
const SHOWN = ['name', 'groupId', 'roomId', 'grants', 'expiresAt', 'networks'] as const;
/** What it shows of a change, each with `previous…`. */
const SHOWN_CHANGES = [...SHOWN, 'locationId', 'silentAfterSeconds'] as const;

type Details = AuditEntry['details'];

/** Changes of the site for other parts to act on. */
interface Subjects {
  /** The credential of this principal (`principalKey`) is no longer valid. */
  readonly credentialEnded: string;
  /** The principal (`principalKey`) is gone; its sessions and messages go too. */
  readonly principalRemoved: string;
  /** The access token with this id was changed or deleted. */
  readonly tokenChanged: string;
  /** The device as it was before it was deleted. */
  readonly deviceDeleted: Device;
  /** A device has moved to another location. */
  readonly deviceMoved: { readonly before: Device; readonly after: Device };
  /**
   * Messages describe this device differently from now on: its custom data, name or room has changed, or the name or
   * group of its place. Not emitted for a move to another location.
   */
  readonly deviceChanged: string;
}

export interface SiteChangesOptions {
  readonly store: SiteStoreRedis;
  readonly model: SiteModel;
  readonly health: Pick<Health, 'report'>;
  readonly headroom: StoreHeadroom;
  readonly log: Logger;
  readonly now: () => number;
}

/** A change that was checked: its records, of which the audit trail names the first, and details besides their fields. */
interface Planned {
  readonly records: readonly [RecordChange, ...RecordChange[]];
  readonly details?: Details;
}

/** The only writer of the site. */
export class SiteChanges {
  readonly #options: SiteChangesOptions;
  readonly #turns = new StoreTurns();
  readonly #listeners: {
    readonly [Name in keyof Subjects]: ((subject: Subjects[Name]) => void)[];
  } = {
    credentialEnded: [],
    principalRemoved: [],
    tokenChanged: [],
    deviceDeleted: [],
    deviceMoved: [],
    deviceChanged: [],
  };
  #revision = 0;
  #reload: NodeJS.Timeout | undefined;
  #isStopped = false;

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

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#reload);
  }

  on<Name extends keyof Subjects>(name: Name, listener: (subject: Subjects[Name]) => void): void {
    this.#listeners[name].push(listener);
  }

  /**
   * Tells other parts, each by itself: one that throws must not make a stored change fail, nor keep the others from an
   * ended credential.
   */
  emit<Name extends keyof Subjects>(name: Name, subject: Subjects[Name]): void {
    for (const listener of this.#listeners[name]) {
      try {
        listener(subject);
      } catch (err) {
        this.#options.log.error({ err }, 'failed to act on a change of the site');
      }
    }
  }

  /** Adds the record that `make` returns, unless it throws. @throws GatewayError as `change` */
  create<K extends RecordKind>(
    actor: Actor,
    kind: K,
    make: () => RecordOfKind[K],
  ): Promise<RecordOfKind[K]> {
    return this.change(actor, `${kind}.created`, () => {
      const after = make();
      return { records: [{ kind, before: undefined, after }], result: after };
    });
  }

  /**
   * Changes a record.
   *
   * @param edit gets the present record, and returns the new one; `details` come besides the changed fields
   * @throws GatewayError as `change`
   */
  edit<K extends RecordKind>(
    actor: Actor,
    [kind, action]: readonly [K, AuditAction],
    find: () => RecordOfKind[K],
    edit: (before: RecordOfKind[K]) => RecordOfKind[K],
    details: (before: RecordOfKind[K]) => Details = () => ({}),
  ): Promise<RecordOfKind[K]> {
    return this.change(actor, action, () => {
      const before = find();
      const after = edit(before);
      return { records: [{ kind, before, after }], details: details(before), result: after };
    });
  }

  /** Deletes the record that `find` returns, with what goes with it. @throws GatewayError as `change` */
  remove<K extends RecordKind>(
    actor: Actor,
    kind: K,
    find: () => RecordOfKind[K],
    within: () => {
      readonly records: readonly RecordChange[];
      readonly details: Details;
    } = () => ({
      records: [],
      details: {},
    }),
  ): Promise<void> {
    return this.change(actor, `${kind}.deleted`, () => {
      const before = find();
      const { records, details } = within();
      const main = { kind, before, after: undefined };
      return { records: [main, ...records], details, result: undefined };
    });
  }

  /**
   * Makes one change, after the changes requested before it.
   *
   * @param plan checks the model and says what to change; called again after another gateway's change
   * @throws GatewayError what `plan` and the actor's precondition throw, with nothing changed; `store-unavailable`, and
   *   then it is unknown whether the change was made
   */
  change<Result>(
    actor: Actor,
    action: AuditAction,
    plan: () => Planned & { readonly result: Result },
  ): Promise<Result> {
    return this.#turns.take(async () => {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
        actor.precondition?.();
        const planned = plan();
        if (await this.#store(actor, action, planned)) return planned.result;
        await this.#load();
      }
      throw new GatewayError('store-unavailable', 'Another gateway keeps changing the site.');
    });
  }

  /** Stores the change, makes it in the model and announces it; false if others have changed the site. */
  async #store(actor: Actor, action: AuditAction, { records, details }: Planned): Promise<boolean> {
    const { store, model, headroom, now } = this.#options;
    if (!headroom.hasRoom() && records.some(({ before }) => before === undefined)) {
      throw new GatewayError(
        'store-unavailable',
        'The store is nearly full: it takes alarms only.',
      );
    }
    const [main] = records;
    const locationId = locationOf(main);
    const entry = {
      action,
      actor,
      atMs: now(),
      locationId,
      resourceId: (main.before ?? main.after)?.id ?? null,
      details: { ...detailsOf(main), ...details },
    };
    if (!(await this.#answered(store.change(records, entry, this.#revision)))) return false;
    this.#revision++;
    const concerned = locationId === null ? [] : model.devicesOf(locationId);
    this.#apply(concerned, () => model.apply(records));
    return true;
  }

  async #load(): Promise<void> {
    const { store, model } = this.#options;
    const state = await this.#answered(store.load());
    this.#revision = state.revision;
    this.#apply(model.devices(), () => model.load(state));
    this.#reportUnreadable([...state.unreadable]);
  }

  /** Makes a stored change in the model, and announces what has become of these devices, and of the tokens. */
  #apply(devices: readonly Device[], make: () => void): void {
    const { model } = this.#options;
    const before = devices.map((device) => [device, model.context(device.id)?.text] as const);
    const tokens = model.accessTokens();
    make();
    for (const [device, text] of before) this.#announceDevice(device, text);
    for (const token of tokens) this.#announceToken(token);
  }

  /** @param text of its context before */
  #announceDevice(before: Device, text: string | undefined): void {
    const { model } = this.#options;
    const after = model.device(before.id);
    const principal = principalKey({ type: 'device', id: before.id });
    const isRemoved = after === undefined && !model.isUnreadable(principal);
    // Before its connections end: it must still be known that it was online.
    if (isRemoved) this.emit('deviceDeleted', before);
    if (after?.secretHash !== before.secretHash) this.emit('credentialEnded', principal);
    if (isRemoved) this.emit('principalRemoved', principal);
    if (after === undefined) return;
    if (after.locationId !== before.locationId) this.emit('deviceMoved', { before, after });
    else if (model.context(after.id)?.text !== text) this.emit('deviceChanged', after.id);
  }

  #announceToken(before: AccessToken): void {
    const { model } = this.#options;
    const after = model.accessToken(before.id);
    const principal = principalKey({ type: 'token', id: before.id, grants: before.grants });
    if (after !== before) this.emit('tokenChanged', before.id);
    const isElsewhere = after?.networks?.join() !== before.networks?.join();
    if (isElsewhere || after?.tokenHash !== before.tokenHash) {
      this.emit('credentialEnded', principal);
    }
    if (after !== undefined || model.isUnreadable(principal)) return;
    this.emit('principalRemoved', principal);
  }

  /** Waits for the store; if it gives no answer, asks it later whether the site has changed. */
  async #answered<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await this.#turns.answered(answer);
    } catch (error) {
      this.#reloadLater();
      throw error;
    }
  }

  #reloadLater(): void {
    if (this.#isStopped) return;
    this.#reload ??= setTimeout(() => {
      this.#reload = undefined;
      this.#turns
        .take(() => this.#loadIfChanged())
        .catch((err: unknown) => {
          this.#options.log.warn({ part: 'site', err }, 'failed to reload the site, retrying');
          this.#reloadLater();
        });
    }, RETRY_AFTER_MS);
  }

  /** Asks first: a full store refuses one write after another, and none of them changes anything. */
  async #loadIfChanged(): Promise<void> {
    const revision = await this.#answered(this.#options.store.revision());
    if (revision === this.#revision) return;
    await this.#load();
    this.#options.log.info({ part: 'site' }, 'site reloaded');
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
}

/**
 * Makes calls to the store one after another, in the order in which they were requested.
 *
 * When the store does not answer a call, the calls that wait behind it fail too: each would wait just as long, in vain.
 */
export class StoreTurns {
  readonly #inTurn = inTurn();
  /** Counts how often the store gave no answer. */
  #outages = 0;

  /** @throws GatewayError `store-unavailable` when the store gave no answer meanwhile, or what `work` throws */
  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const outages = this.#outages;
    return this.#inTurn(() => {
      if (outages === this.#outages) return work();
      throw new GatewayError('store-unavailable', 'The store does not answer.');
    });
  }

  /** Waits for the store, within a turn. */
  async answered<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (error) {
      this.#outages++;
      throw error;
    }
  }
}

/** The location of the record before the change; of a new record, its location now. */
function locationOf({ kind, before, after }: RecordChange): string | null {
  const { id, locationId } = textsOf(before ?? after);
  return (kind === 'location' ? id : locationId) ?? null;
}

/** What the audit trail says about a change of a record. */
function detailsOf({ before, after }: RecordChange): Details {
  const [was, is] = [textsOf(before), textsOf(after)];
  const details: Record<string, string | null> = {};
  if (before === undefined || after === undefined) {
    for (const name of SHOWN) {
      const text = is[name] ?? was[name];
      if (text !== undefined) details[name] = text;
    }
    return details;
  }
  for (const name of SHOWN_CHANGES) {
    if (is[name] === was[name]) continue;
    details[name] = is[name] ?? null;
    details[`previous${name.charAt(0).toUpperCase()}${name.slice(1)}`] = was[name] ?? null;
  }
  return details;
}

/** The fields of a record as texts, without those that are null. */
function textsOf(record: RecordOfKind[RecordKind] | undefined): Readonly<Record<string, string>> {
  const fields: Record<string, unknown> = { ...record };
  if (record !== undefined && 'networks' in record) {
    fields['networks'] = record.networks?.join(', ');
  }
  if (record !== undefined && 'expiresAtMs' in record && record.expiresAtMs !== null) {
    fields['expiresAt'] = formatTime(record.expiresAtMs);
  }
  const given = Object.entries(fields).filter(([, value]) => (value ?? null) !== null);
  return Object.fromEntries(
    given.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}
