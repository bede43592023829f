/** Attacks on what the gateway stores: large alarms, retained values, backlogs, recordings, guesses of passwords. */
import { statfsSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { z } from 'zod';
import { Connection } from '../../../test/harness/load/connection.js';
import type { Login } from '../../../test/harness/load/plan.js';
import type { Attack, Counts } from '../attack.js';
import type { Line } from '../field.js';
import { loginOf, type Site } from '../gateway.js';
import { alarmOf, identifierOf, nothing, type Publish, publishOf, subscribeOf } from './packets.js';

const [KIB, MIB] = [1024, 1024 * 1024];
const RETAINED_TOPICS = 3_000;
const [BURST, BURST_TICKS] = [10_050, 150];
const UNACKNOWLEDGED_BYTES = 32 * MIB;
const [CONNACK, PUBACK] = [Buffer.of(0x20, 2, 0, 0), 4];
/** The room left for recordings: an attack must not fill the disk of the machine it runs on. */
const ROOM_BYTES = 512 * MIB;
const UPSTREAM_BYTES = 200 * MIB;
const MAX_GUESSES_PER_SECOND = 5;

/** Publishes at QoS 1 at a rate; the bytes in flight are bounded, as a device's memory is. */
function atRate(
  name: string,
  what: string,
  perSecond: number,
  publish: (line: Line, n: number) => Publish,
  rest: Partial<Attack> = {},
): Attack {
  return {
    name,
    what,
    connections: 1,
    as: 'device',
    has: { devices: 1 },
    expects: 'served',
    sends: (line, connection) => {
      let unacknowledgedBytes = 0;
      const sizes = new Map<number, number>();
      connection.take = (header, bytes, start) => {
        if (header >> 4 === PUBACK)
          unacknowledgedBytes -= sizes.get(bytes.readUInt16BE(start)) ?? 0;
      };
      return line.atRate(perSecond, (n) => {
        if (unacknowledgedBytes > UNACKNOWLEDGED_BYTES) return '';
        const messageId = identifierOf(n + 1);
        const packet = publishOf({ qos: 1, messageId, ...publish(line, n) });
        unacknowledgedBytes += packet.length;
        sizes.set(messageId, packet.length);
        return packet;
      });
    },
    ...rest,
  };
}

/** Leaves behind a durable session of the attacker's home, for which everything queues. */
async function leaveSession(site: Site): Promise<Record<string, string>> {
  const { tokens, filter } = await site.arms(0, 1);
  const [token] = tokens;
  const connection = new Connection({ port: site.gateway.mqttPort });
  if (token === undefined || (await connection.logIn(token, { clean: false })) !== 0) {
    throw new Error('the absent session was not admitted');
  }
  const subscribed = new Promise<void>((resolve) => {
    connection.take = () => resolve();
  });
  connection.socket.write(subscribeOf([filter]));
  await subscribed;
  await connection.end();
  return {};
}

const alarmBurst: Attack = {
  name: 'alarm-burst',
  what: 'one device publishes 10,050 alarms in 1.5 s while the durable subscriber of both homes is away',
  connections: 1,
  as: 'device',
  has: { devices: 1 },
  expects: 'served',
  isDurableAway: true,
  areSubscribersShared: true,
  isUnnamed: true,
  holds: true,
  sends: async function* (line) {
    const topic = `devices/${line.deviceId()}/alarms`;
    const each = BURST / BURST_TICKS;
    for (let tick = 0; tick < BURST_TICKS && line.round === 0; tick++) {
      const one = (_: unknown, at: number) =>
        publishOf({ topic, payload: alarmOf(), qos: 1, messageId: tick * each + at + 1 });
      yield Buffer.concat(Array.from({ length: each }, one));
      await line.pause(10);
    }
  },
};

const preparedSchema = z.object({ uploadUrl: z.string() });

/** Uploads a recording. Resolves to the decisive status. */
async function upload(httpUrl: string, camera: Login, bytes: number): Promise<number> {
  const basic = Buffer.from(`${camera.username}:${camera.password}`).toString('base64');
  const prepared = await fetch(`${httpUrl}/devices/${camera.username}/footage`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}`, 'content-type': 'application/json' },
    body: '{"type":"video","contentType":"video/mp4"}',
  });
  const body: unknown = await prepared.json();
  if (prepared.status !== 201) return prepared.status;
  const { uploadUrl } = preparedSchema.parse(body);
  const headers = { 'content-type': 'video/mp4' };
  const stored = await fetch(uploadUrl, { method: 'PUT', headers, body: Buffer.alloc(bytes) });
  await stored.arrayBuffer();
  return stored.status;
}

const footage: Attack = {
  name: 'footage',
  leastSeconds: 15,
  what: 'one camera uploads recordings of 64 MB until nothing more is taken; another camera must still be able to',
  connections: 4,
  to: 'http',
  has: { devices: 1 },
  expects: 'denied',
  needs: () => {
    const { bavail, bsize } = statfsSync(tmpdir());
    const minFree = Math.max(0, bavail * bsize - ROOM_BYTES);
    return { env: { GATEWAY_FOOTAGE_MIN_FREE_BYTES: String(minFree) } };
  },
  arm: async (site) => ({ httpUrl: site.gateway.httpUrl }),
  sends: async function* (line) {
    const [camera] = line.arms.devices;
    if (camera === undefined) return;
    const status = await upload(line.text('httpUrl'), camera, 64 * MIB);
    line.count(status >= 400 ? 'refused' : 'uploads');
    if (status >= 400) await line.pause(200);
    yield '';
  },
  harm: async (site) => {
    const status = await upload(site.gateway.httpUrl, loginOf(site.newcomer), MIB);
    return status < 300 ? undefined : `another camera gets ${status}`;
  },
};

/** The head of a PUBLISH at QoS 0 that this many bytes follow [MQTT-2.2.3]. */
function hugePublishHead(): Buffer {
  const topic = Buffer.from('care-homes/x/devices/y/commands/z');
  const length: number[] = [];
  for (let rest = 2 + topic.length + UPSTREAM_BYTES; rest > 0; rest = Math.floor(rest / 128)) {
    length.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
  }
  return Buffer.concat([Buffer.of(0x30, ...length, 0, topic.length), topic]);
}

async function flood(socket: Socket, line: Line): Promise<void> {
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await Promise.race([new Promise((resolve) => socket.once('data', resolve)), closed]);
  socket.write(Buffer.concat([CONNACK, hugePublishHead()]));
  const chunk = Buffer.alloc(65_536, 'x');
  for (let sent = 0; sent < UPSTREAM_BYTES && !socket.destroyed; sent += chunk.length) {
    if (!socket.write(chunk)) {
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
    }
  }
  line.count('closed');
}

const upstream: Attack = {
  name: 'hostile-upstream',
  leastSeconds: 10,
  what: 'the upstream of a bridge sends a PUBLISH of 200 MB, again on each connection',
  connections: 1,
  expects: 'closed',
  needs: () => ({ hasUpstream: true }),
  arm: async (site) => {
    site.attackerNames.add('hostile');
    return { port: String(site.upstreamPort) };
  },
  sends: async function* (line) {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      flood(socket, line).catch(() => undefined);
    });
    server.listen(Number(line.text('port')), '127.0.0.1');
    while (!line.isOver) await line.pause(100);
    yield '';
  },
};

/** Guesses the password of the victims' newcomer, who must still get in meanwhile. */
function guessing(name: string, what: string, connections: number, rest: Partial<Attack>): Attack {
  return {
    name,
    what,
    connections,
    as: 'device',
    has: { devices: 1 },
    expects: 'denied',
    sends: nothing,
    leastSeconds: 30,
    arm: async (site) => ({ target: site.newcomer.id }),
    harm: async (_site: Site, { answered = 0 }: Counts, seconds: number) => {
      const perSecond = answered / seconds / (rest.addresses ?? 1);
      return perSecond > MAX_GUESSES_PER_SECOND
        ? `${perSecond.toFixed(1)} guesses a second from an address`
        : undefined;
    },
    connect: (line) => {
      // A valid login of its own after each ninth guess.
      if (line.round % 10 === 9) return {};
      const password = Buffer.from(crypto.randomUUID());
      return { username: line.text('target'), password, clientId: `guess-${line.index}` };
    },
    ...rest,
  };
}

export const STORAGE: readonly Attack[] = [
  atRate('large-alarms', 'one device publishes 900 alarms of 16 kB a second', 900, (line) => ({
    topic: `devices/${line.deviceId()}/alarms`,
    payload: alarmOf(16 * KIB),
  })),
  atRate(
    'large-retained',
    'one device retains values of 200 kB on 3,000 topics',
    RETAINED_TOPICS / 10,
    (line, n) => ({
      topic: `devices/${line.deviceId()}/photo/${n % RETAINED_TOPICS}`,
      payload: Buffer.alloc(200 * KIB, 'x'),
      retain: true,
    }),
  ),
  atRate(
    'large-backlog',
    'one device publishes values of 250 kB at QoS 1 as fast as they are stored, while a durable subscriber of its home is away',
    400,
    (line) => ({
      topic: `devices/${line.deviceId()}/photo`,
      payload: Buffer.alloc(250 * KIB, 'x'),
    }),
    { arm: leaveSession },
  ),
  alarmBurst,
  footage,
  upstream,
  guessing(
    'guessing',
    "the password of another home's device is guessed over 20 connections, with a valid login of one's own after each ninth guess",
    20,
    {},
  ),
  guessing(
    'guessing-200-addresses',
    "the password of another home's device is guessed from 200 addresses",
    200,
    { addresses: 200 },
  ),
];
