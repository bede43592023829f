import { randomUUID } from 'node:crypto';
import mqtt from 'mqtt';

const REQUEST_TIMEOUT_MS = 10_000;
const BREATHING = { topic: 'vitals', field: 'breathsPerMinute', low: 12, high: 18 };
const CLIMATE = { topic: 'climate', field: 'celsius', low: 20, high: 24 };

/** The made-up home. Every kind of alarm has a sensor that detects it. */
const LOCATION = 'Haus am See';
const GROUP = '1st floor';
const SENSORS = [
  ['Bed mat 101 A', { room: '101', bed: 'A', resident: 'NC-2041' }, ['outOfBed'], BREATHING],
  ['Bed mat 101 B', { room: '101', bed: 'B', resident: 'NC-2058' }, ['inactivity'], BREATHING],
  ['Call cord 102', { room: '102', resident: 'NC-1987' }, ['helpCall']],
  ['Fall sensor 102', { room: '102', resident: 'NC-1987' }, ['fall', 'noise'], CLIMATE],
  ['Door sensor 103', { room: '103', resident: 'NC-2110' }, ['outOfRoom', 'wandering']],
  ['Seat pad 104', { room: '104', resident: 'NC-2003' }, ['outOfSeat', 'inactivity']],
  ['Room sensor 105', { room: '105', resident: 'NC-2076' }, ['fall', 'noise', 'helpCall'], CLIMATE],
  ['Corridor 1F', { area: '1st floor', phone: 'DECT 17' }, ['wandering', 'fall']],
];

/**
 * Sets the home up over HTTP, as its administrator would, and connects its sensors.
 *
 * @param {{ httpUrl: string, mqttPort: number, adminToken: string }} gateway
 */
export async function openHome({ httpUrl, mqttPort, adminToken }) {
  const send = async (method, path, body) => {
    const answer = await fetch(httpUrl + path, {
      method,
      headers: { Authorization: `Bearer ${adminToken}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    const text = await answer.text();
    return text === '' ? undefined : JSON.parse(text);
  };
  const mqttUrl = `mqtt://127.0.0.1:${mqttPort}`;
  const { id } = await send('POST', '/care-homes', { name: LOCATION });
  const group = await send('POST', `/care-homes/${id}/groups`, { name: GROUP });
  const rooms = new Map();
  const roomNames = new Set(SENSORS.flatMap(([, { room }]) => room ?? []));
  for (const name of roomNames) {
    const body = { name: `Room ${name}`, groupId: group.id };
    rooms.set(name, await send('POST', `/care-homes/${id}/rooms`, body));
  }
  const sensors = [];
  for (const [name, customData, kinds, reading] of SENSORS) {
    const path = `/care-homes/${id}/devices`;
    const device = await send('POST', path, { name });
    await send('PATCH', `${path}/${device.id}/custom-data`, customData);
    const targetRoomId = rooms.get(customData.room)?.id;
    if (targetRoomId !== undefined) {
      await send('POST', `${path}/${device.id}/move`, { targetRoomId });
    }
    const client = await mqtt.connectAsync(mqttUrl, {
      username: device.id,
      password: device.secret,
    });
    // mqtt.js reconnects by itself; alarms that do not arrive are counted.
    client.on('error', () => undefined);
    const topic = `devices/${device.id}`;
    sensors.push({ name, id: device.id, kinds, reading, topic, client });
  }
  const grants = [{ location: id, role: 'viewer' }];
  const token = await send('POST', '/access-tokens', { name: 'Nurse call', grants });
  // Of its own, so that the audit trail tells apart what was done on the board.
  const all = [{ location: '*', role: 'admin' }];
  const board = await send('POST', '/access-tokens', { name: 'Board', grants: all });
  return {
    id,
    name: LOCATION,
    sensors,
    boardUrl: `${httpUrl}/#/?token=${board.token}`,
    nurseCall: { mqttUrl, mqttPort, ...token, filter: `care-homes/${id}/#` },
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
  const { sessionPresent } = await new Promise((resolve, reject) => {
    client.once('connect', resolve);
    // Also later, when mqtt.js reconnects by itself, an error must not end the demo.
    client.on('error', reject);
  });
  if (!sessionPresent) await client.subscribeAsync(filter, { qos: 1 });
  return client;
}
