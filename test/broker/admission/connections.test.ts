import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { generate, type IConnectPacket } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWebSocketStream, WebSocket } from 'ws';
import { z } from 'zod';
import { DENIED_REASONS } from '../../../src/site/access/connection-list.js';
import type { TestDevice, TestToken } from '../../harness/clients/api.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../../harness/clients/raw-client.js';
import { Home } from '../../harness/home.js';

const connectionSchema = z.looseObject({ clientId: z.string(), since: z.string() });
const pageSchema = z.object({
  nextCursor: z.string().nullable(),
  connections: z.array(connectionSchema),
});
const deniedSchema = z.looseObject({
  at: z.string(),
  clientId: z.string().nullable(),
  code: z.string(),
  detail: z.string(),
});

let home: Home;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_MQTT_MAX_FILTERS_PER_SESSION: '3' });
});

afterAll(() => home.remove());

async function page(query = '') {
  return pageSchema.parse(await home.api.json('GET', `/connections?${query}`));
}

/** A nurse-call system whose connection is open at the gateway, too: the gateway has answered a packet. */
async function opened(clientId: string): Promise<RawClient> {
  const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId });
  await nurse.ping();
  return nurse;
}

/** All connections, page after page. */
async function connections(limit = 100) {
  const found: z.infer<typeof connectionSchema>[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const part: z.infer<typeof pageSchema> = await page(
      `limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    found.push(...part.connections);
    cursor = part.nextCursor;
  }
  return found;
}

async function connectionOf(clientId: string) {
  return (await connections()).filter((one) => one.clientId === clientId);
}

/** What the client was denied, the newest first. */
async function deniedTo(clientId: string | null) {
  const all = z.array(deniedSchema).parse(await home.api.json('GET', '/connections/denied'));
  return all.filter((one) => one.clientId === clientId);
}

/** Expects that a connect fails; resolves to the return code, or null without a CONNACK. */
async function failsWith(bytes: Buffer): Promise<number | null> {
  const client = await RawClient.open(home.gateway);
  client.stream.write(bytes);
  await client.closed();
  const [connack] = client.packets;
  return connack?.cmd === 'connack' ? (connack.returnCode ?? null) : null;
}

function connecting(who: TestDevice | TestToken, options: Partial<IConnectPacket>): Buffer {
  return generate(connectPacket({ ...credentials(who), ...options }));
}

describe('GET /connections', () => {
  it('lists who is connected, from where, since when, how, and with what backlog', async () => {
    const device = await home.device();
    const startedAt = Date.now();
    const nurse = await RawClient.connect(home.gateway, home.viewer, {
      clientId: 'shown-nurse',
      keepalive: 0,
    });
    const sensor = await RawClient.connect(home.gateway, device, {
      clientId: 'shown-sensor',
      keepalive: 30,
      protocolId: 'MQIsdp',
      protocolVersion: 3,
    });
    await nurse.subscribe([home.filter(device, 'alarms/#')]);
    const topic = `devices/${device.id}/alarms`;
    for (const id of [1, 2]) await sensor.publish(topic, '{"kind":"fall"}', 1, id);
    await nurse.next('publish');
    const [shown] = await connectionOf('shown-nurse');
    const since = Date.parse(shown?.since ?? '');
    expect(since).toBeGreaterThanOrEqual(startedAt - 5);
    expect(since).toBeLessThanOrEqual(Date.now());
    expect(shown).toEqual({
      clientId: 'shown-nurse',
      principal: { type: 'access-token', id: home.viewer.id },
      address: '127.0.0.1',
      since: shown?.since,
      protocol: 'mqtt',
      mqttVersion: '3.1.1',
      keepAliveSeconds: 300,
      backlog: { alarms: 2, messages: 0 },
      slowed: null,
    });
    expect(await connectionOf('shown-sensor')).toMatchObject([
      {
        principal: { type: 'device', id: device.id },
        mqttVersion: '3.1',
        keepAliveSeconds: 30,
        backlog: { alarms: 0, messages: 0 },
      },
    ]);
    const modern = await RawClient.connect(home.gateway, home.viewer, {
      clientId: 'shown-modern',
      protocolVersion: 5,
    });
    expect(await connectionOf('shown-modern')).toMatchObject([{ mqttVersion: '5' }]);
    for (const client of [nurse, sensor, modern]) client.vanish();
    await expect.poll(() => connectionOf('shown-nurse')).toEqual([]);
  });

  it('distinguishes WebSocket from TCP', async () => {
    const url = `${home.gateway.httpUrl.replace('http:', 'ws:')}/mqtt`;
    const socket = new WebSocket(url, ['mqtt']);
    const client = new RawClient(createWebSocketStream(socket));
    await once(socket, 'open');
    client.send(connectPacket({ ...credentials(home.viewer), clientId: 'by-websocket' }));
    await client.ping();
    expect(await connectionOf('by-websocket')).toMatchObject([{ protocol: 'ws' }]);
    socket.terminate();
  });

  it('lists in pages every connection open at the first page, each once, in order of connecting', async () => {
    const ids = Array.from({ length: 7 }, (_, index) => `paged-${7 - index}`);
    const clients: RawClient[] = [];
    for (const clientId of ids) {
      clients.push(await opened(clientId));
    }
    const isPaged = ({ clientId }: { clientId: string }) => clientId.startsWith('paged-');
    for (const limit of [1, 2, 3, 100]) {
      const found = (await connections(limit)).filter(isPaged);
      expect(found.map(({ clientId }) => clientId)).toEqual(ids);
    }
    const first = await page('limit=2');
    const late = await opened('paged-late');
    const rest = await page(`limit=100&cursor=${first.nextCursor}`);
    expect(rest.nextCursor).toBeNull();
    const both = [...first.connections, ...rest.connections].filter(isPaged);
    expect(both.map(({ clientId }) => clientId)).toEqual(ids);
    // A connection that was taken over is listed once, as the newest.
    const again = await opened(ids[0] ?? '');
    const now = (await connections(2)).filter(isPaged).map(({ clientId }) => clientId);
    expect(now).toEqual([...ids.slice(1), 'paged-late', ids[0]]);
    for (const client of [...clients, late, again]) client.vanish();
  });

  it.each(['limit=0', 'limit=101', 'cursor=AAAA', 'cursor='])('refuses %s', async (query) => {
    const { status } = await home.api.request('GET', `/connections?${query}`);
    expect(status).toBe(400);
  });
});

describe('GET /connections/denied', () => {
  it('explains why a filter of a token, a device or a full session got 0x80', async () => {
    const device = await home.device();
    const clientId = 'asks-in-vain';
    const own = `care-homes/${home.locationId}/#`;
    const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId });
    const foreign = `care-homes/${randomUUID()}/#`;
    expect(await nurse.subscribe([foreign, own])).toEqual([0x80, 1]);
    const denial = {
      address: '127.0.0.1',
      clientId,
      username: home.viewer.id,
      operation: 'subscribe',
      returnCode: 0x80,
    };
    const outside = { ...denial, topic: foreign, code: 'filter-outside-grants' };
    expect(await deniedTo(clientId)).toMatchObject([
      { ...outside, detail: DENIED_REASONS['filter-outside-grants'] },
    ]);
    const many = ['a', 'b', 'c'].map((last) => `care-homes/${home.locationId}/${last}`);
    expect(await nurse.subscribe(many)).toEqual([1, 1, 0x80]);
    expect(await deniedTo(clientId)).toMatchObject([
      { ...denial, topic: many[2], code: 'too-many-filters' },
      outside,
    ]);
    const sensor = await RawClient.connect(home.gateway, device, { clientId: 'sensor-in-vain' });
    expect(await sensor.subscribe(['#'])).toEqual([0x80]);
    expect(await deniedTo('sensor-in-vain')).toMatchObject([
      { username: device.id, topic: '#', code: 'filter-not-of-device' },
    ]);
    for (const client of [nurse, sensor]) client.vanish();
  });

  it('explains why a publish was dropped', async () => {
    const device = await home.device();
    const cases: [string, TestDevice | TestToken, string, string][] = [
      ['sends-elsewhere', device, `devices/${randomUUID()}/x`, 'topic-not-of-device'],
      ['sends-no-command', home.manager, 'x/y', 'topic-not-of-token'],
      ['sends-as-device', home.manager, `devices/${device.id}/x`, 'device-without-grant'],
      [
        ...(['commands-as-viewer', home.viewer] as const),
        ...([home.filter(device, 'commands/light'), 'command-without-grant'] as const),
      ],
    ];
    for (const [clientId, who, topic, code] of cases) {
      const client = await RawClient.connect(home.gateway, who, { clientId });
      client.send(publishPacket(topic, 'x'));
      await client.ping();
      client.vanish();
      const what = { operation: 'publish', topic, returnCode: null, username: who.id };
      expect(await deniedTo(clientId)).toMatchObject([{ ...what, code }]);
    }
  });

  it('explains why the gateway ended a connection', async () => {
    const device = await home.device();
    const malformed = await RawClient.connect(home.gateway, device, { clientId: 'malformed' });
    malformed.stream.write(Buffer.from([0x40, 2, 0, 0]));
    await malformed.closed();
    const quiet = { clientId: 'silent', keepalive: 1 };
    const silent = await RawClient.connect(home.gateway, device, quiet);
    const replaced = await RawClient.connect(home.gateway, device, { clientId: 'replaced' });
    const next = await RawClient.connect(home.gateway, device, { clientId: 'replaced' });
    await Promise.all([silent.closed(), replaced.closed()]);
    await home.api.json('POST', `${home.path}/devices/${device.id}/secret`);
    await next.closed();
    const what = { operation: 'connection', topic: null, returnCode: null, username: device.id };
    expect(await deniedTo('malformed')).toMatchObject([
      {
        ...what,
        code: 'malformed-packet',
        detail: `${DENIED_REASONS['malformed-packet']} (no packet identifier)`,
      },
    ]);
    expect(await deniedTo('silent')).toMatchObject([{ ...what, code: 'keep-alive-timeout' }]);
    expect(await deniedTo('replaced')).toMatchObject([
      { ...what, code: 'credential-ended' },
      { ...what, code: 'taken-over' },
    ]);
  });

  it('explains why a CONNECT failed, with the return code that the client got', async () => {
    const device = await home.device();
    const password = Buffer.from('wrong');
    const missing = connecting(device, { clientId: '' });
    // No library sends this: the clean-session flag is cleared.
    const flagsAt = missing.indexOf('MQTT') + 5;
    missing.writeUInt8(missing.readUInt8(flagsAt) & ~0x02, flagsAt);
    const long = 'x'.repeat(300);
    const cases: [string, string, Buffer, number | null, string | null][] = [
      [
        'wrong',
        'wrong-password',
        connecting(device, { clientId: 'wrong', password }),
        4,
        device.id,
      ],
      [
        ...(['unknown', 'unknown-user-name'] as const),
        ...([connecting(device, { clientId: 'unknown', username: 'hunter2' }), 4, null] as const),
      ],
      [
        ...(['stranger', 'unknown-user-name'] as const),
        connecting(device, { clientId: 'stranger', username: randomUUID() }),
        ...([4, null] as const),
      ],
      ['nobody', 'no-credentials', generate(connectPacket({ clientId: 'nobody' })), 5, null],
      ['', 'client-id-missing', missing, 2, device.id],
      [
        ...([long.slice(0, 256), 'client-id-too-long'] as const),
        ...([connecting(device, { clientId: long }), 2, device.id] as const),
      ],
      [
        ...(['bridge/x', 'client-id-reserved'] as const),
        ...([connecting(device, { clientId: 'bridge/x' }), 2, device.id] as const),
      ],
      [
        ...(['modern', 'wrong-password'] as const),
        ...([
          connecting(device, {
            clientId: 'modern',
            protocolVersion: 5,
            password: Buffer.from('x'),
          }),
          0x86,
          device.id,
        ] as const),
      ],
      [
        ...(['broken', 'malformed-connect'] as const),
        ...([
          connecting(device, {
            clientId: 'broken',
            will: { topic: '#', payload: Buffer.from('x'), qos: 0, retain: false },
          }),
          null,
          device.id,
        ] as const),
      ],
    ];
    for (const [clientId, code, bytes, returnCode, username] of cases) {
      expect([code, await failsWith(bytes)]).toEqual([code, returnCode]);
      const [operation, topic] = ['connect', null];
      const [denied, ...more] = await deniedTo(clientId);
      expect([code, more]).toEqual([code, []]);
      const address = '127.0.0.1';
      expect(denied).toMatchObject({ address, code, returnCode, username, operation, topic });
    }
    expect((await deniedTo('broken'))[0]?.detail).toContain('unusable topic of the will');
    const text = JSON.stringify(await home.api.json('GET', '/connections/denied'));
    expect(text).not.toContain('hunter2');
    expect(text).not.toContain(device.secret);
  });

  it('includes connections that sent no CONNECT', async () => {
    const isNew = new Set((await deniedTo(null)).map(({ at }) => at));
    expect(await failsWith(Buffer.from('GET / HTTP/1.1\r\n\r\n'))).toBeNull();
    const [newest] = (await deniedTo(null)).filter(({ at }) => !isNew.has(at));
    expect(newest).toMatchObject({ code: 'malformed-connect', username: null, returnCode: null });
  });

  it('lists the newest 1,000, newest first', async () => {
    const clientId = 'asks-a-lot';
    const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId });
    const filters = Array.from({ length: 1_000 }, (_, index) => `elsewhere/${index}`);
    await nurse.subscribe(filters);
    const all = async () =>
      z.array(deniedSchema).parse(await home.api.json('GET', '/connections/denied'));
    expect((await all()).map((one) => one['topic'])).toEqual(filters.toReversed());
    await nurse.subscribe(['elsewhere/last']);
    const newest = (await all()).map((one) => one['topic']);
    expect(newest).toEqual(['elsewhere/last', ...filters.toReversed().slice(0, -1)]);
    nurse.vanish();
  });
});
