import { principalKey } from '../domain/grants.js';
import type { SiteRecords } from '../domain/site.js';

/** The kinds of records of a site. */
export type RecordKind = 'location' | 'group' | 'room' | 'device' | 'access-token';

/** Inconsistencies of the stored site (FINDINGS R8). */
export type SiteProblem =
  /** The record is listed, but missing: left out. */
  | 'record-missing'
  /** The record lacks what its kind must hold: left out. */
  | 'record-unreadable'
  /** A location's record is missing or unreadable, but others are in it: the id is its name. */
  | 'location-lost'
  /** The room that a device names is missing, or in another location. */
  | 'room-lost'
  /** The group that a room names is missing, or in another location. */
  | 'group-lost'
  /** The list of all ids of a kind lacked these, and has them again. */
  | 'list-repaired'
  | 'list-incomplete'
  /** The list of members of these disagreed with the records, and was rebuilt. */
  | 'members-repaired'
  | 'members-wrong';

/** Records of one kind that have the same problem. */
export interface SiteFinding {
  readonly problem: SiteProblem;
  readonly kind: RecordKind;
  /** The kind of the members, for a wrong list of members. */
  readonly memberKind?: RecordKind;
  readonly ids: readonly string[];
}

/** The site as stored, as far as it is readable. */
export interface SiteState {
  readonly records: SiteRecords;
  /** The inconsistencies; `records` has the repaired ones as they should be. */
  readonly findings: readonly SiteFinding[];
}

/** Whether the inconsistency is repaired, and is only reported. */
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
