import { principalKey } from '../domain/grants.js';
import type { SiteRecords } from '../domain/site.js';

/** The kinds of record that a site consists of. */
export type RecordKind = 'location' | 'group' | 'room' | 'device' | 'access-token';

/** Inconsistencies of the stored site (FINDINGS R8). */
export type SiteProblem =
  /** The record is listed, but not there: left out. */
  | 'record-missing'
  /** The record does not hold what one of its kind holds: left out. */
  | 'record-unreadable'
  /** A location's record is missing or unreadable, but others are in it: its id stands in. */
  | 'location-lost'
  /** The room that a device names is missing, or in another location. */
  | 'room-lost'
  /** The group that a room names is missing, or in another location. */
  | 'group-lost'
  /** The list of all of a kind lacked these, and has them again. */
  | 'list-repaired'
  | 'list-incomplete'
  /** The list of what belongs to these disagreed with the records, and was rebuilt. */
  | 'members-repaired'
  | 'members-wrong';

/** Records of one kind that have the same problem. */
export interface SiteFinding {
  readonly problem: SiteProblem;
  readonly kind: RecordKind;
  /** Kind of the members, where a list of members is wrong. */
  readonly memberKind?: RecordKind;
  readonly ids: readonly string[];
}

/** The site as the store holds it, as far as it can be read. */
export interface SiteState {
  readonly records: SiteRecords;
  /** Inconsistencies found; those that were repaired are in `records` as they should be. */
  readonly findings: readonly SiteFinding[];
}

/** Whether the inconsistency is over: only that it happened remains to be said. */
export function isRepaired({ problem }: SiteFinding): boolean {
  return problem === 'list-repaired' || problem === 'members-repaired';
}

/** `principalKey` of the devices and tokens that exist, but whose records cannot be used. */
export function unreadablePrincipals(findings: readonly SiteFinding[]): Set<string> {
  const keys = new Set<string>();
  for (const { problem, kind, ids } of findings) {
    if (problem !== 'record-missing' && problem !== 'record-unreadable') continue;
    for (const id of ids) {
      if (kind === 'device') keys.add(principalKey({ type: 'device', id }));
      if (kind === 'access-token') keys.add(principalKey({ type: 'token', id, grants: [] }));
    }
  }
  return keys;
}
