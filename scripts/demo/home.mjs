import { randomUUID } from 'node:crypto';
import mqtt from 'mqtt';

/** A fictional home. Every kind of alarm has a sensor that detects it. */
const LOCATION = 'Haus am See';
const SENSORS = [
  ['Bed mat 101 A', { room: '101', bed: 'A', resident: 'NC-2041' }, ['outOfBed']],
  ['Bed mat 101 B', { room: '101', bed: 'B', resident: 'NC-2058' }, ['inactivity']],
  ['Call cord 102', { room: '102', resident: 'NC-1987' }, ['helpCall']],
  ['Fall sensor 102', { room: '102', resident: 'NC-1987' }, ['fall', 'noise']],
  ['Door sensor 103', { room: '103', resident: 'NC-2110' }, ['outOfRoom', 'wandering']],
  ['Seat pad 104', { room: '104', resident: 'NC-2003' }, ['outOfSeat', 'inactivity']],
  ['Room sensor 105', { room: '105', resident: 'NC-2076' }, ['fall', 'noise', 'helpCall']],
  ['Corridor 1F', { area: '1st floor', phone: 'DECT 17' }, ['wandering', 'fall']],
];

/** Returns a function that calls the gateway's HTTP interface with the token. */
export function requester(httpUrl, token) {
  return async (method, path, body) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const answer = await fetch(httpUrl + path, { method, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
}

/** Sets up the home over HTTP, as its administrator would, and connects its sensors. */
export async function openHome({ httpUrl, mqttPort, adminToken }) {
  const send = requester(httpUrl, adminToken);
  const mqttUrl = `mqtt://127.0.0.1:${mqttPort}`;
  const { id } = await send('POST', '/care-homes', { name: LOCATION });
  const home = `/care-homes/${id}`;
  const { id: groupId } = await send('POST', `${home}/groups`, { name: '1st floor' });
  const [rooms, sensors] = [{}, []];
  for (const [name, customData, kinds] of SENSORS) {
    const device = await send('POST', `${home}/devices`, { name });
    const path = `${home}/devices/${device.id}`;
    await send('PATCH', `${path}/custom-data`, customData);
    const { room } = customData;
    if (room !== undefined) {
      rooms[room] ??= await send('POST', `${home}/rooms`, { name: `Room ${room}`, groupId });
      await send('POST', `${path}/move`, { targetRoomId: rooms[room].id });
    }
    const client = connect(mqttUrl, { username: device.id, password: device.secret });
    sensors.push({ name, kinds, topic: `devices/${device.id}`, client });
  }
  const newToken = (name, grants) => send('POST', '/access-tokens', { name, grants });
  const nurseCall = await newToken('Nurse call', [{ location: id, role: 'viewer' }]);
  // A separate token, so that the audit trail shows what was done on the board.
  const board = await newToken('Board', [{ location: '*', role: 'admin' }]);
  return {
    id,
    name: LOCATION,
    sensors,
    boardUrl: `${httpUrl}/#/?token=${board.token}`,
    nurseCall: { mqttUrl, mqttPort, ...nurseCall, filter: `${home.slice(1)}/devices/+/alarms/#` },
  };
}

/** A new alarm of the kind, as a sensor would publish it. */
export function newAlarm(kind) {
  return { id: randomUUID(), kind, detectedAt: new Date().toISOString() };
}

/** Messages wait for the connection, and mqtt.js reconnects; the demo counts alarms that do not arrive. */
export function connect(url, options) {
  return mqtt.connect(url, options).on('error', () => undefined);
}
