import { randomUUID } from 'node:crypto';
import type { IConnectPacket } from 'mqtt-packet';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { allAuditOf } from '../../former/audit.js';
import type { TestDevice, TestToken } from '../../former/clients/api.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';
import { Store } from '../../former/stored/store.js';

const DENIED = 0x80;
const ALARM = '{"kind":"fall"}';
const MIB = 1024 * 1024;

let home: Home;
let store: Store;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_LOG_LEVEL: 'debug' });
  store = await Store.of(home.gateway);
});

afterEach(() => store.thaw());

afterAll(async () => {
  store.close();
  await home.remove();
});

/** A new token for each test, which has not been denied anything yet. */
function newViewer(): Promise<TestToken> {
  return home.api.viewer(home.locationId);
}

async function topicsOf(clientId: string, who: TestDevice | TestToken) {
  const query = `actions=permission.refused&order=asc&actor=${who.id}`;
  const events = await allAuditOf(home.api, query);
  return events
    .filter(({ details }) => details['clientId'] === clientId)
    .map(({ details }) => details['topic']);
}

function filters(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => `elsewhere/${from + index}`);
}

function subscribePacket(topics: readonly string[], messageId = 1) {
  const subscriptions = topics.map((topic) => ({ topic, qos: 1 as const }));
  return { cmd: 'subscribe', messageId, subscriptions } as const;
}

async function sendConnect(who: TestDevice | TestToken, options: Partial<IConnectPacket>) {
  const client = await RawClient.open(home.gateway);
  client.send(connectPacket({ ...credentials(who), ...options }));
  return client;
}

/** The messages in the log about the client, from this line on. */
function logged(from: number, clientId: string): unknown[] {
  return home.gateway.lines
    .slice(from)
    .filter((line) => line.includes(`"clientId":"${clientId}"`))
    .map((line): unknown => Reflect.get(Object(JSON.parse(line)), 'msg'));
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

/** Denials are written in the background: soon, and each only once. */
async function recorded(clientId: string, who: TestDevice | TestToken, topics: unknown[]) {
  const sorted = () => topicsOf(clientId, who).then((written) => written.toSorted());
  await expect.poll(sorted).toEqual(topics.toSorted());
}

describe('a denial over MQTT soon appears in the audit trail', () => {
  it('for each of ten filters separately, in one SUBSCRIBE or several', async () => {
    const [viewer, clientId] = [await newViewer(), 'asks-for-much'];
    const nurse = await RawClient.connect(home.gateway, viewer, { clientId });
    expect(await nurse.subscribe(filters(6))).toEqual(Array(6).fill(DENIED));
    await recorded(clientId, viewer, filters(6));
    const more = filters(4, 6);
    nurse.send(...more.map((filter, index) => subscribePacket([filter], index + 1)));
    const isSuback = ({ cmd }: { cmd?: string }) => cmd === 'suback';
    await nurse.until((came) => came.filter(isSuback).length === 5, 'not all answered');
    await recorded(clientId, viewer, filters(10));
    nurse.vanish();
  });

  it('for a publish and a client id', async () => {
    const [device, viewer] = [await home.device(), await newViewer()];
    const clientId = 'denied-at-once';
    const topic = `devices/${randomUUID()}/x`;
    for (const qos of [0, 1, 2] as const) {
      const sensor = await RawClient.connect(home.gateway, device, { clientId });
      sensor.send({ ...publishPacket(topic, 'x'), qos, ...(qos > 0 && { messageId: 7 }) });
      await recorded(clientId, device, Array(qos + 1).fill(topic));
      await sensor.ping();
      sensor.vanish();
    }
    const session = { clientId: 'bridge/of-the-gateway' };
    const other = await sendConnect(viewer, session);
    expect((await other.next('connack')).returnCode).toBe(2);
    await recorded(session.clientId, viewer, [null]);
    other.vanish();
  });
});

describe('while the store is frozen, a denial over MQTT', () => {
  it('is answered immediately, and recorded once the store is back', async () => {
    const [device, viewer] = [await home.device(), await newViewer()];
    const reserved = 'bridge/while-frozen';
    const nurse = await RawClient.connect(home.gateway, viewer, { clientId: 'asks-frozen' });
    const sensor = await RawClient.connect(home.gateway, device, { clientId: 'sends-frozen' });
    const [asked, topic] = [filters(8), `devices/${randomUUID()}/x`];
    store.freeze();
    nurse.send(subscribePacket([home.filter(device, 'alarms/#'), ...asked]));
    sensor.send({ ...publishPacket(topic, 'x'), qos: 1, messageId: 1 });
    const other = await sendConnect(viewer, { clientId: reserved });
    expect((await nurse.next('suback')).granted).toEqual([1, ...Array(8).fill(DENIED)]);
    expect((await other.next('connack')).returnCode).toBe(2);
    await sensor.next('puback');

    store.thaw();
    await recorded('asks-frozen', viewer, asked);
    await recorded('sends-frozen', device, [topic]);
    await recorded(reserved, viewer, [null]);
    for (const client of [nurse, sensor, other]) client.vanish();
  });

  it('delays neither pings nor alarms behind a SUBSCRIBE', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#');
    const sensor = await RawClient.connect(home.gateway, device);
    store.freeze();
    sensor.send(...[1, 2, 3, 4, 5].map((messageId) => subscribePacket(['#'], messageId)));
    await sensor.ping();
    sensor.send({ ...publishPacket(`devices/${device.id}/alarms`, ALARM), qos: 1, messageId: 2 });
    await nurse.untilCount(1);
    expect(sensor.isClosed).toBe(false);
    sensor.vanish();
    await nurse.end();
  });

  it('does not stop the alarms before and after it from being forwarded', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#');
    const sensor = await RawClient.connect(home.gateway, device);
    store.freeze();
    const alarm = publishPacket(`devices/${device.id}/alarms`, ALARM);
    sensor.send(
      { ...alarm, qos: 1, messageId: 1 },
      publishPacket(`devices/${randomUUID()}/x`, 'x'),
      { ...alarm, qos: 1, messageId: 2 },
    );
    await nurse.untilCount(2);
    sensor.vanish();
    await nurse.end();
  });

  it('does not withhold alarms from the permitted filters of the same SUBSCRIBE', async () => {
    const [device, viewer] = [await home.device(), await newViewer()];
    const sensor = await RawClient.connect(home.gateway, device);
    for (const clean of [true, false]) {
      const clientId = `permitted-${clean}`;
      const nurse = await RawClient.connect(home.gateway, viewer, { clientId, clean });
      store.freeze();
      nurse.send(subscribePacket([home.filter(device, 'alarms/#'), 'gateway/bridges/#']));
      await nurse.ping();
      const alarm = publishPacket(`devices/${device.id}/alarms`, ALARM);
      sensor.send({ ...alarm, qos: 1, messageId: clean ? 1 : 2 });
      await nurse.next('publish');
      // A persistent session's filters are acknowledged only once they are stored.
      const hasSuback = nurse.packets.some(({ cmd }) => cmd === 'suback');
      expect(hasSuback).toBe(clean);
      store.thaw();
      expect((await nurse.next('suback')).granted).toEqual([1, DENIED]);
      nurse.vanish();
    }
    sensor.vanish();
  });

  it('is recorded, and nothing else is, when the client has disconnected', async () => {
    const [device, viewer] = [await home.device(), await newViewer()];
    const clientId = 'gone-meanwhile';
    const nurse = await RawClient.connect(home.gateway, viewer, { clientId });
    await expect.poll(() => logged(0, clientId)).toEqual(['connected']);
    const from = home.gateway.lines.length;
    store.freeze();
    nurse.send(subscribePacket(['gateway/bridges/#']));
    await nurse.ping();
    nurse.vanish();
    const sensor = await RawClient.connect(home.gateway, device, { clientId: `${clientId}-too` });
    sensor.send(publishPacket(`devices/${randomUUID()}/x`, 'x'));
    await sensor.ping();
    sensor.vanish();
    const ended = () => logged(from, clientId).includes('disconnected');
    await expect.poll(ended).toBe(true);
    store.thaw();
    await recorded(clientId, viewer, ['gateway/bridges/#']);
    await expect.poll(() => topicsOf(`${clientId}-too`, device)).toHaveLength(1);
    expect(logged(from, clientId)).toEqual(['subscription denied', 'disconnected']);
    expect(home.gateway.lines.slice(from).join('\n')).not.toContain('"level":50');
  });
});

describe('SUBSCRIBEs waiting for the store', () => {
  it('take bounded memory: their client is paused, and answered in the end', async () => {
    const [viewer, clientId] = [await newViewer(), 'subscribes-without-end'];
    const nurse = await RawClient.connect(home.gateway, viewer, { clientId, clean: false });
    const permitted = Array.from(
      { length: 1_000 },
      (_, index) => `care-homes/${home.locationId}/${index}`,
    );
    const count = 12;
    store.freeze();
    // 0.8 MB each, by the gateway's own measure; the principal may have 2 MiB.
    for (let number = 1; number <= count; number++) {
      nurse.send(subscribePacket(permitted, number));
    }
    const unstored = () => metric('gateway_unstored_bytes');
    await expect.poll(unstored).toBeGreaterThan(2 * MIB);
    expect(await unstored()).toBeLessThan(3 * MIB);
    expect(nurse.isClosed).toBe(false);
    store.thaw();
    const isSuback = ({ cmd }: { cmd?: string }) => cmd === 'suback';
    await nurse.until((came) => came.filter(isSuback).length >= count, 'not all answered');
    expect(nurse.packets.filter(isSuback)).toHaveLength(count);
    await expect.poll(unstored).toBe(0);
    nurse.vanish();
  });
});

describe('a SUBSCRIBE with denied filters', () => {
  it.each([true, false])(
    'is not overtaken by what follows it (clean session: %s)',
    async (clean) => {
      const [device, viewer] = [await home.device(), await newViewer()];
      const clientId = `in-order-${clean}`;
      const nurse = await RawClient.connect(home.gateway, viewer, { clientId, clean });
      const own = home.filter(device);
      nurse.send(subscribePacket([own, ...filters(200)]), {
        cmd: 'unsubscribe',
        messageId: 2,
        unsubscriptions: [own],
      });
      await Promise.all([nurse.next('suback'), nurse.next('unsuback')]);
      const witness = await home.nurse(device, 'last');
      await home.publishLast(device, 'last', '1');
      await witness.untilCount(1);
      await nurse.ping();
      expect(nurse.packets.filter(({ cmd }) => cmd === 'publish')).toEqual([]);
      nurse.vanish();
      await witness.end();
    },
  );
});

describe('a principal with too many denials', () => {
  it('is answered as before, with a bounded number of records; permitted operations continue', async () => {
    const [viewer, clientId] = [await newViewer(), 'denied-too-much'];
    const startedAt = performance.now();
    const nurse = await RawClient.connect(home.gateway, viewer, { clientId });
    expect(await nurse.subscribe(filters(1_000))).toEqual(Array(1_000).fill(DENIED));
    const own = `care-homes/${home.locationId}/#`;
    for (let round = 1; round <= 3; round++) {
      const asked = [...filters(900, 1_000 * round), own];
      expect(await nurse.subscribe(asked)).toEqual([...Array(900).fill(DENIED), 1]);
    }
    await nurse.ping();
    const tookSeconds = (performance.now() - startedAt) / 1_000;
    // The denial of another client is written after those.
    const other = await newViewer();
    const witness = await RawClient.connect(home.gateway, other, { clientId: 'witness' });
    await witness.subscribe(['gateway/bridges/#']);
    await recorded('witness', other, ['gateway/bridges/#']);
    const written = await topicsOf(clientId, viewer);
    expect(written.slice(0, 10)).toEqual(filters(10));
    expect(written.length).toBeLessThanOrEqual(10 + Math.ceil(10 * tookSeconds));
    expect(await metric('gateway_lost_denials_total')).toBe(0);
    for (const client of [nurse, witness]) client.vanish();
  });
});
