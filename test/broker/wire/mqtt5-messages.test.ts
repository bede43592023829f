import type { IConnectPacket, IPublishPacket, Packet } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice, TestToken } from '../../harness/clients/api.js';
import { publishPacket, RawClient } from '../../harness/clients/raw-client.js';
import { Home } from '../../harness/home.js';

let home: Home;
let device: TestDevice;
let hub: TestToken;

beforeAll(async () => {
  home = await Home.start();
  device = await home.device();
  hub = await home.api.createToken([
    { location: home.locationId, role: 'viewer' },
    { location: home.locationId, role: 'publisher' },
  ]);
});

afterAll(() => home.remove());

/** Opens a connection of MQTT 5. */
function connect(
  who: TestDevice | TestToken,
  options: Partial<IConnectPacket> = {},
): Promise<RawClient> {
  return RawClient.connect(home.gateway, who, { protocolVersion: 5, ...options });
}

const KEPT = { clean: false, properties: { sessionExpiryInterval: 600 } };

type Subscription = Extract<Packet, { cmd: 'subscribe' }>['subscriptions'][number];

/** Subscribes with options of MQTT 5, and waits for the SUBACK. */
async function subscribe(
  client: RawClient,
  filter: string,
  options: Partial<Subscription> = {},
  identifier?: number,
): Promise<void> {
  const properties = identifier === undefined ? {} : { subscriptionIdentifier: identifier };
  const subscriptions = [{ topic: filter, qos: 1 as const, ...options }];
  client.send({ cmd: 'subscribe', messageId: 1, subscriptions, properties });
  await client.next('suback');
}

/** Publishes at QoS 1 as the device, with these properties, and waits for the PUBACK. */
async function publish(
  rest: string,
  payload: string,
  options: Partial<IPublishPacket> = {},
): Promise<void> {
  const client = await connect(device);
  const packet = publishPacket(`devices/${device.id}/${rest}`, payload);
  client.send({ ...packet, qos: 1, messageId: 1, ...options });
  await client.next('puback');
  client.vanish();
}

const PROPERTIES = {
  payloadFormatIndicator: true,
  contentType: 'application/json',
  responseTopic: 'answers/here',
  correlationData: Buffer.from([1, 0, 255]),
  userProperties: { unit: 'C', floor: ['1', '2'] },
};

describe('the properties of a message of MQTT 5 reach a subscriber unchanged', () => {
  const rests = [
    ['a value', 'values', 'values', '21'],
    ['an alarm', 'alarms', 'alarms/fall', '{"kind":"fall"}'],
  ] as const;

  it.each(rests)('%s, live and from a clean session', async (_what, rest, forwarded, payload) => {
    const nurse = await connect(home.viewer);
    await subscribe(nurse, home.filter(device, forwarded));
    await publish(rest, payload, { properties: PROPERTIES });
    expect((await nurse.next('publish')).properties).toEqual(PROPERTIES);
    nurse.vanish();
  });

  it.each(rests)('%s, from the store after a restart', async (_what, rest, forwarded, payload) => {
    const nurse = await connect(home.viewer, { clientId: `away-${rest}`, ...KEPT });
    await subscribe(nurse, home.filter(device, forwarded));
    nurse.vanish();
    await publish(rest, payload, { properties: PROPERTIES });
    await home.gateway.stop();
    await home.gateway.start();
    const back = await connect(home.viewer, { clientId: `away-${rest}`, ...KEPT });
    expect((await back.next('publish')).properties).toEqual(PROPERTIES);
    back.vanish();
  });

  it('on a retained value, even after a restart', async () => {
    await publish('kept', '1', { retain: true, properties: PROPERTIES });
    await home.gateway.stop();
    await home.gateway.start();
    const nurse = await connect(home.viewer);
    await subscribe(nurse, home.filter(device, 'kept'));
    expect(await nurse.next('publish')).toMatchObject({ retain: true, properties: PROPERTIES });
    nurse.vanish();
  });

  it('on a command, with the topic for its answer', async () => {
    const sensor = await connect(device);
    await subscribe(sensor, `devices/${device.id}/commands/#`);
    const client = await connect(home.manager);
    const topic = `${home.filter(device, 'commands/ring')}`;
    client.send({ ...publishPacket(topic, 'x'), properties: PROPERTIES });
    expect((await sensor.next('publish')).properties).toEqual(PROPERTIES);
    for (const each of [sensor, client]) each.vanish();
  });

  it('and a subscriber of 3.1.1 gets the message without them', async () => {
    const nurse = await RawClient.connect(home.gateway, home.viewer);
    await nurse.subscribe([home.filter(device, 'values')]);
    await publish('values', '22', { properties: PROPERTIES });
    expect((await nurse.next('publish')).payload.toString()).toContain('22');
    nurse.vanish();
  });
});

describe('what would make a strict subscriber disconnect repeatedly', () => {
  it('is left out: texts with control characters', async () => {
    const nurse = await connect(home.viewer);
    await subscribe(nurse, home.filter(device, 'alarms/#'));
    const userProperties = { note: 'two\nlines', unit: 'C' };
    const properties = { contentType: 'text/plain\n', responseTopic: 'a\tb', userProperties };
    await publish('alarms', '{"kind":"fall"}', { properties });
    expect((await nurse.next('publish')).properties).toEqual({ userProperties: { unit: 'C' } });
    nurse.vanish();
  });

  it('ends its sender’s connection: a wildcard in a response topic, even with an alias', async () => {
    const client = await connect(device);
    const topic = `devices/${device.id}/values`;
    const properties = { topicAlias: 1 };
    client.send({ ...publishPacket(topic, '1'), properties });
    const wild = { ...properties, responseTopic: '#' };
    client.send({ ...publishPacket('', '2'), properties: wild });
    expect((await client.next('disconnect')).reasonCode).toBe(0x82);
  });

  it('is sent once: an identifier shared by two matching filters', async () => {
    const nurse = await connect(home.viewer);
    for (const rest of ['values', 'values/#']) {
      await subscribe(nurse, home.filter(device, rest), { rh: 2 }, 7);
    }
    await publish('values', '1');
    expect((await nurse.next('publish')).properties?.subscriptionIdentifier).toBe(7);
    nurse.vanish();
  });
});

describe('message expiry', () => {
  it('counts down, and expired values are not sent', async () => {
    const nurse = await connect(home.viewer, { clientId: 'late', ...KEPT });
    for (const rest of ['alarms/#', 'values']) await subscribe(nurse, home.filter(device, rest));
    nurse.vanish();
    await publish('values', '"gone"', { properties: { messageExpiryInterval: 0 } });
    await publish('values', '"here"', { properties: { messageExpiryInterval: 1_000 } });
    await publish('alarms', '{"kind":"fall"}', { properties: { messageExpiryInterval: 0 } });
    const back = await connect(home.viewer, { clientId: 'late', ...KEPT });
    const [alarm, value] = [await back.next('publish'), await back.next('publish')];
    expect(alarm.topic).toContain('/alarms/fall');
    expect(alarm.properties?.messageExpiryInterval).toBeUndefined();
    expect(value.payload.toString()).toContain('here');
    expect(value.properties?.messageExpiryInterval).toBeLessThanOrEqual(1_000);
    await back.ping();
    expect(back.packets.filter(({ cmd }) => cmd === 'publish')).toHaveLength(2);
    back.vanish();
  });
});

describe('subscription options', () => {
  it('identifiers of all matching subscriptions are sent with the message', async () => {
    const nurse = await connect(home.viewer);
    await subscribe(nurse, home.filter(device, 'values'), {}, 7);
    await subscribe(nurse, home.filter(device, 'values/#'), {}, 300);
    await publish('values', '1');
    const { properties } = await nurse.next('publish');
    expect(new Set([properties?.subscriptionIdentifier].flat())).toEqual(new Set([7, 300]));
    nurse.vanish();
  });

  it('retain as published is the only one to keep the flag of a live message', async () => {
    const [plain, keeping] = [await connect(home.viewer), await connect(home.viewer)];
    await subscribe(plain, home.filter(device, 'flagged'));
    await subscribe(keeping, home.filter(device, 'flagged'), { rap: true });
    await publish('flagged', '1', { retain: true });
    expect((await plain.next('publish')).retain).toBe(false);
    expect((await keeping.next('publish')).retain).toBe(true);
    await subscribe(keeping, home.filter(device, 'alarms/#'), { rap: true });
    await publish('alarms', '{"kind":"fall"}', { retain: true });
    const alarm = await keeping.next('publish');
    expect([alarm.topic.includes('/alarms/'), alarm.retain]).toEqual([true, false]);
    for (const each of [plain, keeping]) each.vanish();
  });

  it.each([
    [0, [1, 2]],
    [1, [1]],
    [2, []],
  ] as const)('retain handling %i sends retained messages at %j', async (rh, times) => {
    await publish('handled', '1', { retain: true });
    const nurse = await connect(home.viewer);
    const got: number[] = [];
    for (const time of [1, 2]) {
      const before = nurse.packets.length;
      await subscribe(nurse, home.filter(device, 'handled'), { rh });
      await nurse.ping();
      if (nurse.packets.slice(before).some(({ cmd }) => cmd === 'publish')) got.push(time);
    }
    expect(got).toEqual(times);
    nurse.vanish();
  });

  it.each(['clean', 'kept'])(
    'no local withholds its own messages from a %s client',
    async (kind) => {
      const client = await connect(hub, kind === 'kept' ? { clientId: 'own', ...KEPT } : {});
      await subscribe(client, home.filter(device, 'alarms/#'), { nl: true });
      const own = { ...publishPacket(`devices/${device.id}/alarms`, '{"kind":"fall"}'), qos: 1 };
      client.send({ ...own, qos: 1, messageId: 9 });
      await client.next('puback');
      await publish('alarms', '{"kind":"helpCall"}');
      expect((await client.next('publish')).topic).toContain('helpCall');
      client.vanish();
    },
  );
});

describe('a will of MQTT 5', () => {
  const will = (payload: string, willDelayInterval: number) => ({
    topic: `devices/${device.id}/wills`,
    payload: Buffer.from(payload),
    qos: 1 as const,
    retain: false,
    properties: { willDelayInterval, contentType: 'text/plain' },
  });

  it('is sent with its properties after its delay, unless its session is resumed', async () => {
    const nurse = await connect(home.viewer);
    await subscribe(nurse, home.filter(device, 'wills'));
    const options = { clientId: 'dying', ...KEPT };
    const dropped = await connect(device, { ...options, will: will('"dropped"', 2) });
    dropped.vanish();
    const first = await connect(device, { ...options, will: will('"first"', 1) });
    first.vanish();
    const got = await nurse.next('publish');
    expect(got.payload.toString()).toContain('first');
    expect(got.properties?.contentType).toBe('text/plain');
    nurse.vanish();
  });

  it('is sent immediately when its session ends early, and after a DISCONNECT that requests it', async () => {
    const nurse = await connect(home.viewer);
    await subscribe(nurse, home.filter(device, 'wills'));
    const short = await connect(device, { will: will('"short"', 600) });
    short.vanish();
    expect((await nurse.next('publish')).payload.toString()).toContain('short');
    const replaced = await connect(device, {
      ...KEPT,
      clientId: 'replaced',
      will: will('"replaced"', 600),
    });
    replaced.vanish();
    (await connect(device, { clientId: 'replaced' })).vanish();
    expect((await nurse.next('publish')).payload.toString()).toContain('replaced');
    for (const reasonCode of [0x04, 0x80]) {
      const asking = await connect(device, { will: will(`"asking ${reasonCode}"`, 0) });
      asking.send({ cmd: 'disconnect', reasonCode });
      expect((await nurse.next('publish')).payload.toString()).toContain(`asking ${reasonCode}`);
    }
    nurse.vanish();
  });
});
