// A fictional care home on the real gateway, for the demo and the screenshots.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import mqtt from 'mqtt';

const PROGRAM = join(import.meta.dirname, '../../dist/main.js');
const LOCATION = 'Haus am See';
/** Every kind of alarm has a sensor that detects it. */
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

/**
 * Starts the gateway in its own process, with its log and data in the directory.
 *
 * `ended` rejects when it has ended, `ready` resolves to its ports and its administrator's token.
 */
export function spawnGateway(directory) {
  const log = openSync(join(directory, 'gateway.log'), 'a', 0o600);
  const config = join(directory, 'gateway.yaml');
  // Its own file, so that it does not read the sample, which may have been edited.
  writeFileSync(config, 'dataDir: data\nmqtt:\n  port: 0\nhttp:\n  port: 0\n');
  const child = spawn(process.execPath, [PROGRAM, '--config', config], {
    cwd: directory,
    // Without the settings of a real gateway, which may name its store.
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', log],
    // Its own group: Ctrl-C in the terminal is for the demo, which stops the gateway last.
    detached: true,
  });
  let lastWords = '';
  const started = new Promise((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      writeSync(log, `${line}\n`);
      const { level, msg, addresses } = JSON.parse(line);
      if (level === 60) lastWords = `: ${msg}`;
      if (msg !== 'gateway ready') return;
      const adminToken = readFileSync(join(directory, 'data/admin.token'), 'utf8').trim();
      const httpUrl = `http://127.0.0.1:${addresses.http.port}`;
      resolve({ mqttPort: addresses.mqtt.port, httpUrl, adminToken });
    });
  });
  const end = once(child, 'exit');
  const ended = end.then(([status, signal]) => {
    throw new Error(`the gateway ended with ${signal ?? `status ${status}`}${lastWords}`);
  });
  /** Ends the gateway, which takes at most ten seconds; rejects if it does not end cleanly. */
  const stop = async () => {
    child.kill('SIGTERM');
    const [status, signal] = await end;
    try {
      // The store of a killed gateway outlives it on purpose; a store that ended has removed its file.
      process.kill(readFileSync(join(directory, 'data/redis/redis.pid'), 'utf8'), 'SIGKILL');
    } catch {
      // Without the file or the process there is nothing left to end.
    }
    // The signal itself ends the gateway if it does not handle it yet.
    if (status !== 0 && signal !== 'SIGTERM') await ended;
  };
  return { ended, ready: Promise.race([started, ended]), stop };
}

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
export function newAlarm(kind, detectedAtMs = Date.now()) {
  return { id: randomUUID(), kind, detectedAt: new Date(detectedAtMs).toISOString() };
}

/** Messages wait for the connection, and mqtt.js reconnects; the demo counts alarms that do not arrive. */
export function connect(url, options) {
  return mqtt.connect(url, options).on('error', () => undefined);
}
