import type { TestGateway } from '../harness.js';

/** Two locations, the first with a device in a room of a group; a token, and the name of a bridge. */
export async function world(gateway: TestGateway) {
  const locationId = await gateway.createLocation('Haus Birke');
  const deviceId = await gateway.createDevice(locationId, 'Bett 1');
  const { groupId, roomId } = await gateway.placeInGroup(locationId, deviceId);
  const emptyRoomId = await gateway.createRoom(locationId, groupId);
  const otherGroupId = await gateway.createGroup(locationId, 'Station 2');
  const otherLocationId = await gateway.createLocation('Haus Eiche');
  const goneGroupId = await gateway.createGroup(otherLocationId, 'Station 9');
  const goneRoomId = await gateway.createRoom(otherLocationId, goneGroupId);
  const grants = [{ location: '*', role: 'viewer' } as const];
  const { id: tokenId } = await gateway.issueToken(grants, 'nurse call');
  return {
    locationId,
    deviceId,
    groupId,
    roomId,
    emptyRoomId,
    otherGroupId,
    otherLocationId,
    goneGroupId,
    goneRoomId,
    tokenId,
    code: 'store-lost-data',
    name: 'region',
  };
}
export type World = Awaited<ReturnType<typeof world>> & {
  /** An alarm of the device; empty if no alarm is changed. */
  readonly alarmId: string;
};
