import type { Device, Location, Room, SiteRecords } from '../domain/site.js';
import type { RecordKind, SiteFinding, SiteProblem, SiteState } from './site-findings.js';

/**
 * Resolves dangling references between records, so that the rest of a damaged site is served.
 *
 * References to a lost room or group are removed. A lost location is replaced by one with its id as the
 * name: its devices' alarms must go through, and topics and grants know only the id.
 */
export function withSoundReferences({ records, findings }: SiteState): SiteState {
  const found = new Findings(findings);
  const locations = [...records.locations, ...lostLocations(records, found)];
  const groups = byId(records.groups);
  const rooms = records.rooms.map((room) => inItsGroup(room, groups, found));
  const roomsById = byId(rooms);
  const devices = records.devices.map((device) => inItsRoom(device, roomsById, found));
  return { records: { ...records, locations, rooms, devices }, findings: found.all() };
}

function lostLocations({ locations, groups, rooms, devices }: SiteRecords, found: Findings) {
  const known = byId(locations);
  const lost = new Map<string, Location>();
  for (const { locationId } of [...groups, ...rooms, ...devices]) {
    if (known.has(locationId) || lost.has(locationId)) continue;
    lost.set(locationId, { id: locationId, name: locationId, order: 0 });
    found.add('location-lost', 'location', locationId);
  }
  return lost.values();
}

function inItsGroup(room: Room, groups: ReadonlyMap<string, InLocation>, found: Findings): Room {
  if (room.groupId === null || isIn(room.locationId, groups.get(room.groupId))) return room;
  found.add('group-lost', 'room', room.id);
  return { ...room, groupId: null };
}

function inItsRoom(device: Device, rooms: ReadonlyMap<string, InLocation>, found: Findings) {
  if (device.roomId === null || isIn(device.locationId, rooms.get(device.roomId))) return device;
  found.add('room-lost', 'device', device.id);
  return { ...device, roomId: null };
}

interface InLocation {
  readonly id: string;
  readonly locationId: string;
}

function isIn(locationId: string, record: InLocation | undefined): boolean {
  return record?.locationId === locationId;
}

function byId<T extends { readonly id: string }>(records: readonly T[]): Map<string, T> {
  return new Map(records.map((record) => [record.id, record]));
}

/** Collects findings by problem, adding ids one by one. */
class Findings {
  readonly #before: readonly SiteFinding[];
  readonly #added = new Map<SiteProblem, { kind: RecordKind; ids: string[] }>();

  constructor(before: readonly SiteFinding[]) {
    this.#before = before;
  }

  add(problem: SiteProblem, kind: RecordKind, id: string): void {
    const finding = this.#added.get(problem) ?? { kind, ids: [] };
    this.#added.set(problem, finding);
    finding.ids.push(id);
  }

  all(): SiteFinding[] {
    const lost = new Set(this.#added.get('location-lost')?.ids);
    const left = this.#before.flatMap((finding) => withoutLocations(finding, lost));
    return [...left, ...Array.from(this.#added, ([problem, rest]) => ({ problem, ...rest }))];
  }
}

/** Removes the locations that `location-lost` reports already. */
function withoutLocations(finding: SiteFinding, lost: ReadonlySet<string>): SiteFinding[] {
  if (finding.kind !== 'location' || !finding.problem.startsWith('record-')) return [finding];
  const ids = finding.ids.filter((id) => !lost.has(id));
  return ids.length === 0 ? [] : [{ ...finding, ids }];
}
