import { type Principal, principalKey } from '../../domain/grants.js';
import type { BudgetLimits } from '../../domain/limits.js';
import type { Device } from '../../domain/site.js';
import { TokenBucket } from '../../domain/token-bucket.js';
import type { SiteModel } from '../../site/site-model.js';
import {
  type Limits,
  MEASURES,
  type Measure,
  type Rates,
  ratesOf,
  UNLIMITED,
} from './budget-rates.js';

/** The part of its own limits that a principal always has, whatever others send. */
export const ASSURED_PART = 1 / 20;

/** Measures of all that a connection sends. */
const TRAFFIC = ['messages', 'bytes', 'alarms', 'alarmBytes'] as const satisfies Measure[];
/** Measures of CONNECT, whose will has bytes. Reaching `connects` does not stop reading open connections. */
const CONNECT = ['connects', 'bytes'] as const satisfies Measure[];

/** The traffic read in one turn. */
type Sent = Record<(typeof TRAFFIC)[number], number>;

/** Whose limit is reached, and which. */
export interface ReachedLimit {
  readonly of: 'device' | 'token' | 'location' | 'total';
  readonly name: (typeof MEASURES)[Measure];
  readonly value: number;
}

/** One level of the hierarchy: a bucket for each measure. */
class Level {
  readonly messages = new TokenBucket();
  readonly bytes = new TokenBucket();
  readonly alarms = new TokenBucket();
  readonly alarmBytes = new TokenBucket();
  readonly connects = new TokenBucket();
  /** When all buckets of traffic are, or were, out of debt. */
  freeAtMs = 0;

  take(sent: Sent, nowMs: number): void {
    this.messages.take(sent.messages, nowMs);
    this.bytes.take(sent.bytes, nowMs);
    this.freeAtMs = Math.max(this.freeAtMs, this.messages.freeAtMs, this.bytes.freeAtMs);
    if (sent.alarms === 0) return;
    this.alarms.take(sent.alarms, nowMs);
    this.alarmBytes.take(sent.alarmBytes, nowMs);
    this.freeAtMs = Math.max(this.freeAtMs, this.alarms.freeAtMs, this.alarmBytes.freeAtMs);
  }

  /** Takes only from buckets that are not in debt. */
  takeWithoutDebt(sent: Sent, nowMs: number): void {
    if (this.messages.freeAtMs <= nowMs) this.messages.take(sent.messages, nowMs);
    if (this.bytes.freeAtMs <= nowMs) this.bytes.take(sent.bytes, nowMs);
    this.freeAtMs = Math.max(this.freeAtMs, this.bytes.freeAtMs);
    if (sent.alarms === 0) return;
    if (this.alarms.freeAtMs <= nowMs) this.alarms.take(sent.alarms, nowMs);
    if (this.alarmBytes.freeAtMs <= nowMs) this.alarmBytes.take(sent.alarmBytes, nowMs);
  }

  limit(rates: Rates, nowMs: number): void {
    this.messages.limit(rates.messages, nowMs);
    this.bytes.limit(rates.bytes, nowMs);
    this.alarms.limit(rates.alarms, nowMs);
    this.alarmBytes.limit(rates.alarmBytes, nowMs);
    this.connects.limit(rates.connects, nowMs);
    this.freeAtMs = Math.max(...TRAFFIC.map((measure) => this[measure].freeAtMs));
  }
}

/** A location, or all of them. */
interface Parent {
  readonly of: 'location' | 'total';
  readonly limits: Limits;
  readonly level: Level;
}

/** The limits and parents of a principal's budget; replaced when either changes. */
interface Terms {
  readonly limits: Limits;
  readonly rates: Rates;
  readonly assuredRates: Rates;
  readonly parents: readonly Parent[];
  readonly locationId: string | undefined;
}

/**
 * The sending budget of one principal, as a hierarchical token bucket.
 *
 * Its own limits are its ceiling. Within its assured part of them it is not slowed, even if its location or
 * the total has reached its limit.
 */
export class Budget {
  readonly principal: Principal;
  readonly #termsNow: () => Terms;
  readonly #own = new Level();
  readonly #assured = new Level();
  #terms: Terms | undefined;
  readonly #sent: Sent = { messages: 0, bytes: 0, alarms: 0, alarmBytes: 0 };
  #takenAtMs = 0;

  constructor(principal: Principal, termsNow: () => Terms) {
    this.principal = principal;
    this.#termsNow = termsNow;
  }

  /** The location whose limits also apply; undefined: none do. */
  get locationId(): string | undefined {
    return this.#termsNow().locationId;
  }

  /** Counts an alarm of this turn. */
  countAlarm(payloadBytes: number): void {
    this.#sent.alarms++;
    this.#sent.alarmBytes += payloadBytes;
  }

  /** Takes what one turn has read, and the alarms counted in it. */
  take(messages: number, bytes: number, nowMs: number): void {
    const { parents } = this.#refresh(nowMs);
    const sent = this.#sent;
    sent.messages = messages;
    sent.bytes = bytes;
    this.#own.take(sent, nowMs);
    for (const { level } of parents) level.take(sent, nowMs);
    // Beyond its assured part, the principal uses what others leave: no debt for that.
    this.#assured.takeWithoutDebt(sent, nowMs);
    this.#takenAtMs = nowMs;
    sent.alarms = 0;
    sent.alarmBytes = 0;
  }

  /** Takes a CONNECT. */
  takeConnect(bytes: number, nowMs: number): void {
    this.take(0, bytes, nowMs);
    this.#own.connects.take(1, nowMs);
  }

  /** Takes the bytes read for an answer, without debt: a large answer must not shut its receiver out. */
  takeAnswer(bytes: number, nowMs: number): void {
    this.#refresh(nowMs);
    this.#own.takeWithoutDebt({ messages: 0, bytes, alarms: 0, alarmBytes: 0 }, nowMs);
  }

  /** Whether nothing slows the principal, as far as is known without looking at the clock. */
  get isFree(): boolean {
    if (this.#own.freeAtMs > this.#takenAtMs) return false;
    for (const { level } of this.#terms?.parents ?? []) {
      if (level.freeAtMs > this.#takenAtMs) return false;
    }
    return true;
  }

  /** Finds the limit that stops reading of the principal now; undefined: none does. */
  reachedLimit(nowMs: number): ReachedLimit | undefined {
    return this.#reachedOf(TRAFFIC, nowMs);
  }

  /** Finds the limit that stops the principal from connecting now. */
  reachedConnectLimit(nowMs: number): ReachedLimit | undefined {
    return this.#reachedOf(CONNECT, nowMs);
  }

  #reachedOf(measures: readonly Measure[], nowMs: number): ReachedLimit | undefined {
    const { limits, parents } = this.#refresh(nowMs);
    for (const measure of measures) {
      if (this.#own[measure].freeAtMs > nowMs) {
        return reached(this.principal.type, limits, measure);
      }
      if (this.#assured[measure].freeAtMs <= nowMs) continue;
      for (const parent of parents) {
        if (parent.level[measure].freeAtMs > nowMs) {
          return reached(parent.of, parent.limits, measure);
        }
      }
    }
    return undefined;
  }

  /** Applies a change of its limits or its location. */
  #refresh(nowMs: number): Terms {
    const terms = this.#termsNow();
    if (terms === this.#terms) return terms;
    this.#terms = terms;
    this.#own.limit(terms.rates, nowMs);
    this.#assured.limit(terms.assuredRates, nowMs);
    return terms;
  }
}

/** The key of the limit under `limits` in the configuration. */
export function limitKey({ of, name }: ReachedLimit): string {
  return `${of}.${name}`;
}

function reached(of: ReachedLimit['of'], limits: Limits, measure: Measure): ReachedLimit {
  const name = MEASURES[measure];
  return { of, name, value: limits[name] ?? UNLIMITED };
}

/** The budgets of all principals, each made when its first client connects. */
export class Budgets {
  readonly #limits: BudgetLimits;
  readonly #model: SiteModel;
  readonly #byOwner = new Map<string, Budget>();
  readonly #whole: Parent;
  readonly #parentsOf = new Map<string, readonly Parent[]>();
  /** The terms of devices without limits of their own: one object for all devices of a location. */
  readonly #usualTerms = new Map<string | undefined, Terms>();

  constructor(limits: BudgetLimits, model: SiteModel) {
    this.#limits = limits;
    this.#model = model;
    this.#whole = this.#parent('total', limits.total);
  }

  of(principal: Principal): Budget {
    const owner = principalKey(principal);
    const known = this.#byOwner.get(owner);
    if (known !== undefined) return known;
    const terms =
      principal.type === 'device'
        ? this.#termsOfDevice(principal.id)
        : this.#termsOfToken(principal);
    const budget = new Budget(principal, terms);
    this.#byOwner.set(owner, budget);
    return budget;
  }

  /** Forgets a principal (`principalKey`) that is gone. */
  forget(owner: string): void {
    this.#byOwner.delete(owner);
  }

  /** A device's terms follow its record, which is a new object after every change. */
  #termsOfDevice(id: string): () => Terms {
    let known = this.#model.device(id);
    let terms = this.#termsOf(known);
    return () => {
      const device = this.#model.device(id);
      if (device !== known) {
        known = device;
        terms = this.#termsOf(device);
      }
      return terms;
    };
  }

  #termsOf(device: Device | undefined): Terms {
    const { locationId, limits = {} } = device ?? {};
    if (Object.keys(limits).length > 0) {
      return this.#terms({ ...this.#limits.device, ...limits }, locationId);
    }
    const terms = this.#usualTerms.get(locationId) ?? this.#terms(this.#limits.device, locationId);
    this.#usualTerms.set(locationId, terms);
    return terms;
  }

  /** A token belongs to a location if all of its grants do. */
  #termsOfToken({ grants }: Principal & { type: 'token' }): () => Terms {
    const [locationId, ...others] = new Set(grants.map(({ location }) => location));
    const isOfOne = others.length === 0 && locationId !== '*';
    const terms = this.#terms(this.#limits.token, isOfOne ? locationId : undefined);
    return () => terms;
  }

  #terms(limits: Limits, locationId: string | undefined): Terms {
    const rates = ratesOf(limits);
    const assuredRates = ratesOf(limits, ASSURED_PART);
    return { limits, rates, assuredRates, parents: this.#parents(locationId), locationId };
  }

  #parents(locationId: string | undefined): readonly Parent[] {
    if (locationId === undefined) return [this.#whole];
    const known = this.#parentsOf.get(locationId);
    const parents = known ?? [this.#parent('location', this.#limits.location), this.#whole];
    this.#parentsOf.set(locationId, parents);
    return parents;
  }

  #parent(of: Parent['of'], limits: Limits): Parent {
    const level = new Level();
    level.limit(ratesOf(limits), 0);
    return { of, limits, level };
  }
}
