import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { generate, type Packet, parser } from 'mqtt-packet';
import { afterEach, expect, it } from 'vitest';
import { NumberedPublish, numberedIn } from '../harness/load/numbered-publish.js';
import type { Plan } from '../harness/load/plan.js';
import { Reader } from '../harness/load/reader.js';

// A load generator that loses or miscounts messages proves nothing about its target.

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A broker's end of one connection. */
async function accepting(accept: (socket: Socket) => void): Promise<number> {
  const server = createServer(accept);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

it('a reader acknowledges a backlog that arrives in one chunk with its CONNACK', async () => {
  const acknowledged: Packet[] = [];
  const port = await accepting((socket) => {
    const packets = parser();
    packets.on('packet', (packet) => {
      if (packet.cmd === 'puback') acknowledged.push(packet);
      if (packet.cmd === 'disconnect') socket.end();
      if (packet.cmd !== 'connect') return;
      const connack = generate({ cmd: 'connack', returnCode: 0, sessionPresent: true });
      const alarm = new NumberedPublish({ kind: 'falls', qos: 1 }, 'device', 10);
      socket.write(Buffer.concat([connack, alarm.batch(7, 1)]));
    });
    socket.on('data', (chunk) => packets.parse(chunk));
  });
  const nothing = { firstNumber: 10, filter: '', devices: [], readers: [] };
  const plan: Plan = { ...nothing, port, kind: 'falls', qos: 1 };
  const login = { clientId: 'reader', username: 'reader', password: '', isClean: false };
  const reader = await Reader.open(plan, login, () => undefined);
  await reader.end();
  expect(acknowledged).toMatchObject([{ messageId: 7 }]);
});

const KINDS: readonly Pick<Plan, 'kind' | 'qos' | 'topic'>[] = [
  { kind: 'alarms', qos: 2 },
  { kind: 'falls', qos: 1, topic: 'care-homes/x/devices/{device}/alarms/fall' },
  { kind: 'telemetry', qos: 0 },
];

it.each(KINDS)('$kind at QoS $qos are valid MQTT, and identify their sender', (plan) => {
  const batch = new NumberedPublish(plan, 'device', 42).batch(65_536, 2);
  const found: Packet[] = [];
  const packets = parser();
  packets.on('packet', (packet) => found.push(packet));
  packets.parse(batch);
  expect(found).toHaveLength(2);
  const [packet] = found;
  if (packet?.cmd !== 'publish') throw new Error('no PUBLISH');
  const { topic, qos, messageId, payload } = packet;
  const own = plan.kind === 'telemetry' ? 'devices/device/load' : 'devices/device/alarms';
  expect(topic).toBe(plan.topic?.replace('{device}', 'device') ?? own);
  expect(qos).toBe(plan.qos);
  expect(messageId).toBe(plan.qos === 0 ? undefined : 1);
  const text = payload.toString();
  expect(JSON.parse(text)).toBeTypeOf('object');
  const bytes = Buffer.from(text);
  expect(numberedIn(bytes, 0, bytes.length)).toMatchObject({ deviceNumber: 42, publish: 65_536 });
  if (plan.kind === 'falls') expect(Math.abs(bytes.length - 150)).toBeLessThan(10);
});
