import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { type FaultGroup, firstOf, warning } from '../../domain/faults.js';
import type { SiteFinding, SiteProblem } from '../site-findings.js';
import type { Health } from './health.js';

const MAX_NAMED = 3;
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
    for (const [source, finding] of this.#reported) {
      if (!all.has(source)) this.#health.reportAll(source, faultsOf({ ...finding, ids: [] }));
    }
    for (const [source, finding] of all) {
      if (isDeepStrictEqual(this.#reported.get(source), finding)) continue;
      this.#health.reportAll(source, faultsOf(finding));
      const ids = finding.ids.slice(0, MAX_LOGGED_IDS);
      const fault = sentence(finding, finding.ids.length);
      this.#log.error({ fault, ids }, 'stored site is inconsistent');
    }
    this.#reported = all;
  }
}

function sourceOf({ problem, kind }: SiteFinding): string {
  return `site/${problem}/${kind}`;
}

const WORDINGS: Readonly<Record<SiteProblem, (records: string) => string>> = {
  'record-unreadable': (records) => `The store holds an unreadable record of ${records}, left out`,
  'location-lost': (records) =>
    `The store has no readable record of ${records}, served with the id as name`,
  'room-lost': (records) => `The store has no room for ${records} that should be in one`,
  'group-lost': (records) => `The store has no group for ${records} that should be in one`,
};

/** The ids are the names: a damaged record has none, and a whole one is found by its id. */
function faultsOf(finding: SiteFinding): FaultGroup {
  return firstOf(
    finding.ids,
    MAX_NAMED,
    (id) => warning('record-damaged', sentence(finding, 1), { type: finding.kind, id, name: id }),
    (count) => warning('record-damaged', sentence(finding, count, 'more ')),
  );
}

function sentence({ problem, kind }: SiteFinding, count: number, more = ''): string {
  const one = kind.replace('-', ' ');
  const records = `${count} ${more}${one}${count === 1 ? '' : 's'}`;
  return `${WORDINGS[problem](records)}.`;
}
