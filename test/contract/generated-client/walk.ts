/**
 * Does what the README and docs/reference/http.md do with curl, with the client generated from
 * `/openapi.json`. generated-client.test.ts compiles and runs it next to the client; it exits with a
 * status other than 0 if a step gets a wrong answer.
 *
 *     node walk.js prepare                       prints what publishing the alarm needs
 *     node walk.js history <location> <device>   prints the events
 */
import assert from 'node:assert/strict';
import * as api from './client.js';

const [step, locationId = '', deviceId = ''] = process.argv.slice(2);
api.defaults.baseUrl = process.env['GATEWAY_URL'] ?? '';
const asAdmin = { headers: { Authorization: `Bearer ${process.env['ADMIN_TOKEN']}` } };

if (step === 'prepare') await prepare();
else await history(process.env['TOKEN'] ?? '');

async function prepare(): Promise<void> {
  const location = await api.createLocation({ name: { name: 'Haus am See' } }, asAdmin);
  assert(location.status === 201);
  const { id } = location.data;
  const at = { locationId: id };

  const device = await api.createDevice({ ...at, newDevice: { name: 'Fall sensor' } }, asAdmin);
  assert(device.status === 201);
  const { secret } = device.data;
  const ofDevice = { ...at, deviceId: device.data.id };
  const data = await api.setCustomData({ ...ofDevice, body: { nurseCallId: '7a' } }, asAdmin);
  assert(data.status === 200);

  const group = await api.createGroup({ ...at, name: { name: 'Station 1' } }, asAdmin);
  assert(group.status === 201);
  const newRoom = { name: 'Zimmer 7', groupId: null };
  const room = await api.createRoom({ ...at, newRoom }, asAdmin);
  assert(room.status === 201 && room.data.groupId === null);
  const roomChange = { groupId: group.data.id };
  const changed = await api.updateRoom({ ...at, roomId: room.data.id, roomChange }, asAdmin);
  assert(changed.status === 200 && changed.data.groupId === group.data.id);
  const deviceMove = { targetRoomId: room.data.id };
  assert.equal((await api.moveDevice({ ...ofDevice, deviceMove }, asAdmin)).status, 204);

  const grants = [{ location: id, role: 'viewer' as const }];
  const newAccessToken = { name: 'nurse call', grants };
  const token = await api.createAccessToken({ newAccessToken }, asAdmin);
  assert(token.status === 201);

  const refused = await api.deleteLocation(at, asAdmin);
  assert(refused.status === 409 && refused.data.code === 'location-has-devices');
  const prepared = { locationId: id, id: ofDevice.deviceId, secret, token: token.data.token };
  process.stdout.write(JSON.stringify(prepared));
}

async function history(token: string): Promise<void> {
  const asViewer = { headers: { Authorization: `Bearer ${token}` } };
  const query = { kinds: ['fall' as const, 'helpCall' as const], order: 'asc' as const, limit: 10 };
  const page = await api.listDeviceAlarms({ locationId, deviceId, ...query }, asViewer);
  assert(page.status === 200 && page.data.nextCursor === null);
  const ofLocation = await api.listLocationAlarms({ locationId }, asViewer);
  assert(ofLocation.status === 200);
  const rooms = await api.listRooms({ locationId }, asViewer);
  assert(rooms.status === 200 && rooms.data[0]?.devices[0] === deviceId);
  assert.equal(ofLocation.data.events[0]?.roomId, rooms.data[0].id);
  const forbidden = await api.deleteDevice({ locationId, deviceId }, asViewer);
  assert(forbidden.status === 403 && forbidden.data.code === 'forbidden');
  process.stdout.write(JSON.stringify(page.data.events));
}
