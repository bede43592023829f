import { randomUUID } from 'node:crypto';
import type { IConnectPacket } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice, TestToken } from '../former/clients/api.js';
import { connectionListOf } from '../former/clients/connection-list.js';
import { RawClient } from '../former/clients/raw-client.js';
import { Home } from '../former/home.js';

type Will = NonNullable<IConnectPacket['will']>;

let home: Home;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_LOG_LEVEL: 'debug' });
});

afterAll(() => home.remove());

function withWill(
  who: TestDevice | TestToken,
  topic: string,
  payload: string,
  rest: Partial<Will> = {},
  options: Partial<IConnectPacket> = {},
): Promise<RawClient> {
  const will = { topic, payload, qos: 1 as const, ...rest };
  return RawClient.connect(home.gateway, who, { will, ...options });
}

describe('the will of a device that vanishes', () => {
  it.each([0, 1, 2] as const)('is an alarm like any other, at QoS %i', async (qos) => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#');
    const topic = `devices/${device.id}/alarms`;
    const client = await withWill(device, topic, '{"kind":"inactivity"}', { qos });
    client.vanish();
    await nurse.untilCount(1);
    expect(nurse.received[0]).toMatchObject({ qos: 1, retain: false });
    expect(nurse.messages()).toMatchObject([
      { kind: 'inactivity', device: { id: device.id }, location: { id: home.locationId } },
    ]);
    expect((await home.api.alarms(device)).events).toHaveLength(1);
    await nurse.end();
  });

  it.each([0, 1, 2] as const)('is a message like any other, at QoS %i', async (qos) => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'gone');
    const client = await withWill(device, `devices/${device.id}/gone`, '1.50', { qos });
    client.vanish();
    await nurse.untilCount(1);
    expect(nurse.received[0]).toMatchObject({ qos: Math.min(qos, 1), retain: false });
    expect(nurse.received[0]?.text).toContain('"data":1.50');
    await nurse.end();
  });

  it('may be retained', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'gone');
    const topic = `devices/${device.id}/gone`;
    const client = await withWill(device, topic, 'true', { retain: true });
    client.vanish();
    await nurse.untilCount(1);
    expect(nurse.received[0]?.retain).toBe(false);
    const late = await home.nurse(device, 'gone');
    await late.untilCount(1);
    expect(late.received[0]?.retain).toBe(true);
    await Promise.all([nurse.end(), late.end()]);
  });

  it('is reported when it is an invalid publish', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'rejected');
    const client = await withWill(device, `devices/${device.id}/alarms`, 'gone!');
    client.vanish();
    await nurse.untilCount(1);
    expect(nurse.messages()).toMatchObject([{ reason: 'not-json' }]);
    await nurse.end();
  });

  it('is published when its keep-alive has expired', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'gone');
    const topic = `devices/${device.id}/gone`;
    const client = await withWill(device, topic, '1', {}, { keepalive: 1 });
    await nurse.untilCount(1);
    await client.closed();
    await nurse.end();
  });

  it('is published when another connection takes over its client id', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'gone');
    const { id: clientId } = device;
    const before = await withWill(device, `devices/${clientId}/gone`, '1', {}, { clientId });
    const after = await RawClient.connect(home.gateway, device, { clientId });
    await before.closed();
    await nurse.untilCount(1);
    after.vanish();
    await nurse.end();
  });

  it.each([
    ['another device', () => `devices/${randomUUID()}/alarms`],
    [
      'a subscriber topic',
      ({ id }: TestDevice) => `care-homes/${home.locationId}/devices/${id}/alarms/fall`,
    ],
    ['$SYS', () => '$SYS/broker/connection/x/state'],
  ])('is not published on %s, and does not block the connection', async (_what, topicOf) => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#', 'last');
    const client = await withWill(device, topicOf(device), '{"kind":"fall"}');
    client.vanish();
    await home.publishLast(device, 'last', '1');
    await nurse.until((received) => received.some(({ topic }) => topic.endsWith('/last')));
    expect(nurse.messages('/fall')).toEqual([]);
    await nurse.end();
  });
});

describe('the will of a client that sends DISCONNECT', () => {
  it('is discarded', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, '+');
    const client = await withWill(device, `devices/${device.id}/gone`, '1');
    client.send({ cmd: 'disconnect' });
    await client.closed();
    await home.publishLast(device, 'last', '1');
    await nurse.until((received) => received.some(({ topic }) => topic.endsWith('/last')));
    expect(nurse.messages('/gone')).toEqual([]);
    await nurse.end();
  });
});

describe('the will of an access token', () => {
  it('does not block the connection, and is published only where its owner may send commands', async () => {
    const device = await home.device();
    const bed = await RawClient.connect(home.gateway, device);
    await bed.subscribe([`devices/${device.id}/commands/#`]);
    const topic = home.filter(device, 'commands/stop');
    const elsewhere = `devices/${device.id}/gone`;
    const willed = [
      await withWill(home.viewer, topic, 'by a viewer'),
      await withWill(home.manager, elsewhere, 'not a command'),
      await withWill(home.manager, topic, 'by a manager', { qos: 2 }),
    ];
    const nurse = await home.nurse(device, 'gone');
    // One after the other, so that any forbidden will would arrive before the last.
    for (const client of willed) {
      const from = home.gateway.lines.length;
      client.vanish();
      await home.gateway.logged('"msg":"disconnected"', from);
    }
    const command = await bed.next('publish');
    expect([command.topic, command.payload.toString()]).toEqual([
      `devices/${device.id}/commands/stop`,
      'by a manager',
    ]);
    await home.publishLast(device, 'gone', '"last"');
    await nurse.untilCount(1);
    expect(nurse.messages()).toMatchObject([{ data: 'last' }]);
    expect(bed.packets.filter(({ cmd }) => cmd === 'publish')).toHaveLength(1);
    bed.vanish();
    await nurse.end();
  });
});

describe('the will of a device whose secret is replaced', () => {
  it('is dropped, because the old secret is no longer valid', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'gone', 'last');
    const client = await withWill(device, `devices/${device.id}/gone`, '1');
    const path = `/care-homes/${home.locationId}/devices/${device.id}/secret`;
    const { secret } = Object(await home.api.json('POST', path));
    await client.closed();
    await home.publishLast({ ...device, secret: String(secret) }, 'last', '1');
    await nurse.until((received) => received.some(({ topic }) => topic.endsWith('/last')));
    expect(nurse.messages('/gone')).toEqual([]);
    await nurse.end();
  });
});

it('fault 32: a will on a topic of the broker itself disconnects nobody', async () => {
  const [nurse, sensor] = [home.viewer, await home.device()];
  const clients = [
    await RawClient.connect(home.gateway, nurse, { clientId: 'nurse' }),
    await RawClient.connect(home.gateway, sensor, { clientId: sensor.id }),
  ];
  const attacker = await home.api.viewer(home.locationId);
  for (const victim of [`token:${nurse.id}/nurse`, `device:${sensor.id}/${sensor.id}`]) {
    const clientId = `attacker-of-${victim}`;
    const options = { clientId };
    const client = await withWill(attacker, '$SYS/other/new/clients', victim, {}, options);
    client.vanish();
    const isListed = async () =>
      (await connectionListOf(home.gateway)).some((one) => one.clientId === clientId);
    await expect.poll(isListed).toBe(false);
  }
  for (const client of clients) {
    await client.ping();
    client.vanish();
  }
});
