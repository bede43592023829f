import { HttpError } from '@oazapfts/runtime';
import { readTagged } from '../../api/entity-tag.js';
import {
  type Device,
  deleteDevice,
  deleteGroup,
  deleteLocation,
  deleteRoom,
  getDevice,
  getGroup,
  getLocation,
  getRoom,
  moveDevice,
  type Room,
  updateDevice,
  updateGroup,
  updateLocation,
  updateRoom,
} from '../../api/generated.js';

/** Something in a home that has a name. */
export interface Named {
  readonly kind: 'location' | 'group' | 'room' | 'device';
  readonly id: string;
  readonly name: string;
}

/**
 * Reads the entity tag of something, for a change that is refused if someone else makes one first.
 *
 * @throws HttpError 412 if someone else has already renamed it
 */
export async function readTagOf(locationId: string, { kind, id, name }: Named): Promise<string> {
  const { data, tag } = await readTagged<{ readonly name: string }>((options) => {
    switch (kind) {
      case 'location':
        return getLocation({ locationId }, options);
      case 'group':
        return getGroup({ locationId, groupId: id }, options);
      case 'room':
        return getRoom({ locationId, roomId: id }, options);
      case 'device':
        return getDevice({ locationId, deviceId: id }, options);
    }
  });
  if (data.name !== name) throw new HttpError(412, { code: 'precondition-failed' }, new Headers());
  return tag;
}

/** Renames something, unless it has changed since the entity tag. */
export async function rename(
  locationId: string,
  { kind, id }: Named,
  name: string,
  ifMatch: string,
): Promise<void> {
  const at = { locationId, ifMatch };
  if (kind === 'location') await updateLocation({ ...at, name: { name } });
  if (kind === 'group') await updateGroup({ ...at, groupId: id, name: { name } });
  if (kind === 'room') await updateRoom({ ...at, roomId: id, roomChange: { name } });
  if (kind === 'device') await updateDevice({ ...at, deviceId: id, deviceChange: { name } });
}

/** Deletes something, unless it has changed since the entity tag. */
export async function remove(
  locationId: string,
  { kind, id }: Named,
  ifMatch: string,
): Promise<void> {
  const at = { locationId, ifMatch };
  if (kind === 'location') await deleteLocation(at);
  if (kind === 'group') await deleteGroup({ ...at, groupId: id });
  if (kind === 'room') await deleteRoom({ ...at, roomId: id });
  if (kind === 'device') await deleteDevice({ ...at, deviceId: id });
}

/** Moves a device into a room of its home or, with null, out of its room. */
export async function putDevice(
  { id, locationId }: Device,
  targetRoomId: string | null,
): Promise<void> {
  await moveDevice({ locationId, deviceId: id, deviceMove: { targetRoomId } });
}

/** Moves a room into a group of its home or, with null, out of its group. */
export async function putRoom(
  locationId: string,
  { id }: Room,
  groupId: string | null,
): Promise<void> {
  await updateRoom({ locationId, roomId: id, roomChange: { groupId } });
}
