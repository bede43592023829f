import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWebSocketStream, WebSocket } from 'ws';
import { z } from 'zod';
import { connectPacket, credentials, RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';

const connectionSchema = z.looseObject({ clientId: z.string(), since: z.string() });
const pageSchema = z.object({
  nextCursor: z.string().nullable(),
  connections: z.array(connectionSchema),
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
