import type { Actor, AuditEntry, AuditSubject } from './audit-trail.js';

type RefusalAction = 'permission.refused' | 'authentication.refused';

const WINDOW_MS = 60_000;
const MAX_PER_WINDOW = 100;
/** Beyond so many the oldest one ends early: an attacker must not fill the memory. */
const MAX_WINDOWS = 10_000;
const SWEEP_INTERVAL_MS = 1_000;
/** Topics, paths and client ids are what the refused one likes. */
const MAX_DETAIL_LENGTH = 256;

/** A minute of one principal's refusals from one address. */
interface Window {
  readonly untilMs: number;
  written: number;
  counted: number;
  last: AuditEntry;
}

export interface RefusalsOptions {
  /** Where the entries go; must not wait. */
  readonly audit: { add(entry: AuditEntry): void };
  readonly now: () => number;
  /** By which the minute is measured. */
  readonly steadyNow: () => number;
}

/**
 * Puts what is refused into the audit trail. Whoever is refused over and over must not fill it: of one
 * principal at one address a hundred a minute are written one by one, and the rest of the minute as
 * one entry, the last of them, with how many there were (`repeated`).
 */
export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #windows = new Map<string, Window>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
  }

  /** What was only counted so far is written down. */
  stop(): void {
    clearInterval(this.#timer);
    for (const key of this.#windows.keys()) this.#end(key);
  }

  /** Somebody known asked for what he has no grant for. */
  permission(actor: Actor, subject: AuditSubject, details: AuditEntry['details']): void {
    this.#add('permission.refused', actor, subject, details);
  }

  /** Somebody showed a credential that is not valid. */
  authentication(actor: Actor, details: AuditEntry['details']): void {
    this.#add('authentication.refused', actor, { locationId: null, resourceId: null }, details);
  }

  #add(
    action: RefusalAction,
    actor: Actor,
    subject: AuditSubject,
    details: AuditEntry['details'],
  ): void {
    const { audit, now, steadyNow } = this.#options;
    const entry = { action, actor, atMs: now(), ...subject, details: shortened(details) };
    const key = JSON.stringify([action, actor.type, actor.id, actor.address]);
    const window = this.#windows.get(key);
    if (window === undefined || window.untilMs <= steadyNow()) {
      this.#end(key);
      this.#windows.set(key, {
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

  /** Writes down what was counted in the minutes that are over; they lie in the order of their ends. */
  sweep(): void {
    const nowMs = this.#options.steadyNow();
    for (const [key, { untilMs }] of this.#windows) {
      if (untilMs > nowMs) break;
      this.#end(key);
    }
  }

  #end(key: string): void {
    const window = this.#windows.get(key);
    this.#windows.delete(key);
    if (window === undefined || window.counted === 0) return;
    const { last, counted } = window;
    const details = { ...last.details, repeated: String(counted) };
    this.#options.audit.add({ ...last, details });
  }
}

function shortened(details: AuditEntry['details']): AuditEntry['details'] {
  const pairs = Object.entries(details).map(([name, text]) => [
    name,
    text?.slice(0, MAX_DETAIL_LENGTH) ?? null,
  ]);
  return Object.fromEntries(pairs);
}
