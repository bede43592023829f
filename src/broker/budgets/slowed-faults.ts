import type { Logger } from 'pino';
import { type FaultReport, firstOf, warning } from '../../domain/faults.js';
import { principalKey } from '../../domain/grants.js';
import { holderSubject } from '../../site/health/fault-subjects.js';
import type { Health } from '../../site/health/health.js';
import type { SiteModel } from '../../site/site-model.js';
import { limitKey, type ReachedLimit } from './budgets.js';
import type { Slowed, Slowing } from './slowing.js';

export const SLOWED_CHECK_MS = 1_000;
const LOG_INTERVAL_MS = 60_000;
/** Faults at a time, so that many slowed devices do not hide everything else. */
const MAX_NAMED = 5;

const WORDS: Readonly<Record<ReachedLimit['name'], string>> = {
  messagesPerSecond: 'messages a second',
  bytesPerSecond: 'bytes a second',
  alarmsPerDay: 'alarms a day',
  alarmBytesPerDay: 'bytes of alarms a day',
  connectsPerSecond: 'connects a second',
};

const SLOWED = { device: 'A device', token: 'An access token', location: 'A location' } as const;

export interface SlowedFaultsOptions {
  readonly model: SiteModel;
  readonly health: Health;
  readonly log: Logger;
}

/** Names those that are slowed: as faults, and once a minute in the log. */
export class SlowedFaults {
  readonly #slowing: Slowing;
  readonly #options: SlowedFaultsOptions;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #timesLogged = 0;

  constructor(slowing: Slowing, options: SlowedFaultsOptions) {
    this.#slowing = slowing;
    this.#options = options;
  }

  /** Reports those that are slowed now; to be called every `SLOWED_CHECK_MS`. */
  check(): void {
    const slowed = this.#slowing.all();
    const { health, log } = this.#options;
    // A limit that many share is one fault.
    const faults = new Map(
      slowed.map((one) => this.#faultOf(one)).map((fault) => [JSON.stringify(fault), fault]),
    );
    const group = firstOf(
      [...faults.values()],
      MAX_NAMED,
      (fault) => fault,
      (count) => warning('limit-exceeded', `${count} more devices and access tokens are slowed`),
    );
    health.reportAll('slowed', group);
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

  #faultOf({ budget: { principal, locationId }, limit }: Slowed): FaultReport {
    const reached = `its limit of ${limit.value.toLocaleString('en')} ${WORDS[limit.name]}`;
    if (limit.of === 'total')
      return warning('limit-exceeded', `The gateway is slowed to ${reached}`);
    const isLocation = limit.of === 'location' && locationId !== undefined;
    const holder = isLocation ? `location:${locationId}` : principalKey(principal);
    const subject = holderSubject(this.#options.model, holder);
    const who = SLOWED[isLocation ? 'location' : principal.type];
    return warning('limit-exceeded', `${who} is slowed to ${reached}`, subject);
  }
}
