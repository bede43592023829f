/** Subscribers, and clients that are slow. */
import { Connection, connectBytes, identified } from '../../../test/harness/load/connection.js';
import type { Login } from '../../../test/harness/load/plan.js';
import type { Attack } from '../attack.js';
import {
  alarmOf,
  batches,
  nothing,
  publishOf,
  repeated,
  requestOf,
  subscribeOf,
  unsubscribeOf,
} from './packets.js';

const FILTERS = 1_000;
const [RETAINED, RETAINING_DEVICES] = [2_000, 10];
const [PUBLISH, PUBACK, PUBACK_HEADER] = [3, 4, 0x40];
const UNRELEASED = 65_535;
const SLOW_CLIENTS = 500;
const FOR_A_TOKEN = { connections: 5, as: 'token', has: { tokens: 1 } } as const;
const SLOW = { connections: SLOW_CLIENTS, isUnnamed: true } as const;
const LONG_LOGIN = { clientId: 'x'.repeat(200), username: 'slow', password: 'x'.repeat(200) };
/** A handshake record of 512 bytes, with the beginning of a ClientHello (RFC 8446, 4.1.2). */
const HELLO = Buffer.concat([Buffer.from('1603010200010001fc0303', 'hex'), Buffer.alloc(506)]);

/** Retains values of all devices together. */
async function retain(port: number, devices: readonly Login[]): Promise<void> {
  for (const device of devices) {
    const connection = new Connection({ port });
    if ((await connection.logIn(device)) !== 0) throw new Error('not admitted');
    const perDevice = RETAINED / devices.length;
    let acknowledged = 0;
    const all = new Promise<void>((resolve) => {
      connection.take = (header) => {
        if (header >> 4 === PUBACK) acknowledged++;
        if (acknowledged === perDevice) resolve();
      };
    });
    for (let n = 1; n <= perDevice; n++) {
      const topic = `devices/${device.username}/setting/${n}`;
      const payload = 'x'.repeat(1_024);
      connection.socket.write(publishOf({ topic, payload, qos: 1, retain: true, messageId: n }));
    }
    await Promise.race([all, connection.closed]);
    await connection.end();
  }
}

export const SUBSCRIPTIONS: readonly Attack[] = [
  {
    ...FOR_A_TOKEN,
    name: 'subscribe-storm',
    what: `one token subscribes to ${FILTERS} filters and unsubscribes again without a pause, over 5 connections`,
    sends: (line) => {
      const head = line.arms.filter.replace('#', '');
      const filters = Array.from({ length: FILTERS }, (_, index) => `${head}+/+/x/${index}`);
      return line.endless(Buffer.concat([subscribeOf(filters), unsubscribeOf(filters)]));
    },
    expects: 'served',
  },
  {
    ...FOR_A_TOKEN,
    name: 'durable-subscribe-storm',
    what: 'one token subscribes and unsubscribes in 5 persistent sessions, one filter a packet, without a pause',
    connect: ({ index }) => ({ clean: false, clientId: `durable-${index}` }),
    sends: (line) => {
      const filters = [line.arms.filter.replace('#', '+/+/x')];
      return line.endless(
        repeated(Buffer.concat([subscribeOf(filters), unsubscribeOf(filters)]), 50),
      );
    },
    expects: 'served',
  },
  {
    ...FOR_A_TOKEN,
    name: 'subscribe-retained',
    isUnnamed: true,
    what: `one token subscribes again and again to everything of a home with ${RETAINED} retained values of 1 kB, over 5 connections`,
    has: { devices: RETAINING_DEVICES, tokens: 1 },
    arm: async (site, { devices }) => {
      await retain(site.gateway.mqttPort, devices);
      return {};
    },
    sends: async function* (line, connection) {
      connection.take = (header, bytes, start) => {
        if (header >> 4 !== PUBLISH || (header & 0x06) === 0) return;
        const identifier = bytes.readUInt16BE(start + 2 + bytes.readUInt16BE(start));
        connection.socket.write(identified(PUBACK_HEADER, [identifier]));
      };
      while (!line.isOver) {
        yield subscribeOf([line.arms.filter]);
        await line.pause(20);
      }
    },
    expects: 'served',
  },
  {
    name: 'qos2-unreleased',
    what: 'one device publishes 65,535 alarms at QoS 2 on each of 5 connections and releases none',
    connections: 5,
    as: 'device',
    has: { devices: 1 },
    sends: (line) => {
      const topic = `devices/${line.deviceId()}/alarms`;
      const one = (messageId: number) =>
        publishOf({ topic, payload: alarmOf(), qos: 2, messageId });
      return batches(line, 20, one, UNRELEASED);
    },
    holds: true,
    expects: 'served',
  },
  {
    name: 'wills',
    isUnnamed: true,
    what: 'one device connects with a will of 64 kB and vanishes, 50 connections at a time, without a pause',
    connections: 50,
    as: 'device',
    has: { devices: 1 },
    connect: (line) => {
      const topic = `devices/${line.deviceId()}/gone`;
      return { will: { topic, payload: Buffer.alloc(65_000, 'x'), qos: 1, retain: false } };
    },
    sends: nothing,
    expects: 'served',
  },
  {
    name: 'frozen-subscribers',
    leastSeconds: 10,
    what: 'one token subscribes over 50 connections and reads nothing, while a device of its home publishes 200 values of 10 kB a second',
    connections: 51,
    // The first connection is that of the device.
    as: 'token',
    has: { devices: 1, tokens: 1 },
    connect: (line) => {
      const [device] = line.arms.devices;
      if (line.index > 0 || device === undefined) return { clientId: `frozen-${line.index}` };
      return { ...device, password: Buffer.from(device.password) };
    },
    sends: async function* (line, { socket }) {
      if (line.index > 0) {
        socket.pause();
        yield subscribeOf([line.arms.filter]);
        // A paused socket does not see its end.
        while (!line.isOver) await line.pause(100);
        return;
      }
      const topic = `devices/${line.deviceId()}/photo`;
      const packet = publishOf({ topic, payload: Buffer.alloc(10_240, 'x') });
      yield* line.atRate(200, () => packet);
    },
    expects: 'served',
  },
  {
    ...SLOW,
    name: 'slow-connect',
    leastSeconds: 15,
    what: `${SLOW_CLIENTS} clients send their CONNECT a byte every 100 ms`,
    sends: (line) => line.dribble(connectBytes(LONG_LOGIN)),
    expects: 'closed',
  },
  {
    name: 'slow-publish',
    what: 'one device sends its publishes a byte every 100 ms over 20 connections',
    connections: 20,
    as: 'device',
    has: { devices: 1 },
    sends: (line) =>
      line.dribble(publishOf({ topic: `devices/${line.deviceId()}/t`, payload: 'x'.repeat(500) })),
    isUnnamed: true,
    expects: 'served',
  },
  {
    ...SLOW,
    name: 'slow-http-requests',
    what: `${SLOW_CLIENTS} clients send the head of an HTTP request a byte every 100 ms`,
    to: 'http',
    sends: (line) =>
      line.dribble(
        Buffer.from(`GET /healthz HTTP/1.1\r\nHost: gateway\r\nX-Slow: ${'x'.repeat(2_000)}`),
      ),
    expects: 'served',
  },
  {
    ...SLOW,
    name: 'slow-http-answers',
    what: `${SLOW_CLIENTS} clients pipeline requests for /openapi.json and read none of the answers`,
    to: 'http',
    isDeaf: true,
    sends: async function* (line) {
      yield requestOf('/openapi.json').repeat(50);
      // A paused socket does not see its end.
      while (!line.isOver) await line.pause(100);
    },
    expects: 'served',
  },
  {
    ...SLOW,
    name: 'slow-handshakes',
    what: `${SLOW_CLIENTS} clients connect to the TLS listener and send the handshake a byte every 100 ms`,
    to: 'mqtts',
    isPlain: true,
    needs: () => ({ tls: 'ecdsa' }),
    sends: (line) => line.dribble(HELLO),
    expects: 'served',
  },
];
