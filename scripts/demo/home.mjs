import { randomUUID } from 'node:crypto';
import mqtt from 'mqtt';

/** The made-up home. Every kind of alarm has a sensor that detects it. */
const LOCATION = 'Haus am See';
const GROUP = '1st floor';
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
    const answer = await fetch(httpUrl + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
}

/** Sets the home up over HTTP, as its administrator would, and connects its sensors. */
export async function openHome({ httpUrl, mqttPort, adminToken }) {
  const send = requester(httpUrl, adminToken);
  const mqttUrl = `mqtt://127.0.0.1:${mqttPort}`;
  const { id } = await send('POST', '/care-homes', { name: LOCATION });
  const group = await send('POST', `/care-homes/${id}/groups`, { name: GROUP });
  const rooms = new Map();
  for (const name of new Set(SENSORS.flatMap(([, { room }]) => room ?? []))) {
    const body = { name: `Room ${name}`, groupId: group.id };
    rooms.set(name, await send('POST', `/care-homes/${id}/rooms`, body));
  }
  const sensors = [];
  for (const [name, customData, kinds] of SENSORS) {
    const device = await send('POST', `/care-homes/${id}/devices`, { name });
    const path = `/care-homes/${id}/devices/${device.id}`;
    await send('PATCH', `${path}/custom-data`, customData);
    const room = rooms.get(customData.room);
    if (room !== undefined) await send('POST', `${path}/move`, { targetRoomId: room.id });
    const login = { username: device.id, password: device.secret };
    const client = await mqtt.connectAsync(mqttUrl, login);
    // mqtt.js reconnects by itself; alarms that do not arrive are counted.
    client.on('error', () => undefined);
    sensors.push({ name, kinds, topic: `devices/${device.id}`, client });
  }
  const grants = [{ location: id, role: 'viewer' }];
  const token = await send('POST', '/access-tokens', { name: 'Nurse call', grants });
  // Of its own, so that the audit trail tells apart what was done on the board.
  const all = [{ location: '*', role: 'admin' }];
  const board = await send('POST', '/access-tokens', { name: 'Board', grants: all });
  return {
    ...{ id, name: LOCATION, sensors, boardUrl: `${httpUrl}/#/?token=${board.token}` },
    nurseCall: { mqttUrl, mqttPort, ...token, filter: `care-homes/${id}/devices/+/alarms/#` },
    close: () => Promise.all(sensors.map(({ client }) => client.endAsync(true))),
  };
}

/** A new alarm of the kind, as a sensor would publish it. */
export function newAlarm(kind) {
  return { id: randomUUID(), kind, detectedAt: new Date().toISOString() };
}

/** Connects the nurse-call system, with a session that outlives its connection. */
export async function connectNurseCall({ mqttUrl, id, token, filter }, onMessage) {
  const session = { clientId: 'nurse-call-demo', clean: false };
  const client = mqtt.connect(mqttUrl, { username: id, password: token, ...session });
  // Listening starts before the connection, as the backlog follows the CONNACK at once.
  client.on('message', (topic, payload) => onMessage(topic, JSON.parse(payload.toString())));
  await new Promise((resolve, reject) => {
    client.once('connect', resolve);
    // Also later, when mqtt.js reconnects by itself, an error must not end the demo.
    client.on('error', reject);
  });
  await client.subscribeAsync(filter, { qos: 1 });
  return client;
}
