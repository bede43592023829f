import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { type FaultReport, fault, faultWords, type Phrase } from '../../domain/fault.js';
import type { SiteFinding } from '../site-findings.js';
import type { Health } from './health.js';

const MAX_LOGGED_IDS = 100;

/** Reports inconsistencies of the stored site as faults and in the log. */
export class SiteFaults {
  readonly #health: Health;
  readonly #log: Logger;
  /** Findings by source, as last reported. */
  #reported = new Map<string, SiteFinding>();

  constructor(health: Health, log: Logger) {
    this.#health = health;
    this.#log = log;
  }

  /** Replaces the faults reported before. */
  report(findings: readonly SiteFinding[]): void {
    const all = new Map(findings.map((finding) => [sourceOf(finding), finding]));
    for (const source of this.#reported.keys()) {
      if (!all.has(source)) this.#health.replace(source, []);
    }
    for (const [source, finding] of all) {
      if (isDeepStrictEqual(this.#reported.get(source), finding)) continue;
      this.#health.replace(source, faultsOf(finding));
      const ids = finding.ids.slice(0, MAX_LOGGED_IDS);
      const { message } = faultWords(faultOf(finding), 'en');
      const count = finding.ids.length;
      this.#log.error({ fault: message, ids, count }, 'stored site is inconsistent');
    }
    this.#reported = all;
  }
}

function sourceOf({ problem, kind }: SiteFinding): string {
  return `site/${problem}/${kind}`;
}

/** Ids serve as names: a damaged record has no name, and people find an intact one by its id. */
function faultsOf(finding: SiteFinding): FaultReport[] {
  return finding.ids.map((id) => {
    return { ...faultOf(finding), subject: { type: finding.kind, id, name: id } };
  });
}

function faultOf({ problem, kind }: SiteFinding): FaultReport {
  switch (problem) {
    case 'record-unreadable':
      return fault('recordUnreadable', { record: RECORDS[kind] });
    case 'location-lost':
      return fault('locationLost');
    case 'room-lost':
      return fault('roomLost');
    case 'group-lost':
      return fault('groupLost');
  }
}

const RECORDS: Readonly<Record<SiteFinding['kind'], Phrase>> = {
  location: { en: 'a location', de: 'Heim' },
  group: { en: 'a group', de: 'Gruppe' },
  room: { en: 'a room', de: 'Zimmer' },
  device: { en: 'a device', de: 'Gerät' },
  'access-token': { en: 'an access token', de: 'Zugangstoken' },
};
