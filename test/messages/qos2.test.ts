/** QoS 2 from a device: one alarm for each identifier, across connections, restarts and kills (contract 4). */
import { randomUUID } from 'node:crypto';
import {
  Client,
  expect,
  type Gateway,
  type Home,
  killProcess,
  publishPacket,
  storeProcessId,
  type TestDevice,
  testWith,
} from '../harness/index.js';

const test = testWith({ env: { GATEWAY_LOG_LEVEL: 'debug' } });

/** Nothing in it tells one from another. */
const ALARM = '{"kind":"helpCall"}';

function sessionOf(device: TestDevice, clean = false) {
  return { clientId: `sensor-${device.id}`, clean, acknowledges: false };
}

function alarmOf({ id }: TestDevice, messageId: number, payload = ALARM, dup = false) {
  return { ...publishPacket(`devices/${id}/alarms`, payload), qos: 2 as const, messageId, dup };
}

function messageOf({ id }: TestDevice, messageId: number, dup = false) {
  return { ...publishPacket(`devices/${id}/x`, '1'), qos: 2 as const, messageId, dup };
}

async function kindsOf(home: Home, device: TestDevice): Promise<string[]> {
  return (await home.alarms(device)).map(({ kind }) => kind).reverse();
}

/** An absent session for the device's alarms and values. */
async function absentNurse(home: Home, device: TestDevice) {
  const filters = [home.filter(device, 'alarms/#'), home.filter(device, 'x')];
  const nurse = await home.nurse({ isDurable: true, filters });
  await nurse.leave();
  return nurse;
}

/** What waited for the nurse, up to an alarm and a value that are published now. */
async function backlogOf(
  home: Home,
  device: TestDevice,
  nurse: Awaited<ReturnType<typeof absentNurse>>,
) {
  await home.publish(device, 'alarms', '{"kind":"noise"}');
  await home.publish(device, 'x', '"last"');
  await nurse.connect();
  await nurse.until(() => nurse.messages('/noise').length > 0, 'the last alarm');
  await nurse.until(() => nurse.messages('/x').at(-1)?.['data'] === 'last', 'the last value');
  const [alarms, values] = [nurse.messages('/alarms/'), nurse.messages('/x')];
  return { kinds: alarms.map(({ kind }) => kind), data: values.map(({ data }) => data) };
}

async function killAll(gateway: Gateway): Promise<void> {
  const dead = gateway.kill();
  killProcess(storeProcessId(gateway.dataDir) ?? 0);
  await dead;
}

const ENDS: readonly (readonly [
  string,
  'here' | 'process',
  (gateway: Gateway) => Promise<unknown>,
])[] = [
  ['is stopped', 'here', (gateway) => gateway.stop()],
  ['is killed with its store', 'process', killAll],
];

test.for(ENDS)(
  'what is between PUBREC and PUBREL is recorded and forwarded once when the gateway %s',
  { timeout: 60_000 },
  async ([, kind, end], { own }) => {
    const home = await own.home({ kind });
    const device = await home.device();
    const nurse = await absentNurse(home, device);
    const before = await home.client(device, sessionOf(device));
    before.send(alarmOf(device, 7), alarmOf(device, 8), messageOf(device, 9));
    for (const messageId of [7, 8, 9]) {
      expect((await before.next('pubrec')).messageId).toBe(messageId);
    }
    await end(home.gateway);
    await home.gateway.start();

    const after = await home.client(device, sessionOf(device));
    // The client has seen the PUBREC of the first only.
    after.send(
      { cmd: 'pubrel', messageId: 7 },
      alarmOf(device, 8, ALARM, true),
      messageOf(device, 9, true),
    );
    expect((await after.next('pubcomp')).messageId).toBe(7);
    for (const messageId of [8, 9]) {
      expect((await after.next('pubrec')).messageId).toBe(messageId);
      after.send({ cmd: 'pubrel', messageId });
      expect((await after.next('pubcomp')).messageId).toBe(messageId);
    }
    // The identifier is free for another alarm.
    after.send(alarmOf(device, 8, '{"kind":"fall"}'));
    await after.next('pubrec');
    after.vanish();
    expect(await backlogOf(home, device, nurse)).toEqual({
      kinds: ['helpCall', 'helpCall', 'fall', 'noise'],
      data: [1, 'last'],
    });
  },
);

test.for(['with a wrong secret', 'as another device'])(
  'a message stays received when somebody else connects with the client id, %s',
  async (how, { home }) => {
    const device = await home.device();
    const nurse = await absentNurse(home, device);
    const before = await home.client(device, sessionOf(device));
    before.send(messageOf(device, 7));
    await before.next('pubrec');
    before.vanish();
    const who = how === 'as another device' ? await home.device() : { ...device, secret: 'wrong' };
    const other = await Client.open(home.gateway, sessionOf(device, true));
    await other.login(who);
    other.vanish();
    const after = await home.client(device, sessionOf(device));
    after.send(messageOf(device, 7, true));
    await after.next('pubrec');
    after.vanish();
    expect((await backlogOf(home, device, nurse)).data).toEqual([1, 'last']);
  },
);

test('an alarm before its PUBREL is recorded once, though it has no id', async ({ home }) => {
  const device = await home.device();
  for (const dup of [false, true]) {
    const sensor = await home.client(device, sessionOf(device));
    sensor.send(alarmOf(device, 9, ALARM, dup));
    await sensor.next('pubrec');
    sensor.vanish();
  }
  const sensor = await home.client(device, sessionOf(device));
  sensor.send({ cmd: 'pubrel', messageId: 9 });
  await sensor.next('pubcomp');
  expect(await kindsOf(home, device)).toEqual(['helpCall']);
});

test('an identifier of an ended session swallows no alarm of the next one', async ({ home }) => {
  const device = await home.device();
  const { redis } = await home.store();
  const before = await home.client(device, sessionOf(device, true));
  await redis.config('SET', 'maxmemory', '1');
  try {
    before.send(alarmOf(device, 1));
    await expect.poll(async () => (await home.ask('GET', '/readyz')).status).toBe(503);
    before.vanish();
    const after = await home.client(device, sessionOf(device, true));
    await redis.config('SET', 'maxmemory', '0');
    await expect.poll(() => kindsOf(home, device)).toEqual(['helpCall']);
    after.send(alarmOf(device, 1, '{"kind":"fall"}'));
    await after.next('pubrec');
  } finally {
    await redis.config('SET', 'maxmemory', '0');
  }
  expect(await kindsOf(home, device)).toEqual(['helpCall', 'fall']);
});

test('an alarm with a time is recognised after a restart, from a client that sets no DUP', async ({
  home,
}) => {
  const device = await home.device();
  const alarm = alarmOf(device, 5, '{"kind":"fall","detectedAt":"2026-01-01T00:00:00Z"}');
  for (const isBefore of [true, false]) {
    const sensor = await home.client(device, sessionOf(device));
    sensor.send(alarm);
    await sensor.next('pubrec');
    sensor.vanish();
    if (isBefore) await home.gateway.restart();
  }
  expect(await kindsOf(home, device)).toEqual(['fall']);
});

test('alarms of one device keep their order across QoS levels', async ({ home }) => {
  const device = await home.device();
  const nurse = await home.nurse();
  const sensor = await home.client(device, { clientId: randomUUID() });
  const numbers = Array.from({ length: 60 }, (_, n) => n);
  for (const n of numbers) {
    const alarm = alarmOf(device, n + 1, `{"kind":"fall","n":${n}}`);
    sensor.send({ ...alarm, qos: n % 3 === 0 ? 2 : 1 });
  }
  await nurse.untilRecords(numbers.length);
  const came = nurse.records.map(({ text }) => JSON.parse(text).data.n);
  expect(came).toEqual(numbers);
});

const FALL = '{"kind":"fall"}';

test.for([true, false])(
  'an identifier released before PUBREC is free for another alarm [MQTT-4.3.3-2] (clean: %s)',
  async (clean, { home }) => {
    const device = await home.device();
    const sensor = await home.client(device, sessionOf(device, clean));
    sensor.send(alarmOf(device, 7), { cmd: 'pubrel', messageId: 7 });
    await sensor.next('pubcomp');
    sensor.send(alarmOf(device, 7, FALL), { cmd: 'pubrel', messageId: 7 });
    await sensor.next('pubcomp');
    const commands = sensor.packets.slice(1).map(({ cmd }) => cmd);
    expect(commands).toEqual(['pubrec', 'pubcomp', 'pubrec', 'pubcomp']);
    expect(await kindsOf(home, device)).toEqual(['helpCall', 'fall']);
  },
);

test('an identifier released before PUBCOMP is free for another alarm', async ({ home }) => {
  const device = await home.device();
  const sensor = await home.client(device, sessionOf(device));
  sensor.send(alarmOf(device, 7));
  await sensor.next('pubrec');
  sensor.send({ cmd: 'pubrel', messageId: 7 }, alarmOf(device, 7, FALL));
  await sensor.next('pubrec');
  expect(await kindsOf(home, device)).toEqual(['helpCall', 'fall']);
});
