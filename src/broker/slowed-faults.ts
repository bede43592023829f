import type { Logger } from 'pino';
import { principalKey } from '../domain/grants.js';
import type { Health } from '../site/health.js';
import { describeHolder } from '../site/holder-names.js';
import type { SiteModel } from '../site/site-model.js';
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
    // A limit that many share is one fault.
    const sentences = [...new Set(slowed.map((one) => this.#sentence(one)))];
    const { health, log } = this.#options;
    for (let index = 0; index < MAX_NAMED; index++) {
      health.reportElsewhere(`slowed/${index}`, sentences[index]);
    }
    const more = sentences.length - MAX_NAMED;
    const others = more > 0 ? `${more} more devices and access tokens are slowed` : undefined;
    health.reportElsewhere('slowed/more', others);
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

  #sentence({ budget, limit }: Slowed): string {
    const reached = `its limit of ${limit.value.toLocaleString('en')} ${WORDS[limit.name]}`;
    return `${this.#subject(budget, limit)} is slowed to ${reached}`;
  }

  #subject({ principal, locationId }: Slowed['budget'], { of }: ReachedLimit): string {
    if (of === 'total') return 'The gateway';
    const isLocation = of === 'location' && locationId !== undefined;
    const holder = isLocation ? `location:${locationId}` : principalKey(principal);
    const subject = describeHolder(this.#options.model, holder);
    return subject.charAt(0).toUpperCase() + subject.slice(1);
  }
}
