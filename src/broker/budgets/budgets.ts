import { type Principal, principalKey } from '../../domain/grants.js';
import type { BudgetLimits } from '../../domain/limits.js';
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

/** Measures of all that a connection sends. */
const TRAFFIC = ['messages', 'bytes', 'alarms', 'alarmBytes'] as const satisfies Measure[];
/** Measures of CONNECT, whose will has bytes. Reaching `connects` does not stop reading open connections. */
const CONNECT = ['connects', 'bytes'] as const satisfies Measure[];

/** Whose limit is reached, and which. */
export interface ReachedLimit {
  readonly of: Principal['type'];
  readonly name: (typeof MEASURES)[Measure];
  readonly value: number;
}

/** The limits of a budget; replaced when they change. */
interface Terms {
  readonly limits: Limits;
  readonly rates: Rates;
}

/** The sending budget of one principal: a token bucket for each measure. */
export class Budget {
  readonly principal: Principal;
  readonly #termsNow: () => Terms;
  readonly #locationNow: () => string | undefined;
  readonly #buckets: Readonly<Record<Measure, TokenBucket>> = {
    messages: new TokenBucket(),
    bytes: new TokenBucket(),
    alarms: new TokenBucket(),
    alarmBytes: new TokenBucket(),
    connects: new TokenBucket(),
  };
  #terms: Terms | undefined;
  readonly #alarms = { count: 0, bytes: 0 };
  /** When all buckets of traffic are, or were, out of debt. */
  #freeAtMs = 0;
  #takenAtMs = 0;

  constructor(principal: Principal, termsNow: () => Terms, locationNow: () => string | undefined) {
    this.principal = principal;
    this.#termsNow = termsNow;
    this.#locationNow = locationNow;
  }

  /** The location of the principal; undefined: several, or none. */
  get locationId(): string | undefined {
    return this.#locationNow();
  }

  /** Counts an alarm of this turn. */
  countAlarm(payloadBytes: number): void {
    this.#alarms.count++;
    this.#alarms.bytes += payloadBytes;
  }

  /** Takes what one turn has read, and the alarms counted in it. */
  take(messages: number, bytes: number, nowMs: number): void {
    this.#refresh(nowMs);
    const buckets = this.#buckets;
    buckets.messages.take(messages, nowMs);
    buckets.bytes.take(bytes, nowMs);
    this.#freeAtMs = Math.max(this.#freeAtMs, buckets.messages.freeAtMs, buckets.bytes.freeAtMs);
    this.#takenAtMs = nowMs;
    const alarms = this.#alarms;
    if (alarms.count === 0) return;
    buckets.alarms.take(alarms.count, nowMs);
    buckets.alarmBytes.take(alarms.bytes, nowMs);
    this.#freeAtMs = Math.max(this.#freeAtMs, buckets.alarms.freeAtMs, buckets.alarmBytes.freeAtMs);
    alarms.count = 0;
    alarms.bytes = 0;
  }

  /** Takes a CONNECT. */
  takeConnect(bytes: number, nowMs: number): void {
    this.take(0, bytes, nowMs);
    this.#buckets.connects.take(1, nowMs);
  }

  /** Takes the bytes read for an answer, without debt: a large answer must not shut its receiver out. */
  takeAnswer(byteCount: number, nowMs: number): void {
    this.#refresh(nowMs);
    const { bytes } = this.#buckets;
    if (bytes.freeAtMs <= nowMs) bytes.take(byteCount, nowMs);
    this.#freeAtMs = Math.max(this.#freeAtMs, bytes.freeAtMs);
  }

  /** Whether nothing slows the principal, as far as is known without looking at the clock. */
  get isFree(): boolean {
    return this.#freeAtMs <= this.#takenAtMs;
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
    const { limits } = this.#refresh(nowMs);
    const measure = measures.find((one) => this.#buckets[one].freeAtMs > nowMs);
    if (measure === undefined) return undefined;
    const name = MEASURES[measure];
    return { of: this.principal.type, name, value: limits[name] ?? UNLIMITED };
  }

  /** Applies a change of its limits. */
  #refresh(nowMs: number): Terms {
    const terms = this.#termsNow();
    if (terms === this.#terms) return terms;
    this.#terms = terms;
    const buckets = this.#buckets;
    for (const measure of [...TRAFFIC, 'connects'] as const) {
      buckets[measure].limit(terms.rates[measure], nowMs);
    }
    this.#freeAtMs = Math.max(...TRAFFIC.map((measure) => buckets[measure].freeAtMs));
    return terms;
  }
}

/** The key of the limit under `limits` in the configuration. */
export function limitKey({ of, name }: ReachedLimit): string {
  return `${of}.${name}`;
}

/** The budgets of all principals, each made when its first client connects. */
export class Budgets {
  readonly #model: SiteModel;
  readonly #byOwner = new Map<string, Budget>();
  readonly #ofDevices: Terms;
  readonly #ofTokens: Terms;

  constructor(limits: BudgetLimits, model: SiteModel) {
    this.#model = model;
    this.#ofDevices = termsOf(limits.device);
    this.#ofTokens = termsOf(limits.token);
  }

  of(principal: Principal): Budget {
    const owner = principalKey(principal);
    const known = this.#byOwner.get(owner);
    if (known !== undefined) return known;
    const budget =
      principal.type === 'device'
        ? this.#budgetOfDevice(principal)
        : this.#budgetOfToken(principal);
    this.#byOwner.set(owner, budget);
    return budget;
  }

  /** Forgets a principal (`principalKey`) that is gone. */
  forget(owner: string): void {
    this.#byOwner.delete(owner);
  }

  /** A device's terms follow its record, which is a new object after every change. */
  #budgetOfDevice(principal: Principal): Budget {
    const deviceNow = () => this.#model.device(principal.id);
    let known: ReturnType<typeof deviceNow>;
    let terms = this.#ofDevices;
    const termsNow = () => {
      const device = deviceNow();
      if (device === known) return terms;
      known = device;
      const own = device?.limits ?? {};
      const isUsual = Object.keys(own).length === 0;
      terms = isUsual ? this.#ofDevices : termsOf({ ...this.#ofDevices.limits, ...own });
      return terms;
    };
    return new Budget(principal, termsNow, () => deviceNow()?.locationId);
  }

  /** A token belongs to a location if all of its grants do. */
  #budgetOfToken(principal: Principal & { type: 'token' }): Budget {
    const [first, ...others] = new Set(principal.grants.map(({ location }) => location));
    const locationId = others.length === 0 && first !== '*' ? first : undefined;
    return new Budget(
      principal,
      () => this.#ofTokens,
      () => locationId,
    );
  }
}

function termsOf(limits: Limits): Terms {
  return { limits, rates: ratesOf(limits) };
}
