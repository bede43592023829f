import type { Logger } from 'pino';
import { type FaultReport, fault, firstOf } from '../../domain/faults/faults.js';
import { limitPhrase } from '../../domain/faults/phrases.js';
import { principalKey } from '../../domain/grants.js';
import { holderSubject } from '../../site/health/fault-subjects.js';
import type { Health } from '../../site/health/health.js';
import type { SiteModel } from '../../site/site-model.js';
import { limitKey } from './budgets.js';
import type { Slowed, Slowing } from './slowing.js';

export const SLOWED_CHECK_MS = 1_000;
const LOG_INTERVAL_MS = 60_000;
/** The most faults at a time: many slowed devices must not hide everything else. */
const MAX_NAMED = 5;

const SLOWED = {
  device: 'deviceSlowed',
  token: 'tokenSlowed',
} as const;

export interface SlowedFaultsOptions {
  readonly model: SiteModel;
  readonly health: Health;
  readonly log: Logger;
}

/** Reports slowed principals: as faults, and once a minute in the log. */
export class SlowedFaults {
  readonly #slowing: Slowing;
  readonly #options: SlowedFaultsOptions;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #timesLogged = 0;

  constructor(slowing: Slowing, options: SlowedFaultsOptions) {
    this.#slowing = slowing;
    this.#options = options;
  }

  /** Reports the principals that are slowed now; call it every `SLOWED_CHECK_MS`. */
  check(): void {
    const slowed = this.#slowing.all();
    const { health, log } = this.#options;
    const faultOf = (one: Slowed) => this.#faultOf(one);
    health.reportAll('slowed', firstOf(slowed, faultOf, MAX_NAMED, fault('othersSlowed')));
    const nowMs = performance.now();
    if (slowed.length === 0 || nowMs - this.#loggedAtMs < LOG_INTERVAL_MS) return;
    this.#loggedAtMs = nowMs;
    const times = this.#slowing.times - this.#timesLogged;
    this.#timesLogged = this.#slowing.times;
    const named = slowed.slice(0, MAX_NAMED).map(({ budget: { principal }, limit }) => {
      return { principal: principal.id, limit: limitKey(limit) };
    });
    log.warn({ slowed: named, principals: slowed.length, times }, 'slowed clients over a limit');
  }

  #faultOf({ budget: { principal }, limit: { name, value } }: Slowed): FaultReport {
    const subject = holderSubject(this.#options.model, principalKey(principal));
    return { ...fault(SLOWED[principal.type], { limit: limitPhrase(name, value) }), subject };
  }
}
