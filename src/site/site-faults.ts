import type { Logger } from 'pino';
import type { Health } from './health.js';
import {
  isRepaired,
  type RecordKind,
  type SiteFinding,
  type SiteProblem,
} from './site-findings.js';

const MAX_NAMED = 3;
const MAX_LOGGED_IDS = 100;

const NOUNS: Readonly<Record<RecordKind, readonly [one: string, many: string]>> = {
  location: ['location', 'locations'],
  group: ['group', 'groups'],
  room: ['room', 'rooms'],
  device: ['device', 'devices'],
  'access-token': ['access token', 'access tokens'],
};

/** Reports inconsistencies of the stored site as faults and in the log (FINDINGS R8). */
export class SiteFaults {
  readonly #health: Health;
  readonly #log: Logger;
  /** Sentences by source, as last reported. */
  #reported = new Map<string, string>();
  /** Repairs of this process, faults until it ends so that damage to the store is seen. */
  readonly #repaired = new Map<string, SiteFinding>();

  constructor(health: Health, log: Logger) {
    this.#health = health;
    this.#log = log;
  }

  /** Replaces the faults reported before, except repairs. */
  report(findings: readonly SiteFinding[]): void {
    const all = new Map<string, SiteFinding>();
    for (const finding of findings) {
      const source = sourceOf(finding);
      if (!isRepaired(finding)) all.set(source, finding);
      else this.#repaired.set(source, merged(this.#repaired.get(source), finding));
    }
    for (const [source, finding] of this.#repaired) all.set(source, finding);
    const sentences = new Map(Array.from(all, ([source, finding]) => [source, sentence(finding)]));
    for (const source of this.#reported.keys()) {
      if (!sentences.has(source)) this.#health.reportElsewhere(source, undefined);
    }
    for (const [source, fault] of sentences) {
      if (this.#reported.get(source) === fault) continue;
      this.#health.reportElsewhere(source, fault);
      const ids = all.get(source)?.ids.slice(0, MAX_LOGGED_IDS);
      this.#log.error({ fault, ids }, 'stored site is inconsistent');
    }
    this.#reported = sentences;
  }
}

function sourceOf({ problem, kind, memberKind }: SiteFinding): string {
  return ['site', problem, kind, ...(memberKind === undefined ? [] : [memberKind])].join('/');
}

function merged(before: SiteFinding | undefined, finding: SiteFinding): SiteFinding {
  return { ...finding, ids: [...new Set([...(before?.ids ?? []), ...finding.ids])] };
}

type Wording = (records: string, finding: SiteFinding) => string;

const WORDINGS: Readonly<Record<SiteProblem, Wording>> = {
  'record-missing': (records) => `The store lists ${records} without a record, left out`,
  'record-unreadable': (records) => `The store holds an unreadable record of ${records}, left out`,
  'location-lost': (records) =>
    `The store has no readable record of ${records}, served with the id as name`,
  'room-lost': (records) => `The store has no room for ${records} that should be in one`,
  'group-lost': (records) => `The store has no group for ${records} that should be in one`,
  'list-repaired': (records, { kind }) =>
    `The store's list of ${NOUNS[kind][1]} lacked ${records}, put back from the records`,
  'list-incomplete': (records, { kind }) =>
    `The store's list of ${NOUNS[kind][1]} lacks ${records}, and the store refuses to be repaired`,
  'members-repaired': (records, finding) =>
    `The store's list of ${membersOf(finding)} was wrong for ${records}, rebuilt from the records`,
  'members-wrong': (records, finding) =>
    `The store's list of ${membersOf(finding)} is wrong for ${records}, and the store refuses to be repaired`,
};

function sentence(finding: SiteFinding): string {
  const { problem, kind, ids } = finding;
  const [one, many] = NOUNS[kind];
  const records = `${ids.length} ${ids.length === 1 ? one : many}`;
  const named = ids.slice(0, MAX_NAMED).join(', ');
  const others = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
  return `${WORDINGS[problem](records, finding)}: ${named}${others}.`;
}

function membersOf({ memberKind }: SiteFinding): string {
  return memberKind === undefined ? 'members' : NOUNS[memberKind][1];
}
