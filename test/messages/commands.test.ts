/** Commands to devices, and what an access token publishes in vain. Who may send which is in `promises/rights`. */
import { randomUUID } from 'node:crypto';
import {
  type Client,
  expect,
  type Home,
  publishPacket,
  type TestDevice,
  type TestToken,
  test,
} from '../harness/index.js';

const QOS = [0, 1, 2] as const;

/** The device, subscribed to its commands. */
async function commanded(home: Home, device: TestDevice): Promise<Client> {
  const client = await home.client(device);
  expect(await client.subscribe(`devices/${device.id}/commands/#`)).toEqual([1]);
  return client;
}

test.for(QOS)(
  'a command at QoS %i reaches the device with its bytes as sent',
  async (qos, { home }) => {
    const device = await home.device();
    const sensor = await commanded(home, device);
    const manager = await home.client(home.manager);
    const payload = Buffer.from([0, 255, 1, 254]);
    await manager.publish(home.filter(device, 'commands/light/2'), payload, { qos });
    expect(await sensor.next('publish')).toMatchObject({
      topic: `devices/${device.id}/commands/light/2`,
      qos: Math.min(qos, 1),
      retain: false,
      payload,
    });
  },
);

test('a command waits for an absent device with a session, and a retained one for any', async ({
  home,
}) => {
  const device = await home.device();
  const session = { clientId: device.id, clean: false };
  const before = await home.client(device, session);
  await before.subscribe(`devices/${device.id}/commands/#`);
  before.vanish();
  const manager = await home.client(home.manager);
  await manager.publish(home.filter(device, 'commands/restart'), 'now');
  await manager.publish(home.filter(device, 'commands/mode'), 'night', { retain: true });
  const after = await home.client(device, session);
  await after.untilCount(2);
  const commands = ['restart', 'mode'].map((name) => `devices/${device.id}/commands/${name}`);
  expect(after.topics).toEqual(commands);
  const other = await commanded(home, device);
  expect(await other.next('publish')).toMatchObject({ topic: commands[1], retain: true, qos: 1 });
});

/** Who publishes where in vain. */
const VAIN: readonly (readonly [
  string,
  (home: Home) => Promise<TestToken>,
  (home: Home, device: TestDevice) => string,
])[] = [
  [
    'a viewer a command',
    async ({ viewer }) => viewer,
    (home, device) => home.filter(device, 'commands/x'),
  ],
  [
    'the manager of another group a command',
    (home) => home.token([{ role: 'manager', group: randomUUID() }]),
    (home, device) => home.filter(device, 'commands/x'),
  ],
  [
    'a manager a command to the device itself',
    managerOf,
    (_, { id }) => `devices/${id}/commands/x`,
  ],
  ["a manager the device's alarm", managerOf, (_, { id }) => `devices/${id}/alarms`],
  ['a manager a forwarded alarm', managerOf, (home, device) => home.filter(device, 'alarms/fall')],
  ['a manager a status', managerOf, (home, device) => home.filter(device, 'status')],
  ["a manager the gateway's status", managerOf, () => 'gateway/status'],
  [
    'a manager commands without a name',
    managerOf,
    (home, device) => home.filter(device, 'commands'),
  ],
  ['a manager on $SYS', managerOf, () => '$SYS/x'],
];

async function managerOf({ manager }: Home): Promise<TestToken> {
  return manager;
}

test.for(VAIN)(
  '%s: it is acknowledged, keeps the connection, and reaches nobody',
  async (row, { home }) => {
    const [, whoOf, topicOf] = row;
    const device = await home.device();
    const sensor = await commanded(home, device);
    const nurse = await home.nurse({ filters: [home.filter(device)] });
    const client = await home.client(await whoOf(home));
    for (const qos of QOS) await client.publish(topicOf(home, device), '{"kind":"fall"}', { qos });
    await client.ping();
    const manager = await home.client(home.manager);
    await manager.publish(home.filter(device, 'commands/x'), 'yes');
    expect((await sensor.next('publish')).payload.toString()).toBe('yes');
    await home.publish(device, 'last', '1');
    await nurse.until(() => nurse.messages('/last').length > 0, 'a message after it');
    expect(nurse.client.topics.filter((topic) => !/\/(status|last)$/.test(topic))).toEqual([]);
    expect(await home.alarms(device)).toEqual([]);
  },
);

test('a command from another home reaches nobody', async ({ home, own }) => {
  const other = await own.homeAt(home.gateway);
  const device = await other.device();
  const sensor = await commanded(other, device);
  const topic = other.filter(device, 'commands/x');
  await (await home.client(home.manager)).publish(topic, 'foreign');
  await (await other.client(other.manager)).publish(topic, 'own');
  expect((await sensor.next('publish')).payload.toString()).toBe('own');
});

test('a device cannot publish its own commands', async ({ home }) => {
  const device = await home.device();
  const sensor = await commanded(home, device);
  sensor.send(publishPacket(`devices/${device.id}/commands/x`, 'own'));
  await (await home.client(home.manager)).publish(home.filter(device, 'commands/x'), 'yes');
  expect((await sensor.next('publish')).payload.toString()).toBe('yes');
});
