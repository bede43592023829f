/**
 * What a device publishes: forwarded and recorded, acknowledged in order, recognised when it comes again, or rejected
 * with a reason. The rules of an alarm's payload are in `domain`; here is one of each kind.
 */
import { randomUUID } from 'node:crypto';
import { generate } from 'mqtt-packet';
import {
  describe,
  expect,
  type Home,
  type Nurse,
  publishPacket,
  type TestDevice,
  test,
} from '../harness/index.js';

const FALL = '{"kind":"fall"}';
const QOS = [0, 1, 2] as const;

/** Waits for a message of the device that comes after all others. */
async function untilLast(home: Home, device: TestDevice, nurse: Nurse): Promise<void> {
  await home.publish(device, 'last', '"last"');
  await nurse.until(() => nurse.messages('/last').length > 0, 'the last message');
}

test.for(QOS)('an alarm at QoS %i is recorded, and forwarded at QoS 1', async (qos, { home }) => {
  const [nurse, sensor] = [await home.nurse({ isDurable: true }), await home.sensor({ qos })];
  const alarm = sensor.alarm();
  await nurse.until(alarm);
  expect(nurse.records).toMatchObject([{ qos: 1, retain: false, dup: false }]);
  await home.settled();
});

test.for(QOS)('a value at QoS %i is forwarded at that, and at most at 1', async (qos, { home }) => {
  const device = await home.device();
  const nurse = await home.nurse({ filters: [home.filter(device, 'a/b/c/d/e/f')] });
  await home.publish(device, 'a/b/c/d/e/f', '7', { qos });
  await nurse.untilCount(1);
  expect(nurse.received[0]?.qos).toBe(Math.min(qos, 1));
  expect(nurse.messages()).toMatchObject([{ data: 7, device: { id: device.id } }]);
});

test('messages come complete and in order wherever their bytes are split', async ({ home }) => {
  const device = await home.device();
  const nurse = await home.nurse({ filters: [home.filter(device, 'cut')] });
  const sensor = await home.client(device);
  const texts = ['short', 'x'.repeat(6_000), 'short', 'y'.repeat(200)];
  const packets = texts.flatMap((text, index) => {
    const message = publishPacket(`devices/${device.id}/cut`, JSON.stringify(text));
    return [{ ...message, qos: 1 as const, messageId: index + 1 }, { cmd: 'pingreq' as const }];
  });
  const bytes = Buffer.concat(packets.map((packet) => generate(packet)));
  const PIECE_BYTES = 7;
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    // The next piece goes out once this one has been handed to the network.
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    await new Promise((resolve) => sensor.stream.write(piece, resolve));
  }
  for (const messageId of [1, 2, 3, 4]) {
    expect((await sensor.next('puback')).messageId).toBe(messageId);
  }
  await nurse.untilCount(texts.length);
  expect(nurse.messages().map(({ data }) => data)).toEqual(texts);
});

test('thousands of values at QoS 0 all come to a subscriber that reads', async ({ home }) => {
  const device = await home.device();
  const nurse = await home.nurse({ filters: [home.filter(device, 'x')] });
  const sensor = await home.client(device);
  const numbers = Array.from({ length: 3_000 }, (_, index) => index);
  sensor.send(...numbers.map((one) => publishPacket(`devices/${device.id}/x`, String(one))));
  await nurse.untilCount(numbers.length);
  expect(nurse.messages().map(({ data }) => data)).toEqual(numbers);
});

test('thousands of publishes at once are acknowledged in order, valid or not', async ({ home }) => {
  const device = await home.device();
  const sensor = await home.client(device);
  const topics = ['alarms', 'x', 'rejected', 'x', 'commands', 'a/b/c/d/e/f/g'];
  const packets = Array.from({ length: 2_000 }, (_, index) => ({
    ...publishPacket(`devices/${device.id}/${topics[index % topics.length]}`, FALL),
    qos: 1 as const,
    messageId: index + 1,
  }));
  sensor.send(...packets);
  await sensor.until(({ packets: came }) => came.length > packets.length, 'all PUBACKs');
  expect(sensor.packets.slice(1).map(({ cmd, messageId }) => `${cmd} ${messageId}`)).toEqual(
    packets.map(({ messageId }) => `puback ${messageId}`),
  );
});

test.for(['pubrec', 'pubcomp'] as const)(
  'a message at QoS 1 is not acknowledged by %s',
  async (cmd, { home }) => {
    const session = { clientId: randomUUID(), clean: false, acknowledges: false };
    const nurse = await home.client(home.viewer, session);
    await nurse.subscribe(home.filter(undefined, 'alarms/#'));
    await (await home.sensor()).raise();
    await nurse.untilRecords(1);
    nurse.send({ cmd, messageId: nurse.records[0]?.packet.messageId ?? 0 });
    await nurse.closed();
    const again = await home.client(home.viewer, session);
    expect(await again.next('publish')).toMatchObject({ topic: nurse.topics[0], dup: true });
  },
);

describe('an alarm that is published again', () => {
  test.for([1, 2] as const)(
    'with the same id is recorded once, at QoS %i',
    async (qos, { home }) => {
      const nurse = await home.nurse({ isDurable: true });
      const sensor = await home.sensor({ qos });
      const [alarm] = await sensor.raise();
      const again = JSON.stringify({ kind: 'fall', id: alarm?.id, n: 0 });
      for (let time = 0; time < 2; time++) await sensor.publish('alarms', again, { qos });
      await home.settled();
      expect(nurse.records).toHaveLength(1);
    },
  );

  test('without an id is recorded once when it is a retransmission, over any connection', async ({
    home,
  }) => {
    const device = await home.device();
    const nurse = await home.nurse({ filters: [home.filter(device)] });
    for (const dup of [false, true, true]) {
      const sensor = await home.client(device);
      await sensor.publish(`devices/${device.id}/alarms`, FALL, { dup, messageId: 7 });
      sensor.vanish();
    }
    await untilLast(home, device, nurse);
    expect(nurse.records.filter(({ topic }) => topic.includes('/alarms/'))).toHaveLength(1);
    expect(await home.alarms(device)).toHaveLength(1);
  });

  test('without an id is another alarm when it is no retransmission, or of another identifier', async ({
    home,
  }) => {
    const device = await home.device();
    const sensor = await home.client(device);
    for (const [messageId, dup] of [
      [7, false],
      [7, false],
      [8, true],
    ] as const) {
      await sensor.publish(`devices/${device.id}/alarms`, FALL, { dup, messageId });
    }
    expect(await home.alarms(device)).toHaveLength(3);
  });

  test('without an id is another alarm when its time differs by less than a millisecond', async ({
    home,
  }) => {
    const device = await home.device();
    const second = new Date().toISOString().slice(0, 19);
    const [one, other] = [`${second}.782111`, `${second}.782999`];
    const sensor = await home.client(device);
    for (const detectedAt of [
      `${one}Z`,
      `${other}Z`,
      `${one}000Z`,
      `${other}+00:00`.toLowerCase(),
    ]) {
      const alarm = JSON.stringify({ kind: 'fall', detectedAt });
      await sensor.publish(`devices/${device.id}/alarms`, alarm);
    }
    const alarms = await home.alarms(device);
    expect(alarms.map(({ detectedAt }) => detectedAt)).toEqual(Array(2).fill(`${second}.782Z`));
  });
});

/** Topics that are not the device's own. */
const FOREIGN: readonly (readonly [string, (home: Home, own: string, other: string) => string])[] =
  [
    ["another device's alarms", (_, _own, other) => `devices/${other}/alarms`],
    ["another device's message", (_, _own, other) => `devices/${other}/x`],
    ["another device's rejected", (_, _own, other) => `devices/${other}/rejected`],
    ["another device's commands", (_, _own, other) => `devices/${other}/commands/x`],
    ['a topic of the subscribers', (home, id) => home.filter({ id }, 'x')],
    ['a command at the location', (home, _, id) => home.filter({ id }, 'commands/x')],
    ["the gateway's status", () => 'gateway/status'],
    ['nothing but its own prefix', (_, own) => `devices/${own}`],
    ['$SYS', () => '$SYS/x/new/clients'],
    ['a slash before its own', (_, own) => `/devices/${own}/x`],
  ];

test.for(FOREIGN)(
  'a publish on %s is acknowledged, reported, and not forwarded',
  async ([, topicOf], { home }) => {
    const [device, other] = [await home.device(), await home.device('Bett 2')];
    const topic = topicOf(home, device.id, other.id);
    const nurse = await home.nurse({ filters: [home.filter(other)] });
    const sensor = await home.client(device);
    await sensor.subscribe(`devices/${device.id}/rejected`);
    for (const qos of QOS) {
      await sensor.publish(topic, FALL, { qos });
      const { payload } = await sensor.next('publish');
      expect(JSON.parse(payload.toString())).toMatchObject({ reason: 'not-permitted', topic });
    }
    await untilLast(home, other, nurse);
    const lastLevels = nurse.received.map((came) => came.topic.split('/').at(-1));
    expect(lastLevels.filter((level) => level !== 'status')).toEqual(['last']);
    expect(await home.alarms(other)).toEqual([]);
  },
);

/** What is useless, why, on which topic behind `devices/<id>/`, and its payload. */
const USELESS: readonly (readonly [string, string, string, string | Buffer])[] = [
  ['nothing', 'not-json', 'alarms', ''],
  ['broken JSON', 'not-json', 'alarms', '{"kind":"fell"'],
  ['no UTF-8', 'not-json', 'alarms', Buffer.from('7bff7d', 'hex')],
  ['a JSON array', 'not-an-object', 'alarms', '["fall"]'],
  ['JSON null', 'not-an-object', 'alarms', 'null'],
  ['an unknown kind', 'unknown-kind', 'alarms', '{"kind":"earthquake"}'],
  ['no kind', 'unknown-kind', 'alarms', '{}'],
  ['a kind that every object has', 'unknown-kind', 'alarms', '{"kind":"constructor"}'],
  ['another kind than its topic', 'contradicting-kind', 'alarms/helpCall', FALL],
  ['17 KiB', 'payload-too-large', 'alarms', `{"kind":"fall","x":"${'x'.repeat(17 * 1024)}"}`],
  ['a control character', 'invalid-topic', 'a\u0001b', FALL],
  ['7 levels', 'invalid-topic', 'a/b/c/d/e/f/g', FALL],
  ['an empty level', 'invalid-topic', 'a//b', FALL],
  ['a slash at the end', 'invalid-topic', 'a/', FALL],
  ...['status', 'rejected', 'commands', 'commands/light', 'alarm-states', 'alarm-states/fall']
    .concat(['alarms/help', 'alarms/fall/x', 'supervision', 'escalations/night'])
    .map((rest) => [rest, 'reserved-topic', rest, FALL] as const),
];

test.for(USELESS)('%s is acknowledged and reported: %s', async (row, { home }) => {
  const [, reason, rest, payload] = row;
  const device = await home.device();
  const nurse = await home.nurse({ filters: [home.filter(device)] });
  const sensor = await home.client(device);
  await sensor.subscribe([`devices/${device.id}/rejected`, `devices/${device.id}/commands/#`]);
  const told = {
    reason,
    topic: `devices/${device.id}/${rest}`,
    base64: Buffer.from(payload).toString('base64'),
    receivedAt: expect.stringMatching(/^\d{4}-.*Z$/),
  };
  for (const qos of QOS) {
    await sensor.publish(`devices/${device.id}/${rest}`, payload, { qos });
    const own = await sensor.next('publish');
    expect(own).toMatchObject({ topic: `devices/${device.id}/rejected`, qos: 1, retain: false });
    expect(JSON.parse(own.payload.toString())).toEqual(told);
  }
  await untilLast(home, device, nurse);
  const place = { location: { id: home.locationId, name: home.name }, room: null, group: null };
  const one = { ...told, device: { id: device.id, name: device.name }, ...place, customData: {} };
  const topics = nurse.client.topics.filter((topic) => !/\/(rejected|status|last)$/.test(topic));
  expect([nurse.messages('/rejected'), topics]).toEqual([[one, one, one], []]);
  expect(await home.alarms(device)).toEqual([]);
});

test('a rejected message waits for an absent subscriber, is listed, and stays in its home', async ({
  home,
  own,
}) => {
  const other = await own.homeAt(home.gateway);
  const filters = [home.filter(undefined, 'rejected')];
  const nurse = await home.nurse({ isDurable: true, filters });
  const stranger = await other.nurse({ filters: [other.filter(undefined, 'rejected')] });
  await nurse.leave();
  const device = await home.device();
  await home.publish(device, 'alarms', 'Frau Geheim');
  await nurse.connect();
  await nurse.untilRecords(1);
  expect(nurse.messages()).toMatchObject([{ reason: 'not-json' }]);
  const listed = await home.must('GET', './rejected', { token: home.viewer.token });
  expect(listed.list()).toMatchObject([{ deviceId: device.id, reason: 'not-json' }]);
  await other.publish(await other.device(), 'alarms', 'nonsense');
  await stranger.untilCount(1);
  expect(stranger.client.topics.join()).not.toContain(device.id);
  const log = home.gateway.lines.join('\n');
  for (const encoding of ['utf8', 'base64'] as const) {
    expect(log).not.toContain(Buffer.from('Frau Geheim').toString(encoding));
  }
});

test('what is rejected while the store is frozen is acknowledged; the newest wait, up to a bound', async ({
  home,
}) => {
  const MAX_WAITING_BYTES = 2 ** 20;
  const PAYLOAD_BYTES = 16_000;
  const waiting = Math.floor(MAX_WAITING_BYTES / PAYLOAD_BYTES);
  const [device, store] = [await home.device(), await home.store()];
  const sensor = await home.client(device);
  const count = waiting + 50;
  store.freeze();
  try {
    const texts = Array.from({ length: count }, (_, n) => `${n + 1}!`.padEnd(PAYLOAD_BYTES, 'x'));
    await Promise.all(texts.map((text) => sensor.publish(`devices/${device.id}/alarms`, text)));
  } finally {
    store.thaw();
  }
  const kept = async () => {
    const listed = (await home.must('GET', './rejected')).list();
    return listed.map(({ base64 }) => Number.parseInt(atob(String(base64)), 10));
  };
  const newest = Array.from({ length: waiting }, (_, index) => count - index);
  // The first, read in one turn, were already under way.
  await expect.poll(async () => (await kept()).slice(0, waiting)).toEqual(newest);
  expect((await kept()).slice(waiting).toSorted((one, other) => one - other)[0]).toBe(1);
});

interface OddAlarm {
  readonly what: string;
  readonly rest: string;
  readonly payload: string | Buffer;
  /** Of what is recorded and forwarded. */
  readonly fields: object;
  /** Why it is reported nevertheless. */
  readonly reason?: string;
}

const latin1 = Buffer.from('{"kind":"fall","x":"ü"}', 'latin1');

function unreadable(what: string, payload: string | Buffer): OddAlarm {
  const fields = { base64: Buffer.from(payload).toString('base64'), malformed: true };
  return { what, rest: 'alarms', payload, fields, reason: 'not-json' };
}

function byTopic(what: string, payload: string, fields: object): OddAlarm {
  return { what: `by its topic, with ${what}`, rest: 'alarms/fall', payload, fields };
}

const ODD: readonly OddAlarm[] = [
  {
    what: 'with NUL behind it',
    rest: 'alarms',
    payload: '{"kind":"fall","n":1}\0',
    fields: { data: { n: 1 } },
  },
  {
    what: 'with a byte order mark',
    rest: 'alarms',
    payload: '\ufeff{"kind":"fall","n":1}',
    fields: { data: { n: 1 } },
  },
  {
    what: 'of 16 KiB',
    rest: 'alarms',
    payload: `{"kind":"fall","x":"${'x'.repeat(16 * 1024 - 22)}"}`,
    fields: {},
  },
  {
    what: 'with footage that cannot be',
    rest: 'alarms',
    payload: '{"kind":"fall","footage":{"video":true}}',
    fields: {},
    reason: 'invalid-footage',
  },
  byTopic('nothing', '', { base64: '' }),
  byTopic('a word', 'pressed', { base64: 'cHJlc3NlZA==' }),
  byTopic('a number', '1.50', { data: 1.5 }),
  byTopic('JSON', '{"battery":7}', { data: { battery: 7 } }),
  unreadable('with nan', '{"kind":"fall","score":nan}'),
  unreadable('in Latin-1', latin1),
  unreadable('that is cut off', '{"kind":"fall","deta'),
];

test.for(ODD)('an alarm $what is forwarded and recorded', async (row, { home }) => {
  const { rest, payload, fields, reason } = row;
  const device = await home.device();
  const nurse = await home.nurse({ filters: [home.filter(device)] });
  await home.publish(device, rest, [Buffer.from(payload)]);
  await untilLast(home, device, nurse);
  const alarms = nurse.records.filter(({ topic }) => topic.includes('/alarms/'));
  expect(alarms.map(({ text }) => JSON.parse(text))).toMatchObject([{ kind: 'fall', ...fields }]);
  const listed = (await home.must('GET', `./alarms?device=${device.id}`)).list('events');
  expect(listed).toMatchObject([{ kind: 'fall', ...fields }]);
  const reasons = nurse.messages('/rejected').map((rejected) => rejected['reason']);
  expect(reasons).toEqual(reason === undefined ? [] : [reason]);
});

test('an alarm that nobody can read is a fault until a valid one comes, or its device goes', async ({
  own,
}) => {
  // In the shared gateway, only three of all homes' devices are named.
  const home = await own.home();
  for (const [rest, payload] of [
    ['alarms', 'fall'],
    ['alarms', '{"kind":"fallen"}'],
    ['alarms/falls', '{}'],
  ] as const) {
    const [heard, gone] = [await home.device(), await home.device('Bett 2')];
    const named = async () => {
      const { text } = await home.ask('GET', '/readyz');
      const isNamed = ({ id }: TestDevice) =>
        text.includes('device-unreadable') && text.includes(id);
      return [isNamed(heard), isNamed(gone)];
    };
    for (const device of [heard, gone]) await home.publish(device, rest, payload);
    await expect.poll(named).toEqual([true, true]);
    await home.publish(heard, 'alarms', FALL);
    await home.must('DELETE', `./devices/${gone.id}`);
    await expect.poll(named).toEqual([false, false]);
  }
});
