/** The limits of each principal: messages a second, and alarms a day. */
import { type Principal, principalKey } from '../../domain/grants.js';
import type { AlarmLimits, BudgetLimits, RateLimits } from '../../domain/limits.js';
import { TokenBucket, TokenRate } from '../../domain/token-bucket.js';
import type { SiteModel } from '../../site/site-model.js';

const SECOND_MS = 1_000;
const DAY_MS = 24 * 3_600 * SECOND_MS;
/** A larger packet counts as one message for each so many bytes. */
const BYTES_A_MESSAGE = 1_024;
const UNLIMITED = Number.MAX_SAFE_INTEGER;

/** Each limited quantity with the configuration key of its limit. */
const MEASURES = { messages: 'messagesPerSecond', alarms: 'alarmsPerDay' } as const;
type Measure = keyof typeof MEASURES;

type Limits = RateLimits & Partial<AlarmLimits>;

/** Whose limit is reached, and which. */
export interface ReachedLimit {
  readonly of: Principal['type'];
  readonly name: (typeof MEASURES)[Measure];
  readonly value: number;
}

/** The limits of a budget, and the rates that all budgets with them share; replaced when they change. */
interface Terms {
  readonly limits: Limits;
  readonly rates: Readonly<Record<Measure, TokenRate>>;
}

/** The sending budget of one principal: a token bucket for each measure. */
export class Budget {
  readonly principal: Principal;
  readonly #termsNow: () => Terms;
  readonly #messages = new TokenBucket();
  readonly #alarms = new TokenBucket();
  #terms: Terms | undefined;
  /** Those of this turn. */
  #alarmCount = 0;
  /** When both buckets are, or were, out of debt. */
  #freeAtMs = 0;
  #takenAtMs = 0;

  constructor(principal: Principal, termsNow: () => Terms) {
    this.principal = principal;
    this.#termsNow = termsNow;
  }

  /** Counts an alarm of this turn. */
  countAlarm(): void {
    this.#alarmCount++;
  }

  /** Takes what one turn has read, and the alarms counted in it. */
  take(messages: number, bytes: number, nowMs: number): void {
    this.#refresh(nowMs);
    this.#messages.take(Math.max(messages, bytes / BYTES_A_MESSAGE), nowMs);
    this.#freeAtMs = Math.max(this.#freeAtMs, this.#messages.freeAtMs);
    this.#takenAtMs = nowMs;
    if (this.#alarmCount === 0) return;
    this.#alarms.take(this.#alarmCount, nowMs);
    this.#freeAtMs = Math.max(this.#freeAtMs, this.#alarms.freeAtMs);
    this.#alarmCount = 0;
  }

  /** Takes the bytes read for an answer, without debt: a large answer must not shut its receiver out. */
  takeAnswer(bytes: number, nowMs: number): void {
    this.#refresh(nowMs);
    if (this.#messages.freeAtMs <= nowMs) this.#messages.take(bytes / BYTES_A_MESSAGE, nowMs);
    this.#freeAtMs = Math.max(this.#freeAtMs, this.#messages.freeAtMs);
  }

  /** Whether nothing slows the principal, as far as is known without looking at the clock. */
  get isFree(): boolean {
    return this.#freeAtMs <= this.#takenAtMs;
  }

  /** Finds the limit that stops reading of the principal now; undefined: none does. */
  reachedLimit(nowMs: number): ReachedLimit | undefined {
    const { limits } = this.#refresh(nowMs);
    const of = this.principal.type;
    if (this.#messages.freeAtMs > nowMs)
      return { of, name: MEASURES.messages, value: limits.messagesPerSecond };
    if (this.#alarms.freeAtMs <= nowMs) return undefined;
    return { of, name: MEASURES.alarms, value: limits.alarmsPerDay ?? UNLIMITED };
  }

  /** Applies a change of its limits. */
  #refresh(nowMs: number): Terms {
    const terms = this.#termsNow();
    if (terms === this.#terms) return terms;
    this.#terms = terms;
    this.#messages.limit(terms.rates.messages, nowMs);
    this.#alarms.limit(terms.rates.alarms, nowMs);
    this.#freeAtMs = Math.max(this.#messages.freeAtMs, this.#alarms.freeAtMs);
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
        : new Budget(principal, () => this.#ofTokens);
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
    return new Budget(principal, termsNow);
  }
}

function termsOf(limits: Limits): Terms {
  const { messagesPerSecond, messageBurst, alarmsPerDay = UNLIMITED } = limits;
  return {
    limits,
    rates: {
      messages: new TokenRate(messagesPerSecond / SECOND_MS, messageBurst),
      alarms: new TokenRate(alarmsPerDay / DAY_MS, alarmsPerDay),
    },
  };
}
