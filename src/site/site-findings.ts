import type { RecordKind, SiteRecords } from '../domain/site.js';

/** Inconsistencies of the stored site. */
export type SiteProblem =
  /** The record lacks what its kind must hold; it is left out. */
  | 'record-unreadable'
  /** A location's record is missing or unreadable, but other records are in it; its id becomes its name. */
  | 'location-lost'
  /** The room that a device names is missing, or in another location. */
  | 'room-lost'
  /** The group that a room names is missing, or in another location. */
  | 'group-lost';

/** Records of one kind that have the same problem. */
export interface SiteFinding {
  readonly problem: SiteProblem;
  readonly kind: RecordKind;
  readonly ids: readonly string[];
}

/** The site as stored, as far as it is readable. */
export interface SiteState {
  readonly records: SiteRecords;
  readonly findings: readonly SiteFinding[];
  /** How many changes the site has had, by any gateway. */
  readonly revision: number;
}

/** The holders whose records cannot be used: `location:<id>`, or the `principalKey` of devices and tokens. */
export function unreadableHolders(findings: readonly SiteFinding[]): Set<string> {
  const unreadable = findings.filter(({ problem }) => problem === 'record-unreadable');
  return new Set(
    unreadable.flatMap(({ kind, ids }) =>
      ids.map((id) => `${kind === 'access-token' ? 'token' : kind}:${id}`),
    ),
  );
}
