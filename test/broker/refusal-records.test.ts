import { randomUUID } from 'node:crypto';
import type { IConnectPacket } from 'mqtt-packet';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice, TestToken } from '../harness/api.js';
import { Api } from '../harness/api.js';
import { allAuditOf } from '../harness/audit.js';
import { connectPacket, credentials, publishPacket, RawClient } from '../harness/raw-client.js';
import { Store } from '../harness/store.js';
import { Home } from './home.js';

const REFUSED = 0x80;
const ALARM = '{"kind":"fall"}';
/** A second is what an alarm may take (CONTRACT 4.4). */
const ALARM_WITHIN_MS = 1_000;

let home: Home;
let store: Store;

beforeAll(async () => {
  home = await Home.start();
  store = await Store.of(home.gateway);
});

afterEach(() => store.thaw());

afterAll(async () => {
  store.close();
  await home.remove();
});

/** Of every test another one, who has been refused nothing yet. */
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

function willElsewhere(): NonNullable<IConnectPacket['will']> {
  const payload = Buffer.from('x');
  return { topic: `devices/${randomUUID()}/gone`, payload, qos: 0, retain: false };
}

/** The lines of the log about the client, from there on. */
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

describe('what is refused over MQTT stands in the audit trail when the client is told', () => {
  it('each of many filters, a record of its own, in one SUBSCRIBE and in many', async () => {
    const [viewer, clientId] = [await newViewer(), 'asks-for-much'];
    const nurse = await RawClient.connect(home.gateway, viewer, { clientId });
    expect(await nurse.subscribe(filters(350))).toEqual(Array(350).fill(REFUSED));
    expect(await topicsOf(clientId, viewer)).toEqual(filters(350));
    const more = filters(300, 350);
    nurse.send(...more.map((filter, index) => subscribePacket([filter], index + 1)));
    const isSuback = ({ cmd }: { cmd?: string }) => cmd === 'suback';
    await nurse.until((came) => came.filter(isSuback).length === 301, 'not all answered');
    expect((await topicsOf(clientId, viewer)).toSorted()).toEqual(filters(650).toSorted());
    nurse.vanish();
  });

  it('a publish, a will and a client id', async () => {
    const [device, viewer] = [await home.device(), await newViewer()];
    const clientId = 'told-when-it-stands';
    const topic = `devices/${randomUUID()}/x`;
    for (const qos of [0, 1, 2] as const) {
      const sensor = await RawClient.connect(home.gateway, device, { clientId });
      sensor.send({ ...publishPacket(topic, 'x'), qos, ...(qos > 0 && { messageId: 7 }) });
      await sensor.closed();
      expect(await topicsOf(clientId, device)).toEqual(Array(qos + 1).fill(topic));
      expect(sensor.packets.map(({ cmd }) => cmd)).toEqual(['connack']);
    }
    const will = willElsewhere();
    const willing = await sendConnect(viewer, { clientId, will });
    expect((await willing.next('connack')).returnCode).toBe(5);
    expect(await topicsOf(clientId, viewer)).toEqual([will.topic]);
    const owner = await RawClient.connect(home.gateway, device, { clientId, clean: false });
    const other = await sendConnect(viewer, { clientId });
    expect((await other.next('connack')).returnCode).toBe(2);
    expect(await topicsOf(clientId, viewer)).toEqual([will.topic, null]);
    for (const client of [willing, owner, other]) client.vanish();
  });
});

describe('while the store is frozen, what is refused over MQTT', () => {
  it('is not told: a publish or a will ends the connection, a SUBSCRIBE waits for its SUBACK', async () => {
    const [device, viewer] = [await home.device(), await newViewer()];
    const clientId = 'not-told';
    const patient = 'asks-and-waits';
    const nurse = await RawClient.connect(home.gateway, viewer, { clientId: patient });
    const sensor = await RawClient.connect(home.gateway, device, { clientId });
    const from = home.gateway.lines.length;
    store.freeze();
    const witness = await RawClient.connect(home.gateway, device);
    const willing = await sendConnect(device, {
      clientId: 'not-told-either',
      will: willElsewhere(),
    });
    const asked = filters(300);
    nurse.send(subscribePacket([home.filter(device, 'alarms/#'), ...asked]));
    sensor.send({ ...publishPacket(`devices/${randomUUID()}/x`, 'x'), qos: 1, messageId: 1 });
    for (let round = 0; round < 20; round++) await witness.ping();
    expect([sensor, willing].map(({ isClosed }) => isClosed)).toEqual([false, false]);
    await Promise.all([sensor, willing].map((client) => client.closed()));
    const said = 'refusal not written down: the connection ends';
    await expect.poll(() => logged(from, clientId)).toContain(said);
    // Whoever asks for too much gets what is permitted, however long that takes.
    witness.send({ ...publishPacket(`devices/${device.id}/alarms`, ALARM), qos: 1, messageId: 1 });
    await nurse.next('publish');
    const came = [nurse, sensor, willing].map(({ packets }) => packets.map(({ cmd }) => cmd));
    expect(came).toEqual([['connack', 'publish'], ['connack'], []]);

    store.thaw();
    const { granted } = await nurse.next('suback');
    expect(granted).toEqual([1, ...Array(300).fill(REFUSED)]);
    expect(await topicsOf(patient, viewer)).toEqual(asked);
    nurse.vanish();
    witness.vanish();
  }, 30_000);

  it.each([
    ['SUBSCRIBE', (messageId: number) => subscribePacket(['#'], messageId)],
    ['PUBLISH', () => publishPacket(`devices/${randomUUID()}/x`, 'x')],
  ])('delays no ping and no alarm behind the %s', async (_what, packet) => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#');
    const sensor = await RawClient.connect(home.gateway, device);
    store.freeze();
    sensor.send(...[1, 2, 3, 4, 5].map((messageId) => packet(messageId)));
    const sentAt = performance.now();
    // One by one: what comes in one read is looked at in any case.
    await sensor.ping();
    await sensor.ping();
    sensor.send({ ...publishPacket(`devices/${device.id}/alarms`, ALARM), qos: 1, messageId: 2 });
    await nurse.untilCount(1);
    expect(performance.now() - sentAt).toBeLessThan(ALARM_WITHIN_MS);
    expect(sensor.isClosed).toBe(false);
    store.thaw();
    sensor.vanish();
    await nurse.end();
  });

  it('takes bounded memory, also of a client that has gone', async () => {
    const viewer = await newViewer();
    const permitted = Array.from(
      { length: 200 },
      (_, index) => `care-homes/${home.locationId}/${'x'.repeat(900)}/${index}`,
    );
    store.freeze();
    // 1.2 MB each, by the gateway's own measure: of 12 MiB, or 24 in one read, there is no room for 30.
    for (let connection = 0; connection < 3; connection++) {
      const nurse = await RawClient.connect(home.gateway, viewer);
      for (let number = 1; number <= 30; number++) {
        nurse.send(subscribePacket([...permitted, '#'], number));
      }
      await nurse.closed();
    }
    expect(await metric('gateway_unstored_bytes')).toBeLessThan(27 * 1024 * 1024);
    expect(await metric('gateway_unstored_bytes')).toBeGreaterThan(12_000_000);
    store.thaw();
    await expect.poll(() => metric('gateway_unstored_bytes'), { timeout: 10_000 }).toBe(0);
  }, 30_000);

  it('does not keep the permitted filters of the same SUBSCRIBE from their alarms', async () => {
    const [device, viewer] = [await home.device(), await newViewer()];
    const sensor = await RawClient.connect(home.gateway, device);
    for (const clean of [true, false]) {
      const clientId = `permitted-${clean}`;
      const nurse = await RawClient.connect(home.gateway, viewer, { clientId, clean });
      store.freeze();
      nurse.send(subscribePacket([home.filter(device, 'alarms/#'), '#']));
      await nurse.ping();
      const alarm = publishPacket(`devices/${device.id}/alarms`, ALARM);
      sensor.send({ ...alarm, qos: 1, messageId: clean ? 1 : 2 });
      await nurse.next('publish');
      expect(nurse.packets.map(({ cmd }) => cmd)).toEqual(['connack', 'pingresp', 'publish']);
      store.thaw();
      expect((await nurse.next('suback')).granted).toEqual([1, REFUSED]);
      nurse.vanish();
    }
    sensor.vanish();
  });

  it('is written down and nothing else, when the client has gone meanwhile', async () => {
    const [device, viewer] = [await home.device(), await newViewer()];
    const clientId = 'gone-meanwhile';
    const nurse = await RawClient.connect(home.gateway, viewer, { clientId });
    const sensor = await RawClient.connect(home.gateway, device, { clientId: `${clientId}-too` });
    await expect.poll(() => logged(0, clientId)).toEqual(['connected']);
    const from = home.gateway.lines.length;
    store.freeze();
    nurse.send(subscribePacket(['#']));
    sensor.send(publishPacket(`devices/${randomUUID()}/x`, 'x'));
    const willing = await sendConnect(device, { clientId: 'will-gone', will: willElsewhere() });
    await Promise.all([nurse.ping(), sensor.ping()]);
    for (const client of [nurse, sensor, willing]) client.vanish();
    const ended = () => logged(from, clientId).includes('disconnected');
    await expect.poll(ended).toBe(true);
    store.thaw();
    await expect.poll(() => topicsOf(clientId, viewer)).toEqual(['#']);
    await expect.poll(() => topicsOf(`${clientId}-too`, device)).toHaveLength(1);
    await expect.poll(() => topicsOf('will-gone', device)).toHaveLength(1);
    // Whatever comes of it has come when another connection has been through.
    const again = await RawClient.connect(home.gateway, viewer, { clientId });
    expect(await again.subscribe(['#'])).toEqual([REFUSED]);
    again.vanish();
    await expect.poll(() => logged(from, clientId)).toContain('connected');
    expect(logged(from, clientId).slice(0, 2)).toEqual(['disconnected', 'connected']);
    expect(home.gateway.lines.slice(from).join('\n')).not.toContain('"level":50');
  });
});

describe('a SUBSCRIBE with filters that are refused', () => {
  it.each([true, false])(
    'is not overtaken by what follows it (clean session: %s)',
    async (clean) => {
      const [device, viewer] = [await home.device(), await newViewer()];
      const clientId = `in-order-${clean}`;
      const nurse = await RawClient.connect(home.gateway, viewer, { clientId, clean });
      const own = home.filter(device);
      nurse.send(subscribePacket([own, ...filters(200)]), {
        ...{ cmd: 'unsubscribe', messageId: 2, unsubscriptions: [own] },
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

  it('delays no alarm of another device, however many there are', async () => {
    const device = await home.device();
    const sensor = await RawClient.connect(home.gateway, device);
    const asking = await Promise.all(
      Array.from({ length: 5 }, async () => RawClient.connect(home.gateway, await newViewer())),
    );
    for (const nurse of asking) nurse.send(subscribePacket(filters(1_000)));
    const tookMs: number[] = [];
    for (let round = 1; round <= 20; round++) {
      const sentAt = performance.now();
      await sensor.publish(`devices/${device.id}/alarms`, ALARM, 1, round);
      tookMs.push(performance.now() - sentAt);
    }
    expect(Math.max(...tookMs)).toBeLessThan(ALARM_WITHIN_MS);
    for (const nurse of asking) await nurse.next('suback');
    for (const client of [...asking, sensor]) client.vanish();
  }, 30_000);
});

describe('whoever is refused too much', () => {
  it('is told nothing of permissions any more, over MQTT and HTTP; what is permitted goes on', async () => {
    const [viewer, clientId] = [await newViewer(), 'refused-too-much'];
    const before = await metric('gateway_refusals_turned_away');
    const from = home.gateway.lines.length;
    const connectAgain = () => RawClient.connect(home.gateway, viewer, { clientId });
    const first = await connectAgain();
    expect(await first.subscribe(filters(1_000))).toHaveLength(1_000);
    // As many as it gets back in a minute and a half: not before that is it told of them.
    first.send(subscribePacket(filters(900, 1_000)));
    await first.closed();
    expect(first.packets.map(({ cmd }) => cmd)).toEqual(['connack', 'suback']);

    // Ten come back in a second: whatever has, is asked for.
    const wills: number[] = [];
    while (wills.at(-1) !== 3 && wills.length < 500) {
      const asked = Array.from({ length: 20 }, () =>
        sendConnect(viewer, { will: willElsewhere() }),
      );
      for (const client of await Promise.all(asked)) {
        wills.push((await client.next('connack')).returnCode ?? -1);
        client.vanish();
      }
    }
    expect(wills.filter((code) => code !== 3 && code !== 5)).toEqual([]);
    const answers = await Promise.all(
      Array.from({ length: 40 }, () =>
        new Api(home.gateway, viewer.token).request('GET', '/access-tokens'),
      ),
    );
    const waiting = answers.find(({ status }) => status === 429);
    expect(await waiting?.json()).toMatchObject({ code: 'too-many-refusals' });
    expect(Number(waiting?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);

    const again = await connectAgain();
    const own = `care-homes/${home.locationId}/#`;
    expect(await again.subscribe([own])).toEqual([1]);
    again.vanish();
    const told = wills.filter((code) => code === 5).length;
    const forbidden = answers.filter(({ status }) => status === 403).length;
    const events = await allAuditOf(home.api, `actions=permission.refused&actor=${viewer.id}`);
    expect(events).toHaveLength(1_000 + told + forbidden);
    const turnedAway = 1 + (wills.length - told) + (answers.length - forbidden);
    expect((await metric('gateway_refusals_turned_away')) - before).toBe(turnedAway);
    const said = () =>
      home.gateway.lines.slice(from).filter((line) => line.includes('refused too much:'));
    await expect.poll(said).toEqual([expect.stringContaining(viewer.id)]);
  }, 60_000);
});
