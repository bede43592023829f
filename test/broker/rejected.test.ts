import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { TestDevice } from '../former/clients/api.js';
import { publishPacket, RawClient } from '../former/clients/raw-client.js';
import { Home } from '../former/home.js';
import { Store } from '../former/stored/store.js';

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

interface Useless {
  readonly what: string;
  readonly reason: string;
  readonly rest: string;
  readonly payload: (device: TestDevice) => string | Buffer;
}

const ALARM = '{"kind":"fall"}';

function alarm(what: string, reason: string, payload: Useless['payload']): Useless {
  return { what, reason, rest: 'alarms', payload };
}

function topic(what: string, reason: string, rest: string): Useless {
  return { what, reason, rest, payload: () => ALARM };
}

const useless: Useless[] = [
  alarm('nothing', 'not-json', () => ''),
  alarm('broken JSON', 'not-json', () => '{"kind":"fell"'),
  alarm('no UTF-8', 'not-json', () => Buffer.from([0x7b, 0xff, 0x7d])),
  alarm('a JSON array', 'not-an-object', () => '["fall"]'),
  alarm('JSON null', 'not-an-object', () => 'null'),
  alarm('an unknown kind', 'unknown-kind', () => '{"kind":"earthquake"}'),
  alarm('no kind', 'unknown-kind', () => '{}'),
  alarm('a kind that every object has', 'unknown-kind', () => '{"kind":"constructor"}'),
  alarm('17 KiB', 'payload-too-large', () => `{"kind":"fall","x":"${'x'.repeat(17 * 1024)}"}`),
  topic('a control character', 'invalid-topic', 'a\u0001b'),
  topic('a status', 'reserved-topic', 'status'),
  topic('rejected', 'reserved-topic', 'rejected'),
  topic('commands', 'reserved-topic', 'commands'),
  topic('an alarm state', 'reserved-topic', 'alarm-states'),
  topic('the state of a fall', 'reserved-topic', 'alarm-states/fall'),
  topic('a command', 'reserved-topic', 'commands/light'),
  topic('an alarm of no kind that there is', 'reserved-topic', 'alarms/help'),
  topic('something below an alarm', 'reserved-topic', 'alarms/fall/x'),
  topic('supervision', 'reserved-topic', 'supervision'),
  topic('an escalation', 'reserved-topic', 'escalations/night'),
  topic('7 levels', 'invalid-topic', 'a/b/c/d/e/f/g'),
  topic('an empty level', 'invalid-topic', 'a//b'),
  topic('a trailing slash', 'invalid-topic', 'a/'),
];

const oneOfEachReason = useless.filter(
  ({ reason }, index) => useless.findIndex((one) => one.reason === reason) === index,
);

describe.each([
  [1, useless],
  [2, oneOfEachReason],
] as const)('an invalid publish at QoS %i', (qos, cases) => {
  it.each(cases)('$what is acknowledged and reported on both topics', async (one) => {
    const { reason, rest, payload } = one;
    const device = await home.device();
    const nurse = await home.nurse(device, '+', 'alarms/#', 'commands/#');
    const sensor = await RawClient.connect(home.gateway, device);
    await sensor.subscribe([`devices/${device.id}/rejected`, `devices/${device.id}/commands/#`]);
    const sent = payload(device);
    await sensor.publish(`devices/${device.id}/${rest}`, sent, qos);

    const told = {
      reason,
      topic: `devices/${device.id}/${rest}`,
      base64: Buffer.from(sent).toString('base64'),
      receivedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    };
    const own = await sensor.next('publish');
    expect(own).toMatchObject({ topic: `devices/${device.id}/rejected`, qos: 1, retain: false });
    expect(JSON.parse(own.payload.toString())).toEqual(told);

    // The connection stays open, and later publishes are forwarded as usual.
    await sensor.publish(`devices/${device.id}/alarms`, ALARM, qos, 2);
    await nurse.until((received) => received.some(({ text }) => text.includes('"kind":"fall",')));
    const seen = nurse.received.filter((message) => !message.topic.endsWith('/status'));
    expect(seen.map((message) => message.topic)).toEqual([
      home.filter(device, 'rejected'),
      home.filter(device, 'alarms/fall'),
    ]);
    expect(nurse.messages('/rejected')).toEqual([
      {
        ...told,
        device: { id: device.id, name: device.name },
        location: { id: home.locationId, name: 'Haus am See' },
        room: null,
        group: null,
        customData: {},
      },
    ]);
    expect((await home.api.alarms(device)).events).toHaveLength(1);
    sensor.vanish();
    await nurse.end();
  });
});

describe('an invalid publish', () => {
  it('is reported at QoS 0 too', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'rejected');
    const sensor = await RawClient.connect(home.gateway, device);
    sensor.send(publishPacket(`devices/${device.id}/alarms`, 'nonsense'));
    await nurse.untilCount(1);
    expect(nurse.messages()).toMatchObject([{ reason: 'not-json' }]);
    await sensor.ping();
    sensor.vanish();
    await nurse.end();
  });

  it('is reported to the subscribers of its location only', async () => {
    const device = await home.device();
    const elsewhere = (await home.api.createLocation('Elsewhere')).id;
    const foreign = await RawClient.connect(home.gateway, await home.api.viewer(elsewhere));
    await foreign.subscribe([`care-homes/${elsewhere}/#`]);
    const nurse = await home.nurse(device, 'rejected');
    await home.publishLast(device, 'alarms', 'nonsense');
    await nurse.untilCount(1);
    const stranger = await home.api.createDevice(elsewhere);
    const other = await RawClient.connect(home.gateway, stranger);
    await other.publish(`devices/${stranger.id}/alarms`, 'nonsense', 1);
    await foreign.until(
      (packets) => packets.some((one) => one.cmd === 'publish' && one.topic.endsWith('/rejected')),
      'its own rejected message did not come',
    );
    const topics = foreign.packets.flatMap((one) => (one.cmd === 'publish' ? [one.topic] : []));
    expect(topics.filter((one) => one.includes(device.id))).toEqual([]);
    for (const client of [foreign, other]) client.vanish();
    await nurse.end();
  });

  it('is logged without its payload', async () => {
    const device = await home.device();
    await home.publishLast(device, 'alarms', 'Frau Geheim');
    const lines = home.gateway.lines.join('\n');
    expect(lines).toContain('"msg":"invalid publish"');
    expect(lines).not.toContain('Geheim');
    expect(lines).not.toContain(Buffer.from('Frau Geheim').toString('base64'));
  });
});

const listedSchema = z.array(z.object({ base64: z.string() }));

describe('invalid publishes while the store does not answer', () => {
  /** `ingest/invalid-publishes.ts` */
  const MAX_WAITING_BYTES = 1024 * 1024;

  it('are acknowledged immediately, and the newest wait for the list, up to a bound', async () => {
    const store = await Store.of(home.gateway);
    const own = await Home.at(home.gateway);
    const device = await own.device();
    const sensor = await RawClient.connect(home.gateway, device);
    const payloadBytes = 16_000;
    const waiting = Math.floor(MAX_WAITING_BYTES / payloadBytes);
    const count = waiting + 50;
    store.freeze();
    for (let messageId = 1; messageId <= count; messageId++) {
      const payload = `${messageId}!`.padEnd(payloadBytes, 'x');
      const nonsense = publishPacket(`devices/${device.id}/alarms`, payload);
      sensor.send({ ...nonsense, qos: 1, messageId });
    }
    await sensor.until((came) => came.length === count + 1, 'not all acknowledged');
    store.thaw();
    const kept = async () => {
      const path = `/care-homes/${own.locationId}/rejected`;
      const listed = listedSchema.parse(await own.api.json('GET', path));
      return listed.map(({ base64 }) => Number.parseInt(atob(base64), 10));
    };
    const newest = Array.from({ length: waiting }, (_, index) => count - index);
    // The first was already under way.
    await expect.poll(kept).toEqual([...newest, 1]);
    store.close();
    sensor.vanish();
  });
});

describe('an alarm of 16 KiB', () => {
  it('is accepted', async () => {
    const device = await home.device();
    const frame = '{"kind":"fall","x":""}';
    const filler = 'x'.repeat(16 * 1024 - frame.length);
    await home.publishLast(device, 'alarms', `{"kind":"fall","x":"${filler}"}`);
    expect((await home.api.alarms(device)).events).toHaveLength(1);
  });
});
