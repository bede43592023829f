import type { AuditAction, AuditPosition } from '../../site/audit-trail.js';
import { auditNumberOf } from './records.js';

/** A record as its index in the store has it. */
export interface AuditMember {
  readonly atMs: number;
  /** The text that `readAuditRecord` reads. */
  readonly member: string;
}

/** The bounds of a segment's records; there need not be one at each. */
export interface SegmentBounds {
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly lowestNumber: number;
  readonly highestNumber: number;
}

/** A file of the archive: records of one action, in the order of time and number. */
export interface AuditSegment extends SegmentBounds {
  readonly action: AuditAction;
  /** Holds the bounds, so that no file is read to know where to look. */
  readonly name: string;
}

const NAME = /^(-?\d+)_(-?\d+)_(\d+)_(\d+)\.br$/;

/** @param members at least one, in their order */
export function segmentOf(action: AuditAction, members: readonly AuditMember[]): AuditSegment {
  const bounds = boundsOf(members);
  const { firstAtMs, lastAtMs, lowestNumber, highestNumber } = bounds;
  const name = `${firstAtMs}_${lastAtMs}_${lowestNumber}_${highestNumber}.br`;
  return { action, name, ...bounds };
}

/** The segment of a file name, undefined for any other file. */
export function segmentNamed(action: AuditAction, name: string): AuditSegment | undefined {
  const match = NAME.exec(name);
  if (match === null) return undefined;
  const [firstAtMs, lastAtMs, lowestNumber, highestNumber] = match.slice(1).map(Number);
  if (firstAtMs === undefined || lastAtMs === undefined) return undefined;
  if (lowestNumber === undefined || highestNumber === undefined) return undefined;
  return { action, name, firstAtMs, lastAtMs, lowestNumber, highestNumber };
}

export function boundsOf(members: readonly AuditMember[]): SegmentBounds {
  let [lowestNumber, highestNumber] = [Number.POSITIVE_INFINITY, 0];
  for (const { member } of members) {
    const number = auditNumberOf(member);
    lowestNumber = Math.min(lowestNumber, number);
    highestNumber = Math.max(highestNumber, number);
  }
  const [firstAtMs, lastAtMs] = [members[0]?.atMs ?? 0, members.at(-1)?.atMs ?? 0];
  return { firstAtMs, lastAtMs, lowestNumber, highestNumber };
}

export function positionOf({ atMs, member }: AuditMember): AuditPosition {
  return { atMs, sequence: auditNumberOf(member) };
}

/** Compares positions in the trail: below 0 when `one` comes first, 0 when equal. */
export function compareInTrail(one: AuditPosition, other: AuditPosition): number {
  return one.atMs - other.atMs || one.sequence - other.sequence;
}
