import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { SiteRecords } from '../domain/site.js';
import type { RecordKind, SiteFinding } from '../site/site-findings.js';
import { answering } from './failures.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';

const correctMember = new Script('correct-member', z.number());
const setReply = z.array(z.string());

/** Sets read, or members corrected, at a time, so that other commands get between. */
const SLICE_LENGTH = 500;

/** The sets of members that each owner of one kind has of another kind. */
interface Membership {
  readonly owner: RecordKind;
  readonly member: RecordKind;
  /** The field of the member's record with its owner's id. */
  readonly field: string;
  /** Prefixes of the keys of the sets, and of the members' records. */
  readonly sets: string;
  readonly records: string;
  /** The set of the ids of all members. */
  readonly list: string;
  readonly owners: (records: SiteRecords) => readonly { readonly id: string }[];
  readonly pairs: (records: SiteRecords) => readonly (readonly [string, string | null])[];
}

/** An owner and the members that its set must have. */
type Expected = readonly [ownerId: string, memberIds: ReadonlySet<string>];

/** A member that a set has wrongly, or wrongly lacks. */
interface Difference {
  readonly ownerId: string;
  readonly memberId: string;
}

/**
 * Corrects the member sets of locations, groups and rooms by the records.
 *
 * The script that corrects a difference checks it again, as the site may have changed since it was loaded.
 */
export class SiteMembers {
  readonly #redis: Redis;
  readonly #memberships: readonly Membership[];

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    const groups = { member: 'group', records: keys.group(''), list: keys.groups } as const;
    const rooms = { member: 'room', records: keys.room(''), list: keys.rooms } as const;
    const devices = { member: 'device', records: keys.device(''), list: keys.devices } as const;
    const inLocation = {
      owner: 'location',
      field: 'locationId',
      owners: ({ locations }: SiteRecords) => locations,
    } as const;
    this.#memberships = [
      {
        ...{ ...inLocation, ...groups, sets: keys.locationGroups('') },
        pairs: (site) => site.groups.map(({ id, locationId }) => [id, locationId]),
      },
      {
        ...{ ...inLocation, ...rooms, sets: keys.locationRooms('') },
        pairs: (site) => site.rooms.map(({ id, locationId }) => [id, locationId]),
      },
      {
        ...{ ...inLocation, ...devices, sets: keys.locationDevices('') },
        pairs: (site) => site.devices.map(({ id, locationId }) => [id, locationId]),
      },
      {
        ...{ ...rooms, owner: 'group', field: 'groupId', sets: keys.groupRooms('') },
        owners: (site) => site.groups,
        pairs: (site) => site.rooms.map(({ id, groupId }) => [id, groupId]),
      },
      {
        ...{ ...devices, owner: 'room', field: 'roomId', sets: keys.roomDevices('') },
        owners: (site) => site.rooms,
        pairs: (site) => site.devices.map(({ id, roomId }) => [id, roomId]),
      },
    ];
  }

  /** @throws GatewayError `store-unavailable` */
  async repair(records: SiteRecords): Promise<SiteFinding[]> {
    const findings: SiteFinding[] = [];
    for (const membership of this.#memberships) {
      const repaired = new Set<string>();
      const refused = new Set<string>();
      for (const slice of slices(expected(records, membership))) {
        const differences = await answering(() => this.#differences(membership, slice));
        for (const some of slices(differences)) {
          await answering(() => this.#correct(membership, some, repaired, refused));
        }
      }
      const { owner: kind, member: memberKind } = membership;
      for (const [problem, ids] of [
        ['members-repaired', repaired],
        ['members-wrong', refused],
      ] as const) {
        if (ids.size > 0) findings.push({ problem, kind, memberKind, ids: [...ids] });
      }
    }
    return findings;
  }

  async #differences({ sets }: Membership, slice: readonly Expected[]): Promise<Difference[]> {
    const pipeline = this.#redis.pipeline();
    for (const [ownerId] of slice) pipeline.smembers(sets + ownerId);
    const replies = (await pipeline.exec()) ?? [];
    return slice.flatMap(([ownerId, memberIds], index) => {
      const [error, reply] = replies[index] ?? [];
      // A key of another type has no members, and is replaced when the first one is added.
      if (error instanceof Error && !error.message.startsWith('WRONGTYPE')) throw error;
      const found = new Set(error instanceof Error ? [] : setReply.parse(reply));
      const missing = [...memberIds].filter((id) => !found.has(id));
      const surplus = [...found].filter((id) => !memberIds.has(id));
      return [...missing, ...surplus].map((memberId) => ({ ownerId, memberId }));
    });
  }

  async #correct(
    { sets, records, list, field }: Membership,
    differences: readonly Difference[],
    repaired: Set<string>,
    refused: Set<string>,
  ): Promise<void> {
    const corrections = differences.map(async ({ ownerId, memberId }) => {
      const keys = [sets + ownerId, records + memberId, list];
      try {
        const corrected = await correctMember.run(this.#redis, keys, [field, ownerId, memberId]);
        if (corrected > 0) repaired.add(ownerId);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        refused.add(ownerId);
      }
    });
    await Promise.all(corrections);
  }
}

function expected(records: SiteRecords, { owners, pairs }: Membership): Expected[] {
  const sets = new Map(owners(records).map(({ id }) => [id, new Set<string>()]));
  for (const [memberId, ownerId] of pairs(records)) {
    if (ownerId !== null) sets.get(ownerId)?.add(memberId);
  }
  return [...sets];
}

function slices<T>(all: readonly T[]): T[][] {
  const count = Math.ceil(all.length / SLICE_LENGTH);
  return Array.from({ length: count }, (_, index) =>
    all.slice(index * SLICE_LENGTH, (index + 1) * SLICE_LENGTH),
  );
}

/** Whether the store answered that it cannot write, being full or a replica. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}
