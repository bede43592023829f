import type { Logger } from 'pino';
import type { Health } from './health.js';
import { isRepaired, type SiteFinding, type SiteProblem } from './site-findings.js';

const MAX_NAMED = 3;
const MAX_LOGGED_IDS = 100;

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

function sourceOf({ problem, kind }: SiteFinding): string {
  return `site/${problem}/${kind}`;
}

function merged(before: SiteFinding | undefined, finding: SiteFinding): SiteFinding {
  return { ...finding, ids: [...new Set([...(before?.ids ?? []), ...finding.ids])] };
}

/** @param list the kind of the records, in the plural */
type Wording = (records: string, list: string) => string;

const WORDINGS: Readonly<Record<SiteProblem, Wording>> = {
  'record-missing': (records) => `The store lists ${records} without a record, left out`,
  'record-unreadable': (records) => `The store holds an unreadable record of ${records}, left out`,
  'location-lost': (records) =>
    `The store has no readable record of ${records}, served with the id as name`,
  'room-lost': (records) => `The store has no room for ${records} that should be in one`,
  'group-lost': (records) => `The store has no group for ${records} that should be in one`,
  'list-repaired': (records, list) =>
    `The store's list of ${list} lacked ${records}, put back from the records`,
  'list-incomplete': (records, list) =>
    `The store's list of ${list} lacks ${records}, and the store refuses to be repaired`,
};

function sentence({ problem, kind, ids }: SiteFinding): string {
  const one = kind.replace('-', ' ');
  const records = `${ids.length} ${one}${ids.length === 1 ? '' : 's'}`;
  const named = ids.slice(0, MAX_NAMED).join(', ');
  const others = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
  return `${WORDINGS[problem](records, `${one}s`)}: ${named}${others}.`;
}
