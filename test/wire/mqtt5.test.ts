/**
 * What only MQTT 5 has: limits and properties in CONNACK, the expiry of sessions, codes with reasons, aliases, sizes,
 * subscription options. What a wrong packet or a wrong login is told is in `packets.ts` and `connect.test`.
 */
import { randomUUID } from 'node:crypto';
import { DENIED_REASONS } from '../../src/broker/connection-list.js';
import {
  Client,
  type ConnectOptions,
  type Credentials,
  describe,
  expect,
  type Gateway,
  type Home,
  publishPacket,
  test,
} from '../harness/index.js';

const FIVE = { protocolVersion: 5 } as const;
const FALL = '{"kind":"fall"}';

/** A connection, its CONNACK, and how many bytes that took. */
async function connect(gateway: Gateway, who: Credentials, options: ConnectOptions = {}) {
  const client = await Client.open(gateway, { ...FIVE, ...options });
  let bytes = 0;
  client.stream.once('data', (chunk: Buffer) => {
    bytes = chunk.length;
  });
  const code = await client.login(who);
  const [connack] = client.packets;
  if (connack?.cmd !== 'connack') throw new Error('no CONNACK');
  return { client, code, connack, bytes };
}

async function connack(gateway: Gateway, who: Credentials, options: ConnectOptions = {}) {
  const answer = await connect(gateway, who, options);
  if (answer.code === 0) await answer.client.end();
  return answer;
}

/** The code of the DISCONNECT, which must also have a reason in words. */
async function disconnectCode(client: Client): Promise<number | undefined> {
  const { reasonCode, properties } = await client.next('disconnect');
  expect(properties?.reasonString).toMatch(/^.{5,}$/);
  await client.closed();
  return reasonCode;
}

describe('CONNACK', () => {
  test('says what the gateway takes, applies and assigns', async ({ home }) => {
    const device = await home.device();
    const { connack: plain } = await connack(home.gateway, device);
    expect(plain).toMatchObject({ reasonCode: 0, sessionPresent: false });
    expect(plain.properties).toEqual({ maximumPacketSize: 256 * 1024, topicAliasMaximum: 64 });
    const properties = { sessionExpiryInterval: 0xffffffff };
    const nameless = { clientId: '', keepalive: 0, properties };
    expect((await connack(home.gateway, home.viewer, nameless)).connack.properties).toMatchObject({
      assignedClientIdentifier: expect.stringMatching(/^auto-/),
      serverKeepAlive: 300,
      sessionExpiryInterval: 7 * 24 * 3_600,
    });
    const asking = { properties: { requestResponseInformation: true } };
    expect((await connack(home.gateway, device, asking)).connack.properties).toMatchObject({
      responseInformation: `devices/${device.id}/commands/`,
    });
  });

  test('refuses extended authentication', async ({ home }) => {
    const options = { properties: { authenticationMethod: 'SCRAM' } };
    expect((await connack(home.gateway, home.viewer, options)).code).toBe(0x8c);
  });

  test('is no larger than the client takes, or is a refusal', async ({ home }) => {
    const device = await home.device();
    const answer = (maximumPacketSize: number, options: ConnectOptions = {}) => {
      const properties = { maximumPacketSize, requestResponseInformation: true };
      return connack(home.gateway, device, { properties, ...options });
    };
    const whole = await answer(1_000);
    const shorter = await answer(whole.bytes - 1);
    expect([whole.code, shorter.code]).toEqual([0, 0]);
    expect(shorter.bytes).toBeLessThan(whole.bytes);
    const least = await answer(6);
    expect([least.code, least.bytes <= 6]).toEqual([0x95, true]);
    const refused = await answer(20, { clientId: 'bridge/x' });
    expect([refused.code, refused.connack.properties?.reasonString]).toEqual([0x85, undefined]);
    const shown = async () => (await home.must('GET', '/connections')).text;
    await expect.poll(shown).not.toContain(device.id);
  });
});

describe('a session', () => {
  const kept = { clean: false, properties: { sessionExpiryInterval: 600 } };
  const until = { clean: false };

  const isPresent = async ({ gateway, viewer }: Home, options: ConnectOptions) =>
    (await connack(gateway, viewer, options)).connack.sessionPresent;

  test('continues with 3.1.1, and back', async ({ home }) => {
    const clientId = randomUUID();
    expect(await isPresent(home, { clientId, ...kept })).toBe(false);
    const before = await home.client(home.viewer, { clientId, clean: false });
    await before.subscribe(home.filter(undefined, 'alarms/#'));
    before.vanish();
    await (await home.sensor()).raise();
    const after = await home.client(home.viewer, { ...FIVE, clientId, ...kept });
    expect((await after.next('publish')).topic).toContain('/alarms/fall');
    after.vanish();
    expect(await isPresent(home, { clientId, ...kept })).toBe(true);
  });

  test('ends with a connection without an expiry, and starts over with Clean Start', async ({
    home,
  }) => {
    const clientId = randomUUID();
    const steps: readonly (readonly [ConnectOptions, boolean])[] = [
      [until, false],
      [kept, false],
      [kept, true],
      [{ ...kept, clean: true }, false],
      [kept, true],
      [until, true],
      [kept, false],
    ];
    for (const [index, [options, expected]] of steps.entries()) {
      const present = await isPresent(home, { clientId, ...options });
      expect([index, present]).toEqual([index, expected]);
    }
  });

  test('passes to a connection without an expiry that takes it over, and ends with it', async ({
    home,
  }) => {
    const options = { ...FIVE, clientId: randomUUID() };
    const before = await home.client(home.viewer, { ...options, ...kept });
    await before.subscribe(home.filter(undefined, 'alarms/#'));
    const last = await home.client(home.viewer, { ...options, ...until });
    expect(await disconnectCode(before)).toBe(0x8e);
    await (await home.sensor()).raise();
    expect((await last.next('publish')).topic).toContain('/alarms/fall');
    last.vanish();
    expect(await isPresent(home, { ...options, ...kept })).toBe(false);
  });

  test('ends after its expiry, which DISCONNECT may change', async ({ home }) => {
    const options = { clientId: randomUUID(), ...kept };
    const client = await home.client(home.viewer, { ...FIVE, ...options });
    client.send({ cmd: 'disconnect', properties: { sessionExpiryInterval: 1 } });
    await client.closed();
    const listed = async () => (await home.must('GET', '/sessions')).text;
    await expect.poll(listed, { timeout: 20_000 }).not.toContain(options.clientId);
    expect(await isPresent(home, options)).toBe(false);
  });

  test('ends with its credential, with 0x87', async ({ home }) => {
    const token = await home.token();
    const client = await home.client(token, FIVE);
    await home.must('DELETE', `/access-tokens/${token.id}`);
    expect(await disconnectCode(client)).toBe(0x87);
  });
});

describe('a publish', () => {
  test('is acknowledged with the reason why it is not taken, and keeps the connection', async ({
    home,
  }) => {
    const device = await home.device();
    const own = `devices/${device.id}/alarms`;
    const client = await home.client(device, FIVE);
    for (const qos of [1, 2] as const) {
      expect(await client.publish('devices/other/alarms', FALL, { qos })).toMatchObject({
        reasonCode: 0x87,
        properties: { reasonString: DENIED_REASONS['topic-not-of-device'] },
      });
      expect(await client.publish(own, '{"kind":"tea"}', { qos })).toMatchObject({
        reasonCode: 0x99,
        properties: { reasonString: 'unknown-kind' },
      });
    }
    await client.publish(own, FALL);
    expect(await home.alarms(device)).toHaveLength(1);
  });

  test.for([
    ['wants no reasons', { requestProblemInformation: false }],
    ['takes only small packets', { maximumPacketSize: 32 }],
  ] as const)(
    'is denied without a reason to a client that %s',
    async ([, properties], { home }) => {
      const client = await home.client(await home.device(), { ...FIVE, properties });
      const answer = await client.publish('elsewhere', 'x');
      expect(answer).toMatchObject({ reasonCode: 0x87 });
      expect(answer).not.toHaveProperty('properties.reasonString');
    },
  );

  test('that is refused frees its identifier at QoS 2, even while the store is frozen', async ({
    home,
  }) => {
    const device = await home.device();
    const store = await home.store();
    const client = await home.client(device, FIVE);
    const topic = `devices/${device.id}/alarms`;
    store.freeze();
    try {
      const send = (payload: string) => client.publish(topic, payload, { qos: 2, messageId: 1 });
      expect(await send('{"kind":"tea"}')).toMatchObject({ reasonCode: 0x99 });
      const alarm = send(FALL);
      store.thaw();
      expect(await alarm).toMatchObject({ cmd: 'pubcomp' });
    } finally {
      store.thaw();
    }
    expect(await home.alarms(device)).toHaveLength(1);
  });

  test('may replace its topic by an alias', async ({ home }) => {
    const device = await home.device();
    const nurse = await home.nurse({ filters: [home.filter(device, 'values')] });
    const client = await home.client(device, FIVE);
    const publish = publishPacket(`devices/${device.id}/values`, '1');
    const properties = { topicAlias: 3 };
    client.send({ ...publish, properties }, { ...publish, topic: '', payload: '2', properties });
    await nurse.untilCount(2);
    expect(nurse.messages().map(({ data }) => data)).toEqual([1, 2]);
  });
});

describe('a subscriber', () => {
  test('gets a code for each filter, and the reasons', async ({ home }) => {
    const client = await home.client(home.viewer, FIVE);
    const filters = [home.filter(), 'care-homes/other/#', '$share/ward'];
    const subscriptions = filters.map((topic) => ({ topic, qos: 1 as const }));
    client.send({ cmd: 'subscribe', messageId: 1, subscriptions });
    const reasons = [
      DENIED_REASONS['filter-outside-grants'],
      DENIED_REASONS['shared-filter-invalid'],
    ];
    expect(await client.next('suback')).toMatchObject({
      granted: [1, 0x87, 0x8f],
      properties: { reasonString: reasons.join(' ') },
    });
    expect(await client.unsubscribe(...filters)).toMatchObject({
      granted: [0, 0x11, 0x11],
      properties: { reasonString: 'The session has no such subscription.' },
    });
  });

  test('is told that an answer is larger than it takes', async ({ home }) => {
    const filters = Array.from({ length: 100 }, (_, index) => `care-homes/+/devices/${index}/#`);
    for (const ask of ['subscribe', 'unsubscribe'] as const) {
      const properties = { maximumPacketSize: 60 };
      const client = await home.client(home.viewer, { ...FIVE, properties });
      const answer =
        ask === 'subscribe' ? client.subscribe(filters) : client.unsubscribe(...filters);
      await expect(answer).rejects.toThrow('closed');
      expect((await client.next('disconnect')).reasonCode).toBe(0x95);
    }
  });

  test('gets RETAIN as published when it asks for that, with a status too', async ({ home }) => {
    const device = await home.device();
    const client = await home.client(home.viewer, FIVE);
    await client.subscribe(home.filter(device, '+'), { rap: true, rh: 2 });
    const sensor = await home.client(device);
    const status = { topic: home.filter(device, 'status'), retain: true };
    expect(await client.next('publish')).toMatchObject(status);
    for (const retain of [false, true]) {
      await sensor.publish(`devices/${device.id}/weight`, '60', { retain });
      expect(await client.next('publish')).toMatchObject({ retain });
    }
  });

  test('gets its own message only by subscriptions without No Local, and all identifiers', async ({
    home,
  }) => {
    const device = await home.device();
    const client = await home.client(
      await home.token([{ role: 'viewer' }, { role: 'publisher' }]),
      FIVE,
    );
    const subscribe = async (topic: string, subscriptionIdentifier: number, options: object) => {
      client.send({
        cmd: 'subscribe',
        messageId: subscriptionIdentifier,
        subscriptions: [{ topic, qos: 1, ...options }],
        properties: { subscriptionIdentifier },
      });
      await client.next('suback');
    };
    const filter = home.filter(device, 'weight');
    await subscribe(filter, 7, { nl: true, rap: true });
    await subscribe(home.filter(device, '#'), 8, { qos: 0 });
    await client.publish(`devices/${device.id}/weight`, '60', { retain: true });
    await home.publish(device, 'weight', '61');
    const came = () => client.received.filter(({ topic }) => topic === filter);
    await client.until(() => came().length >= 2, 'both messages');
    expect(came().map(({ packet }) => packet)).toMatchObject([
      { qos: 0, retain: false, properties: { subscriptionIdentifier: 8 } },
      { qos: 1, properties: { subscriptionIdentifier: expect.arrayContaining([7, 8]) } },
    ]);
  });

  test('gets topics as aliases, as many as it takes', async ({ home }) => {
    const device = await home.device();
    const properties = { topicAliasMaximum: 1 };
    const options = { ...FIVE, properties, isDescribed: false };
    const client = await home.client(home.viewer, options);
    await client.subscribe(home.filter(device, 'aliased/#'), { qos: 0 });
    for (const rest of ['1', '2', '1', '2']) await home.publish(device, `aliased/${rest}`, '1');
    await client.untilCount(4);
    const [one, other] = [home.filter(device, 'aliased/1'), home.filter(device, 'aliased/2')];
    expect(
      client.received.map(({ packet }) => [packet.topic, packet.properties?.topicAlias]),
    ).toEqual([
      [one, 1],
      [other, undefined],
      ['', 1],
      [other, undefined],
    ]);
  });

  test('gets no more in flight than its receive maximum', async ({ home }) => {
    const properties = { receiveMaximum: 2 };
    const options = { ...FIVE, properties, acknowledges: false };
    const client = await home.client(home.viewer, options);
    await client.subscribe(home.filter(undefined, 'alarms/#'));
    await (await home.sensor()).raise(4);
    await client.untilRecords(2);
    await client.ping();
    expect(client.records).toHaveLength(2);
    client.acknowledge(1);
    await client.untilRecords(3);
  });

  test('gets no message larger than it takes, which is counted and holds nothing up', async ({
    home,
  }) => {
    const properties = { maximumPacketSize: 2_000, sessionExpiryInterval: 60 };
    const clientId = randomUUID();
    const options = { ...FIVE, clientId, clean: false, properties };
    const client = await home.client(home.viewer, options);
    await client.subscribe(home.filter(undefined, 'alarms/#'));
    const device = await home.device();
    const live = await home.client(home.viewer, {
      ...FIVE,
      properties: { maximumPacketSize: 1_000 },
    });
    await live.subscribe(home.filter(device, 'sized'), { qos: 0 });
    const count = async () => {
      const { text } = await home.must('GET', '/metrics');
      return Number(/^gateway_too_large_messages_total (\d+)$/m.exec(text)?.[1]);
    };
    const before = await count();
    await home.publish(device, 'sized', [`"${'x'.repeat(2_000)}"`, '"fits"']);
    expect((await live.next('publish')).payload.toString()).toContain('fits');
    expect(await count()).toBe(before + 1);
    const note = 'x'.repeat(3_000);
    const alarms = [{ kind: 'fall', note }, { kind: 'helpCall' }];
    await home.publish(
      device,
      'alarms',
      alarms.map((alarm) => JSON.stringify(alarm)),
    );
    expect((await client.next('publish')).topic).toContain('helpCall');
    await expect.poll(() => dropReasons(home, clientId)).toEqual(['too_large']);
  });

  test('gets a message that fits only without an alias', async ({ home }) => {
    const device = await home.device();
    const plain = await home.client(home.viewer, FIVE);
    const filter = home.filter(device, 'fitting');
    await plain.subscribe(filter, { qos: 0 });
    const payload = `"${'x'.repeat(300)}"`;
    await home.publish(device, 'fitting', payload);
    const came = await plain.next('publish');
    // Header, length of the topic, length of the properties; an alias takes three bytes, and one is missing.
    const maximumPacketSize = 4 + came.topic.length + came.payload.length + 3 - 1;
    const properties = { maximumPacketSize, topicAliasMaximum: 10 };
    const client = await home.client(home.viewer, { ...FIVE, properties });
    await client.subscribe(filter, { qos: 0 });
    await home.publish(device, 'fitting', payload);
    const { topic, payload: received } = await client.next('publish');
    expect([topic, received.length]).toEqual([came.topic, came.payload.length]);
  });

  test('refuses a message for good with an error code, which does not count as delivered', async ({
    home,
  }) => {
    const clientId = randomUUID();
    const properties = { sessionExpiryInterval: 60 };
    const options = { ...FIVE, clientId, clean: false, properties, acknowledges: false };
    const client = await home.client(home.viewer, options);
    await client.subscribe(home.filter(undefined, 'alarms/#'));
    await (await home.sensor()).raise();
    await client.untilRecords(1);
    const messageId = client.records[0]?.packet.messageId ?? 0;
    client.send({ cmd: 'puback', messageId, reasonCode: 0x83 });
    await expect.poll(() => dropReasons(home, clientId)).toEqual(['refused']);
  });
});

/** Why alarms for the session were dropped, each once. */
async function dropReasons(home: Home, clientId: string): Promise<string[]> {
  const { text } = await home.must('GET', '/metrics');
  const samples = text.split('\n').filter((line) => {
    return line.startsWith('gateway_consumer_dropped_by_reason_total') && line.includes(clientId);
  });
  return samples.flatMap((line) => /reason="(\w+)".*\} 1$/.exec(line)?.[1] ?? []);
}
