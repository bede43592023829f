import type { Actor, AuditEntry } from './audit-trail.js';
import { refusalDetails } from './refusal-details.js';

const WINDOW_MS = 60_000;
const MAX_PER_WINDOW = 100;
/** Beyond so many the oldest one ends early: an attacker must not fill the memory. */
const MAX_WINDOWS = 10_000;
const SWEEP_INTERVAL_MS = 1_000;

/** A minute of the refusals of one address. */
interface Window {
  readonly untilMs: number;
  written: number;
  counted: number;
  last: AuditEntry;
}

export interface AuthenticationRefusalsOptions {
  /** Where the entries go; must not wait. */
  readonly audit: { add(entry: AuditEntry): void };
  readonly now: () => number;
  /** By which the minute is measured. */
  readonly steadyNow: () => number;
}

/**
 * Records failed logins in the audit trail. They come from unknown peers, and guessing over and over
 * must not fill the trail: of one address a hundred a minute are recorded one by one, and the rest of
 * the minute as one entry, the last of them, with their number (`repeated`).
 */
export class AuthenticationRefusals {
  readonly #options: AuthenticationRefusalsOptions;
  /** By address. */
  readonly #windows = new Map<string | null, Window>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AuthenticationRefusalsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
  }

  /** Records the logins that were only counted so far. */
  stop(): void {
    clearInterval(this.#timer);
    for (const address of this.#windows.keys()) this.#end(address);
  }

  /** Takes note of an invalid credential. */
  add(actor: Actor, details: AuditEntry['details']): void {
    const { audit, now, steadyNow } = this.#options;
    const { address } = actor;
    const entry: AuditEntry = {
      ...{
        action: 'authentication.refused',
        actor,
        atMs: now(),
        locationId: null,
        resourceId: null,
      },
      details: refusalDetails(details),
    };
    const window = this.#windows.get(address);
    if (window === undefined || window.untilMs <= steadyNow()) {
      this.#end(address);
      this.#windows.set(address, {
        ...{ untilMs: steadyNow() + WINDOW_MS, last: entry },
        ...{ written: 1, counted: 0 },
      });
      audit.add(entry);
      const [oldest] = this.#windows.keys();
      if (this.#windows.size > MAX_WINDOWS && oldest !== undefined) this.#end(oldest);
    } else if (window.written < MAX_PER_WINDOW) {
      window.written++;
      audit.add(entry);
    } else {
      window.counted++;
      window.last = entry;
    }
  }

  /** Records what was counted in the minutes that are over; they lie in the order of their ends. */
  sweep(): void {
    const nowMs = this.#options.steadyNow();
    for (const [address, { untilMs }] of this.#windows) {
      if (untilMs > nowMs) break;
      this.#end(address);
    }
  }

  #end(address: string | null): void {
    const window = this.#windows.get(address);
    this.#windows.delete(address);
    if (window === undefined || window.counted === 0) return;
    const { last, counted } = window;
    const details = { ...last.details, repeated: String(counted) };
    this.#options.audit.add({ ...last, details });
  }
}
