/** Retained messages: which a subscriber gets, when, and that many of them hold nobody up. Quotas are in `budgets`. */
import { randomUUID } from 'node:crypto';
import { expect, type Home, type TestDevice, testWith } from '../harness/index.js';
import { residentBytes } from '../harness/program.js';

const MIB = 2 ** 20;
const env = { GATEWAY_LOG_LEVEL: 'debug' };
const test = testWith({ env });

const QOS = [0, 1, 2] as const;
const MAX_OF_DEVICE = 500;

function retain(home: Home, device: TestDevice, rest: string, payload: string): Promise<void> {
  return home.publish(device, rest, payload, { retain: true });
}

/** Has as many devices as it takes retain so many values. */
async function retainValues(home: Home, count: number, text: string): Promise<void> {
  for (let first = 0; first < count; first += MAX_OF_DEVICE) {
    const device = await home.device();
    const publisher = await home.client(device);
    const numbers = Array.from({ length: MAX_OF_DEVICE }, (_, n) => first + n);
    const topics = numbers.map((n) => `devices/${device.id}/value/${n}`);
    await Promise.all(topics.map((topic) => publisher.publish(topic, text, { retain: true })));
  }
}

/** How many retained messages a new subscriber gets of the device. */
async function count(home: Home, device: TestDevice, rest: string): Promise<number> {
  return (await home.retained(home.filter(device, rest))).size;
}

test.for(QOS)(
  'a message at QoS %i comes without the flag live, and with it later',
  async (qos, { home }) => {
    const device = await home.device();
    const filters = [home.filter(device, 'temperature')];
    const live = await home.nurse({ filters });
    await home.publish(device, 'temperature', '21.50', { qos, retain: true });
    await live.untilCount(1);
    const late = await home.nurse({ filters });
    await late.untilCount(1);
    const flags = [live, late].map(({ received: [one] }) => [one?.retain, one?.qos, one?.text]);
    const text = live.received[0]?.text;
    expect(text).toContain('"data":21.50');
    expect(flags).toEqual([
      [false, Math.min(qos, 1), text],
      [true, Math.min(qos, 1), text],
    ]);
  },
);

test('the last of a topic is retained, an empty one removes it, and comes live as empty', async ({
  home,
}) => {
  const device = await home.device();
  const topic = home.filter(device, 'temperature');
  for (const value of ['1', '2', '3']) await retain(home, device, 'temperature', value);
  expect((await home.retained(topic)).get(topic)).toMatchObject({ data: 3 });
  const live = await home.nurse({ filters: [topic] });
  await live.untilCount(1);
  await retain(home, device, 'temperature', '');
  await live.untilCount(2);
  expect(live.messages()[1]).toMatchObject({ base64: '' });
  expect(await count(home, device, 'temperature')).toBe(0);
});

test('one comes once for overlapping filters of a SUBSCRIBE', async ({ home }) => {
  const device = await home.device();
  await retain(home, device, 'a/b', '1');
  const client = await home.client();
  await client.subscribe(['a/b', 'a/+', 'a/#'].map((rest) => home.filter(device, rest)));
  await client.ping();
  expect(client.received).toHaveLength(1);
});

test.for(['[x]/y', 'a*b/y', '?/y', '\\/y', 'a^/y'])(
  'a wildcard matches %s',
  async (rest, { home }) => {
    const device = await home.device();
    await retain(home, device, rest, '1');
    expect(await count(home, device, `${rest.split('/')[0]}/+`)).toBe(1);
  },
);

test('one comes again for each SUBSCRIBE, also right after the live message, not for a session', async ({
  home,
}) => {
  const device = await home.device();
  const filter = home.filter(device, 'temperature');
  const session = { clientId: randomUUID(), clean: false };
  const sensor = await home.client(device);
  for (let value = 1; value <= 5; value++) {
    const nurse = await home.client(home.viewer, session);
    const flags = () => nurse.received.filter(({ text }) => text.includes(`"data":${value},`));
    if (value === 1) await nurse.subscribe(filter);
    await nurse.ping();
    // The session was resumed: what is retained does not come by itself.
    expect(nurse.received.filter(({ retain: flag }) => flag)).toEqual([]);
    await sensor.publish(`devices/${device.id}/temperature`, String(value), { retain: true });
    await nurse.until(() => flags().length === 1, 'it live');
    await nurse.unsubscribe(filter);
    await nurse.subscribe(filter);
    await nurse.subscribe(filter);
    await nurse.until(() => flags().length === 3, 'it again');
    expect(flags().map(({ retain: flag }) => flag)).toEqual([false, true, true]);
    nurse.vanish();
  }
});

test('an alarm is never retained, and nobody but the gateway publishes a status', async ({
  home,
}) => {
  const device = await home.device();
  const topic = home.filter(device, 'status');
  await retain(home, device, 'alarms', '{"kind":"fall"}');
  expect(await home.alarms(device)).toHaveLength(1);
  expect(await count(home, device, 'alarms/#')).toBe(0);
  const sensor = await home.client(device);
  const status = async () => (await home.retained(topic)).get(topic);
  await sensor.publish(`devices/${device.id}/status`, '{"online":false}', { retain: true });
  await expect.poll(status).toMatchObject({ online: true });
  await sensor.end();
  await expect.poll(status).toMatchObject({ online: false });
});

test('gateway/status comes at once', async ({ home }) => {
  const client = await home.client();
  await client.subscribe('gateway/status');
  expect(await client.next('publish')).toMatchObject({ retain: true, qos: 1 });
  expect(client.messages()).toMatchObject([{ online: true }]);
});

test('one at QoS 2 comes at QoS 1 to a session that asked for QoS 2', async ({ home }) => {
  const device = await home.device();
  const filter = home.filter(device, 'temperature');
  const nurse = await home.client(home.viewer, { clientId: randomUUID(), clean: false });
  expect(await nurse.subscribe(filter, { qos: 2 })).toEqual([1]);
  await home.publish(device, 'temperature', '21', { qos: 2, retain: true });
  expect(await nurse.next('publish')).toMatchObject({ qos: 1, retain: false });
  await nurse.subscribe(filter, { qos: 2 });
  expect(await nurse.next('publish')).toMatchObject({ qos: 1, retain: true });
  await nurse.ping();
});

const MANY = 1_500;

test('thousands come to a subscriber once each, after a restart too, while others get alarms', {
  timeout: 60_000,
}, async ({ home, gateway }) => {
  const [device, sensor, nurse] = [await home.device(), await home.sensor(), await home.nurse()];
  await retainValues(home, MANY, '1');
  await sensor.end();
  await nurse.leave();
  await gateway.restart();
  await nurse.connect();
  const again = await home.sensor({ device: sensor.device });
  const level = await home.client(device);
  const publishLevel = (value: number) =>
    level.publish(`devices/${device.id}/level`, String(value), { retain: true });
  await publishLevel(0);
  const all = await home.client();
  const filters = ['value/#', 'level'].map((rest) => home.filter(undefined, rest));
  const subscribed = all.subscribe(filters);
  const alarmsBetween = [];
  for (let n = 1; all.received.length < MANY; n++) {
    const [alarm] = await Promise.all([again.raise(), publishLevel(n)]);
    if (alarm[0] !== undefined) await nurse.until(alarm[0]);
    if (all.received.length > 0 && all.received.length < MANY) alarmsBetween.push(n);
  }
  await subscribed;
  await all.ping();
  const topics = all.topics.filter((topic) => topic.includes('/value/'));
  expect([topics.length, new Set(topics).size]).toEqual([MANY, MANY]);
  expect(alarmsBetween.length).toBeGreaterThan(0);
  // One that changes meanwhile comes last with its newest value.
  await publishLevel(1_000_000);
  const levels = () => all.messages('/level').map(({ data }) => Number(data));
  await expect.poll(() => levels().at(-1)).toBe(1_000_000);
  expect(levels()).toEqual(levels().toSorted((one, other) => one - other));
});

test('those of subscribers that read nothing take memory only for what is in flight', {
  timeout: 60_000,
}, async ({ own }) => {
  const home = await own.home({ kind: 'process', env });
  await retainValues(home, 2_000, 'x'.repeat(1_000));
  const filter = home.filter(undefined, 'value/#');
  const lazy = async () => {
    const client = await home.client(home.viewer, { acknowledges: false });
    client.send({
      cmd: 'subscribe',
      messageId: 1,
      subscriptions: [{ topic: filter, qos: 1 }],
    });
    await client.untilCount(50);
    return client;
  };
  // The first one makes the gateway load what it needs.
  await lazy();
  const before = await residentBytes(home.gateway.processId);
  const clients = await Promise.all(Array.from({ length: 20 }, lazy));
  const witness = await home.client();
  for (let look = 0; look < 5; look++) {
    await witness.subscribe(home.filter(undefined, `value/${look}`));
    await witness.untilCount(look + 1);
    expect((await residentBytes(home.gateway.processId)) - before).toBeLessThan(24 * MIB);
  }
  // No more than may wait for an acknowledgement.
  for (const { received } of clients) expect(received.length).toBeLessThanOrEqual(100);
});
