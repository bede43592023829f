import {
  type Device,
  deleteDevice,
  deleteGroup,
  deleteLocation,
  deleteRoom,
  moveDevice,
  type Room,
  updateDevice,
  updateGroup,
  updateLocation,
  updateRoom,
} from '../../api/generated.js';

/** Something of a home that has a name. */
export interface Named {
  readonly kind: 'location' | 'group' | 'room' | 'device';
  readonly id: string;
  readonly name: string;
}

/** Gives something another name. */
export async function rename(locationId: string, named: Named, name: string): Promise<void> {
  const { kind, id } = named;
  if (kind === 'location') await updateLocation({ locationId, name: { name } });
  if (kind === 'group') await updateGroup({ locationId, groupId: id, name: { name } });
  if (kind === 'room') await updateRoom({ locationId, roomId: id, roomChange: { name } });
  if (kind === 'device') await updateDevice({ locationId, deviceId: id, deviceChange: { name } });
}

/** Deletes something. */
export async function remove(locationId: string, { kind, id }: Named): Promise<void> {
  if (kind === 'location') await deleteLocation({ locationId });
  if (kind === 'group') await deleteGroup({ locationId, groupId: id });
  if (kind === 'room') await deleteRoom({ locationId, roomId: id });
  if (kind === 'device') await deleteDevice({ locationId, deviceId: id });
}

/** Puts a device into a room of its home, or with null out of its room. */
export async function putDevice(
  { id, locationId }: Device,
  targetRoomId: string | null,
): Promise<void> {
  await moveDevice({ locationId, deviceId: id, deviceMove: { targetRoomId } });
}

/** Puts a room into a group of its home, or with null out of its group. */
export async function putRoom(
  locationId: string,
  { id }: Room,
  groupId: string | null,
): Promise<void> {
  await updateRoom({ locationId, roomId: id, roomChange: { groupId } });
}
