/** Wills: what a client left to be said when it is gone, and when it is not said. */
import { randomUUID } from 'node:crypto';
import type { IConnectPacket } from 'mqtt-packet';
import {
  type Client,
  expect,
  type Home,
  type TestDevice,
  type TestToken,
  test,
} from '../harness/index.js';

const QOS = [0, 1, 2] as const;

type Will = NonNullable<IConnectPacket['will']>;

function withWill(
  home: Home,
  who: TestDevice | TestToken,
  topic: string,
  payload: string,
  { options = {}, ...rest }: Partial<Will> & { options?: Partial<IConnectPacket> } = {},
): Promise<Client> {
  const will = { topic, payload: Buffer.from(payload), qos: 1 as const, retain: false, ...rest };
  return home.client(who, { will, ...options });
}

test.for(QOS)('a will at QoS %i is an alarm like any other', async (qos, { home }) => {
  const device = await home.device();
  const nurse = await home.nurse();
  (
    await withWill(home, device, `devices/${device.id}/alarms`, '{"kind":"fall"}', { qos })
  ).vanish();
  await nurse.untilRecords(1);
  expect(nurse.records).toMatchObject([{ qos: 1, retain: false }]);
  expect(nurse.messages()[0]).toMatchObject({
    kind: 'fall',
    device: { id: device.id },
    location: { id: home.locationId },
  });
  expect(await home.alarms(device)).toHaveLength(1);
});

test.for(QOS)(
  'a will at QoS %i is a message like any other, and may be retained',
  async (qos, { home }) => {
    const device = await home.device();
    const nurse = await home.nurse({ filters: [home.filter(device, 'gone')] });
    (
      await withWill(home, device, `devices/${device.id}/gone`, '1.50', { qos, retain: true })
    ).vanish();
    await nurse.untilCount(1);
    expect(nurse.received[0]).toMatchObject({ qos: Math.min(qos, 1), retain: false });
    expect(nurse.received[0]?.text).toContain('"data":1.50');
    expect((await home.retained(home.filter(device, 'gone'))).size).toBe(1);
  },
);

test('a will that is useless is reported', async ({ home }) => {
  const device = await home.device();
  const nurse = await home.nurse({ filters: [home.filter(device, 'rejected')] });
  (await withWill(home, device, `devices/${device.id}/alarms`, 'gone!')).vanish();
  await nurse.untilCount(1);
  expect(nurse.messages()).toMatchObject([{ reason: 'not-json' }]);
});

type End = (client: Client, home: Home, device: TestDevice) => Promise<unknown>;

/** How the connection of a device with a will ends, and whether the will is published. */
const ENDS: readonly (readonly [string, boolean, End])[] = [
  [
    'another connection takes over its client id',
    true,
    (_, home, device) => home.client(device, { clientId: device.id }),
  ],
  ['it sends DISCONNECT', false, (client) => client.end()],
  [
    'it breaks a rule of MQTT',
    true,
    async (client) => {
      client.write(Buffer.from('4000', 'hex'));
    },
  ],
  [
    'its secret is replaced',
    false,
    async (_, home, { id }) => home.must('POST', `./devices/${id}/secret`),
  ],
];

test.for(ENDS)('when %s, its will is published: %s', async ([, isPublished, end], { home }) => {
  const device = await home.device();
  const nurse = await home.nurse({
    filters: [home.filter(undefined, 'gone'), home.filter(undefined, 'last')],
  });
  const options = { clientId: device.id };
  const client = await withWill(home, device, `devices/${device.id}/gone`, '1', { options });
  await end(client, home, device);
  await client.closed();
  if (isPublished) await nurse.untilCount(1);
  await home.publish(await home.device(), 'last', '1');
  await nurse.until(() => nurse.messages('/last').length > 0, 'a message after it');
  expect(nurse.messages('/gone')).toHaveLength(isPublished ? 1 : 0);
});

/** Where a device may not publish. */
const FOREIGN: readonly (readonly [string, (home: Home, device: TestDevice) => string])[] = [
  ['the topic of another device', () => `devices/${randomUUID()}/alarms`],
  ['a topic of the subscribers', (home, device) => home.filter(device, 'alarms/fall')],
  ['$SYS', () => '$SYS/broker/connection/x/state'],
  ['a topic of the broker itself', (_, { id }) => `$SYS/device:${id}/new/clients`],
];

test.for(FOREIGN)(
  'a will on %s is not published, and ends no connection',
  async (row, { home }) => {
    const device = await home.device();
    const nurse = await home.nurse({ filters: [home.filter(device)] });
    const witness = await home.client(device, { clientId: device.id });
    (await withWill(home, device, row[1](home, device), '{"kind":"fall"}')).vanish();
    await home.publish(device, 'last', '1');
    await nurse.until(() => nurse.messages('/last').length > 0, 'a message after it');
    expect(nurse.messages('/fall')).toEqual([]);
    await witness.ping();
  },
);

test('the will of a token is published only where its owner may send commands', async ({
  home,
}) => {
  const device = await home.device();
  const bed = await home.client(device);
  await bed.subscribe(`devices/${device.id}/commands/#`);
  const command = home.filter(device, 'commands/stop');
  const nurse = await home.nurse({ filters: [home.filter(device, 'gone')] });
  const shown = async () => (await home.must('GET', '/connections')).text;
  for (const [who, topic, payload] of [
    [home.viewer, command, 'by a viewer'],
    [home.manager, `devices/${device.id}/gone`, 'not a command'],
    [home.viewer, '$SYS/other/new/clients', `device:${device.id}/${device.id}`],
    [home.manager, command, 'by a manager'],
  ] as const) {
    const clientId = randomUUID();
    (await withWill(home, who, topic, payload, { qos: 2, options: { clientId } })).vanish();
    // One after the other, so that a forbidden one would come before the last.
    await expect.poll(shown).not.toContain(clientId);
  }
  await bed.untilCount(1);
  expect(bed.received.map(({ topic, text }) => [topic, text])).toEqual([
    [`devices/${device.id}/commands/stop`, 'by a manager'],
  ]);
  await home.publish(device, 'gone', '"last"');
  await nurse.untilCount(1);
  expect(nurse.messages()).toMatchObject([{ data: 'last' }]);
});
