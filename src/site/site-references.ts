import type { SiteRecords } from '../domain/site.js';
import type { SiteFinding, SiteState } from './site-findings.js';

/**
 * Resolves dangling references between records, so the gateway can serve the rest of a damaged site.
 *
 * Removes references to a lost room or group. Replaces a lost location with a location named by its id:
 * its devices' alarms must go through, and topics and grants know only the id.
 */
export function withSoundReferences({ records, findings, revision }: SiteState): SiteState {
  const lost = lostLocations(records);
  const stray = strays(records.rooms, ({ groupId }) => groupId, records.groups);
  const astray = strays(records.devices, ({ roomId }) => roomId, records.rooms);
  const found: SiteFinding[] = [
    ...findings.map((finding) => withoutLocations(finding, lost)),
    { problem: 'location-lost', kind: 'location', ids: [...lost] },
    { problem: 'group-lost', kind: 'room', ids: [...stray] },
    { problem: 'room-lost', kind: 'device', ids: [...astray] },
  ];
  const { locations, rooms, devices } = records;
  return {
    records: {
      ...records,
      locations: [...locations, ...Array.from(lost, (id) => ({ id, name: id, order: 0 }))],
      rooms: rooms.map((room) => (stray.has(room.id) ? { ...room, groupId: null } : room)),
      devices: devices.map((one) => (astray.has(one.id) ? { ...one, roomId: null } : one)),
    },
    findings: found.filter(({ ids }) => ids.length > 0),
    revision,
  };
}

/** The locations that other records are in, but that have no readable record themselves. */
function lostLocations({ locations, groups, rooms, devices }: SiteRecords): ReadonlySet<string> {
  const lost = new Set([...groups, ...rooms, ...devices].map(({ locationId }) => locationId));
  for (const { id } of locations) lost.delete(id);
  return lost;
}

interface InLocation {
  readonly id: string;
  readonly locationId: string;
}

/** The ids of records whose place is missing, or in another location. */
function strays<T extends InLocation>(
  records: readonly T[],
  placeOf: (record: T) => string | null,
  places: readonly InLocation[],
): ReadonlySet<string> {
  const locations = new Map(places.map(({ id, locationId }) => [id, locationId]));
  const isStray = (record: T) => {
    const place = placeOf(record);
    return place !== null && locations.get(place) !== record.locationId;
  };
  return new Set(records.filter(isStray).map(({ id }) => id));
}

/** Leaves out the locations that `location-lost` reports. */
function withoutLocations(finding: SiteFinding, lost: ReadonlySet<string>): SiteFinding {
  if (finding.kind !== 'location' || finding.problem !== 'record-unreadable') return finding;
  return { ...finding, ids: finding.ids.filter((id) => !lost.has(id)) };
}
