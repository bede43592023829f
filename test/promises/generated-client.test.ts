/**
 * An integrator's generator makes a TypeScript client of `/openapi.json`; it compiles under strict options, and does
 * what docs/reference/http.md does with curl.
 */
import { execFile } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ADMIN_TOKEN, expect, test } from '../harness/index.js';

const run = promisify(execFile);
const COMPILER_OPTIONS = {
  strict: true,
  noUnusedLocals: true,
  noUncheckedIndexedAccess: true,
  target: 'ES2023',
  module: 'NodeNext',
  types: ['node'],
};

/** The integrator's program: it sets up a device, and reads its history when the device has raised an alarm. */
const WALK = `
import assert from 'node:assert/strict';
import * as api from './client.js';

const [step, locationId = '', deviceId = ''] = process.argv.slice(2);
api.defaults.baseUrl = process.env['GATEWAY_URL'] ?? '';
const as = { headers: { Authorization: \`Bearer \${process.env['TOKEN']}\` } };
if (step === 'prepare') await prepare();
else await history();

async function prepare(): Promise<void> {
  const location = await api.createLocation({ name: { name: 'Haus am See' } }, as);
  assert(location.status === 201);
  const at = { locationId: location.data.id };
  const device = await api.createDevice({ ...at, newDevice: { name: 'Fall sensor' } }, as);
  assert(device.status === 201);
  const ofDevice = { ...at, deviceId: device.data.id };
  const data = await api.setCustomData({ ...ofDevice, body: { nurseCallId: '7a' } }, as);
  assert(data.status === 200);
  const group = await api.createGroup({ ...at, name: { name: 'Station 1' } }, as);
  assert(group.status === 201);
  const room = await api.createRoom({ ...at, newRoom: { name: 'Zimmer 7', groupId: null } }, as);
  assert(room.status === 201 && room.data.groupId === null);
  const roomChange = { groupId: group.data.id };
  const changed = await api.updateRoom({ ...at, roomId: room.data.id, roomChange }, as);
  assert(changed.status === 200 && changed.data.groupId === group.data.id);
  const deviceMove = { targetRoomId: room.data.id };
  assert.equal((await api.moveDevice({ ...ofDevice, deviceMove }, as)).status, 204);
  const grants = [{ location: at.locationId, role: 'viewer' as const }];
  const newAccessToken = { name: 'nurse call', grants };
  const token = await api.createAccessToken({ newAccessToken }, as);
  assert(token.status === 201);
  const refused = await api.deleteLocation(at, as);
  assert(refused.status === 409 && refused.data.code === 'location-has-devices');
  const { id, name, secret } = device.data;
  process.stdout.write(JSON.stringify({ ...at, id, name, secret, token: token.data.token }));
}

async function history(): Promise<void> {
  const query = { kinds: ['fall' as const, 'helpCall' as const], order: 'asc' as const, limit: 10 };
  const page = await api.listDeviceAlarms({ locationId, deviceId, ...query }, as);
  assert(page.status === 200 && page.data.nextCursor === null);
  const ofLocation = await api.listLocationAlarms({ locationId }, as);
  const rooms = await api.listRooms({ locationId }, as);
  assert(ofLocation.status === 200 && rooms.status === 200);
  assert.equal(rooms.data[0]?.devices[0], deviceId);
  assert.equal(ofLocation.data.events[0]?.roomId, rooms.data[0].id);
  const forbidden = await api.deleteDevice({ locationId, deviceId }, as);
  assert(forbidden.status === 403 && forbidden.data.code === 'forbidden');
  process.stdout.write(JSON.stringify(page.data.events));
}
`;

test('a client generated from /openapi.json compiles, and walks through the interface', {
  timeout: 120_000,
}, async ({ home, gateway, own }) => {
  const cwd = own.directory();
  const node = async (args: readonly string[], TOKEN = ADMIN_TOKEN) => {
    const env = { PATH: process.env['PATH'] ?? '', GATEWAY_URL: gateway.httpUrl, TOKEN };
    return (await run(process.execPath, [...args], { cwd, env })).stdout;
  };
  const files = {
    'openapi.json': (await home.must('GET', '/openapi.json')).text,
    'package.json': '{"type":"module"}',
    'tsconfig.json': JSON.stringify({ compilerOptions: COMPILER_OPTIONS }),
    'walk.ts': WALK,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(cwd, name), text);
  await symlink(resolve('node_modules'), join(cwd, 'node_modules'));
  const generator = resolve('node_modules/oazapfts/dist/cli.js');
  const options = ['--useUnknown', '--argumentStyle=object'];
  await node([generator, 'openapi.json', 'client.ts', ...options]);
  await node([resolve('node_modules/typescript/bin/tsc'), '-p', '.']);

  const device = JSON.parse(await node(['walk.js', 'prepare']));
  await home.publish(device, 'alarms', '{"kind":"fall","detectedAt":"2026-11-20T10:00:00Z"}');
  const events = await node(['walk.js', 'history', device.locationId, device.id], device.token);
  expect(JSON.parse(events)).toEqual([
    {
      id: expect.any(String),
      kind: 'fall',
      detectedAt: '2026-11-20T10:00:00.000Z',
      footage: { video: null, audio: null },
      state: 'raised',
    },
  ]);
});
