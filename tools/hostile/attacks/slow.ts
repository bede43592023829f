import { readFile } from 'node:fs/promises';
import type { Attack } from '../attack.js';
import type { Field } from '../attacker/field.js';
import { connectBytes, Wire } from '../mqtt-socket.js';
import { connectDevice, connectToken, publishOf, subscribeOf } from './packets.js';

const SLOW_CLIENTS = 500;
const BYTE_EVERY_MS = 100;

/** Writes byte by byte, with pauses, until the connection ends. */
async function dribble(field: Field, wire: Wire, bytes: Buffer): Promise<void> {
  for (let at = 0; !field.isOver && wire.isOpen; at = (at + 1) % bytes.length) {
    await wire.write(bytes.subarray(at, at + 1));
    field.count('bytes');
    await field.pause(BYTE_EVERY_MS);
  }
}

async function dial(field: Field, listener: 'mqtt' | 'http' | 'mqtts', index: number) {
  const wire = new Wire(field.endpoint(listener, index));
  wire.socket.resume();
  if (!(await wire.opened())) throw new Error('not connected');
  field.count('opened');
  return wire;
}

const slowConnect: Attack = {
  name: 'slow-connect',
  surface: 'mqtt',
  what: `${SLOW_CLIENTS} clients send their CONNECT a byte every 100 ms`,
  isForMosquitto: true,
  isUnnamed: true,
  arm: (site) => site.arms(1),
  run: (field) =>
    field.repeat(SLOW_CLIENTS, async (index) => {
      const wire = await dial(field, 'mqtt', index);
      const login = { clientId: 'x'.repeat(200), username: 'slow', password: 'x'.repeat(200) };
      await dribble(field, wire, connectBytes(login));
    }),
};

const slowPublish: Attack = {
  name: 'slow-publish',
  surface: 'mqtt',
  what: 'one device sends its publishes a byte every 100 ms over 20 connections',
  isForMosquitto: true,
  isUnnamed: true,
  arm: (site) => site.arms(1),
  run: (field) =>
    field.repeat(20, async (index) => {
      const mqtt = await connectDevice(field, index);
      const topic = `devices/${field.arms.devices[0]?.username}/t`;
      await dribble(field, mqtt.wire, publishOf({ topic, payload: 'x'.repeat(500) }));
    }),
};

/** Subscribers that read nothing while a sensor of their own home sends a lot. */
const slowReader: Attack = {
  name: 'frozen-subscribers',
  surface: 'mqtt',
  what: 'one token subscribes over 50 connections and reads nothing, while a device of its home publishes 200 values of 10 kB a second',
  isForMosquitto: true,
  arm: (site) => site.arms(1, 1),
  run: async (field) => {
    const frozen = field.repeat(50, async (index) => {
      const mqtt = await connectToken(field, index);
      await mqtt.wire.write(subscribeOf(field.arms.filter));
      mqtt.wire.socket.pause();
      // A paused socket does not see its end.
      await field.pause(6_000);
      mqtt.wire.cut();
    });
    const sensor = await connectDevice(field, 0);
    const topic = `devices/${field.arms.devices[0]?.username}/photo`;
    const packet = publishOf({ topic, payload: Buffer.alloc(10_240, 'x') });
    const busy = field.atRate(200, () => {
      if (sensor.wire.socket.writableLength < 1_000_000) sensor.wire.socket.write(packet);
      field.count('published');
    });
    await Promise.all([frozen, busy]);
  },
};

const slowRequests: Attack = {
  name: 'slow-http-requests',
  surface: 'http',
  what: `${SLOW_CLIENTS} clients send the head of an HTTP request a byte every 100 ms`,
  isForMosquitto: false,
  isUnnamed: true,
  arm: (site) => site.arms(0),
  run: (field) =>
    field.repeat(SLOW_CLIENTS, async (index) => {
      const wire = await dial(field, 'http', index);
      const head = `GET /healthz HTTP/1.1\r\nHost: gateway\r\nX-Slow: ${'x'.repeat(2_000)}`;
      await dribble(field, wire, Buffer.from(head));
    }),
};

const slowAnswers: Attack = {
  name: 'slow-http-answers',
  surface: 'http',
  what: `${SLOW_CLIENTS} clients pipeline requests for /openapi.json and read none of the answers`,
  isForMosquitto: false,
  isUnnamed: true,
  arm: (site) => site.arms(0),
  run: (field) =>
    field.repeat(SLOW_CLIENTS, async (index) => {
      const wire = new Wire(field.endpoint('http', index));
      if (!(await wire.opened())) throw new Error('not connected');
      field.count('opened');
      wire.socket.pause();
      wire.socket.write('GET /openapi.json HTTP/1.1\r\nHost: gateway\r\n\r\n'.repeat(50));
      // A paused socket does not see its end.
      await field.pause(5_000);
      wire.cut();
    }),
};

/** As much as a request may have in its head. */
const PADDING = 'x'.repeat(7_000);
const UNFINISHED_PER_SECOND = 1_000;
/** Far above what the gateway needs, and far below what it held while it kept each request for 30 s. */
const MAX_RESIDENT_MIB = 300;

/** A request that is answered before its body has come must leave nothing behind. */
const unfinishedBodies: Attack = {
  name: 'unfinished-bodies',
  surface: 'http',
  what: `a stranger sends ${UNFINISHED_PER_SECOND} POSTs a second with heads of 7 kB and never their bodies, over new connections`,
  isForMosquitto: false,
  isUnnamed: true,
  arm: (site) => site.arms(0),
  run: (field) =>
    field.atRate(UNFINISHED_PER_SECOND, (n) => {
      const wire = new Wire(field.endpoint('http', n));
      wire.socket.resume();
      field.count('requests');
      const head = `POST /care-homes HTTP/1.1\r\nHost: gateway\r\nX-Padding: ${PADDING}\r\n`;
      wire.socket.write(`${head}Content-Length: 65000\r\n\r\n`);
    }),
  harm: async (site) => {
    const [gateway] = site.processIds;
    const status = await readFile(`/proc/${gateway}/status`, 'utf8');
    const mib = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
    return mib <= MAX_RESIDENT_MIB ? undefined : `${Math.round(mib)} MiB are held`;
  },
};

const slowHandshakes: Attack = {
  name: 'slow-handshakes',
  surface: 'tls',
  what: `${SLOW_CLIENTS} clients connect to the TLS listener and send the handshake a byte every 100 ms`,
  isForMosquitto: false,
  isUnnamed: true,
  needs: () => ({ tls: 'ecdsa' }),
  arm: (site) => site.arms(0),
  run: (field) =>
    field.repeat(SLOW_CLIENTS, async (index) => {
      const wire = new Wire({ ...field.endpoint('mqtts', index), isTls: false });
      wire.socket.resume();
      if (!(await wire.opened())) throw new Error('not connected');
      field.count('opened');
      // A handshake record of 512 bytes, with the beginning of a ClientHello (RFC 8446, 4.1.2).
      const hello = Buffer.concat([
        Buffer.from('1603010200010001fc0303', 'hex'),
        Buffer.alloc(506),
      ]);
      await dribble(field, wire, hello);
    }),
};

export const SLOW: readonly Attack[] = [
  slowConnect,
  slowPublish,
  slowReader,
  slowRequests,
  slowAnswers,
  unfinishedBodies,
  slowHandshakes,
];
