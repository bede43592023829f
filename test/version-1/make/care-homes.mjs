import { createHash } from 'node:crypto';

/** Values that a JSON parser would change. */
const CUSTOM_DATA =
  '{"nurseCallId":"7a","big":9007199254740993,"price":1.10,"__proto__":{"x":1},"b":1e2,"a":null}';
const LATER_CUSTOM_DATA =
  '{"2":"two","1":"one","big":-9007199254740995,"price":2.50,"ü":"\\u00fc"}';
/** Enough that the older records are moved to files. */
const CUSTOM_DATA_CHANGES = 45;
/** Bytes of a recording. */
const RECORDING_BYTES = 3000;

/** Two care homes with all that they have; names are those of before `changeCareHomes`. */
export async function createCareHomes(http) {
  const create = (path, body) => http.json('POST', path, body);
  const a = await create('/care-homes', { name: 'Haus am See' });
  const b = await create('/care-homes', { name: 'Haus Bergblick' });
  const inA = `/care-homes/${a.id}`;
  const inB = `/care-homes/${b.id}`;
  const north = await create(`${inA}/groups`, { name: 'Nord' });
  const south = await create(`${inA}/groups`, { name: 'Süd' });
  const east = await create(`${inB}/groups`, { name: 'Ost' });
  const one = await create(`${inA}/rooms`, { name: 'Zimmer 1', groupId: north.id });
  const two = await create(`${inA}/rooms`, { name: 'Zimmer 2', groupId: south.id });
  const three = await create(`${inA}/rooms`, { name: 'Zimmer 3' });
  const ward = await create(`${inB}/rooms`, { name: 'Station', groupId: east.id });
  const device = async (home, name, room) => {
    const created = await create(`${home}/devices`, { name });
    const path = `${home}/devices/${created.id}`;
    if (room) await create(`${path}/move`, { targetRoomId: room.id });
    return { id: created.id, secret: created.secret, path };
  };
  const devices = {
    bed: await device(inA, 'Bett 1', one),
    door: await device(inA, 'Tür 2', two),
    camera: await device(inA, 'Kamera 3', three),
    mover: await device(inA, 'Sessel', one),
    gone: await device(inA, 'Alte Matte', two),
    lone: await device(inA, 'Flur'),
    sensor: await device(inA, 'Sensor', three),
    mat: await device(inB, 'Matte', ward),
  };
  await http.text('PATCH', `${devices.bed.path}/custom-data`, CUSTOM_DATA);
  await http.text('PATCH', `${devices.gone.path}/custom-data`, '{"was":1.0}');
  for (let change = 1; change <= CUSTOM_DATA_CHANGES; change++) {
    await http.text('PATCH', `${devices.mat.path}/custom-data`, `{"change":${change}.0}`);
  }
  const groups = { north, south, east };
  const rooms = { one, two, three, ward };
  return { a, b, inA, inB, groups, rooms, devices, tokens: await createTokens(http, a, south) };
}

async function createTokens(http, a, south) {
  const token = async (name, ...grants) => {
    const expiresAt = '2999-01-01T00:00:00Z';
    const created = await http.json('POST', '/access-tokens', { name, grants, expiresAt });
    return { id: created.id, token: created.token };
  };
  const ended = await token('ended', { location: a.id, role: 'viewer' });
  await http.text('DELETE', `/access-tokens/${ended.id}`);
  return {
    ended,
    viewer: await token('viewer', { location: a.id, role: 'viewer' }),
    southViewer: await token('south', { location: a.id, group: south.id, role: 'viewer' }),
    everywhere: await token('everywhere', { location: '*', role: 'viewer' }),
    manager: await token('manager', { location: '*', role: 'manager' }),
  };
}

/** Everything has another name or place, so that those at the time of an alarm are told from those now. */
export async function changeCareHomes(http, home) {
  const { inA, inB, b, groups, rooms, devices } = home;
  const rename = (path, name) => http.json('PATCH', path, { name });
  await rename(inA, 'Haus am Meer');
  await rename(`${inA}/groups/${groups.north.id}`, 'Nordflügel');
  await rename(`${inA}/rooms/${rooms.one.id}`, 'Zimmer 101');
  await rename(devices.bed.path, 'Bett 101');
  await http.text('PATCH', `${devices.bed.path}/custom-data`, LATER_CUSTOM_DATA);
  const target = { targetGroupId: groups.north.id };
  await http.json('POST', `${inA}/groups/${groups.south.id}/rooms/${rooms.two.id}/move`, target);
  await http.json('POST', `${devices.mover.path}/move`, { targetLocationId: b.id });
  devices.mover.path = `${inB}/devices/${devices.mover.id}`;
  await http.text('DELETE', devices.gone.path);
  devices.gone.isDeleted = true;
  const { secret } = await http.json('POST', `${devices.door.path}/secret`);
  devices.door.formerSecret = devices.door.secret;
  devices.door.secret = secret;
}

/** Uploads a recording as a camera does. */
export async function record(http, camera, type, contentType) {
  const path = `/devices/${camera.id}/footage`;
  const { key, uploadUrl } = await http.json('POST', path, { type, contentType });
  const content = createHash('sha512').update(key).digest();
  const body = Buffer.alloc(RECORDING_BYTES, content);
  const headers = { 'content-type': contentType };
  const { status } = await fetch(uploadUrl, { method: 'PUT', headers, body });
  if (status !== 200) throw new Error(`upload: ${status}`);
  return { key, contentType, sha256: createHash('sha256').update(body).digest('hex') };
}
