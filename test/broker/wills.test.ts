import type { IConnectPacket } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice, TestToken } from '../harness/api.js';
import { auditOf } from '../harness/audit.js';
import { connectPacket, credentials, RawClient } from '../harness/raw-client.js';
import { Home } from './home.js';

const NOT_AUTHORIZED = 5;

type Will = NonNullable<IConnectPacket['will']>;

let home: Home;

beforeAll(async () => {
  home = await Home.start();
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

  it('that cannot be used is told as rejected', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'rejected');
    const client = await withWill(device, `devices/${device.id}/alarms`, 'gone!');
    client.vanish();
    await nurse.untilCount(1);
    expect(nurse.messages()).toMatchObject([{ reason: 'not-json' }]);
    await nurse.end();
  });

  it('comes when its keep-alive has run out', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'gone');
    const topic = `devices/${device.id}/gone`;
    const client = await withWill(device, topic, '1', {}, { keepalive: 1 });
    await nurse.untilCount(1);
    await client.closed();
    await nurse.end();
  });

  it('comes when another connection takes its client id over', async () => {
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

  it('comes when it publishes outside its own topics', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'gone');
    const client = await withWill(device, `devices/${device.id}/gone`, '1');
    client.send({
      cmd: 'publish',
      topic: 'devices/x/alarms',
      payload: '',
      qos: 0,
      dup: false,
      retain: false,
    });
    await client.closed();
    await nurse.untilCount(1);
    await nurse.end();
  });
});

describe('the will of a client that says DISCONNECT', () => {
  it('is forgotten', async () => {
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
  it.each(['manager', 'viewer'] as const)('is refused, a %s too', async (role) => {
    const device = await home.device();
    const will = { topic: home.filter(device, 'commands/stop'), payload: 'now', qos: 1 as const };
    const client = await RawClient.open(home.gateway);
    client.send(connectPacket({ ...credentials(home[role]), clientId: `will-of-${role}`, will }));
    expect((await client.next('connack')).returnCode).toBe(NOT_AUTHORIZED);
    expect(await auditOf(home.api, 'actions=permission.refused&limit=1')).toMatchObject([
      {
        actor: { type: 'access-token', id: home[role].id },
        details: { operation: 'will', clientId: `will-of-${role}`, topic: will.topic },
      },
    ]);
    client.vanish();
  });
});

describe('the will of a device whose secret is replaced', () => {
  it('is dropped: whoever has the old secret says nothing more', async () => {
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
