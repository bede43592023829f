import type { IConnectPacket, Packet } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice, TestToken } from '../former/clients/api.js';
import { RawClient } from '../former/clients/raw-client.js';
import { eventually } from '../former/eventually.js';
import { Home } from '../former/home.js';
import { accountOf } from '../former/metrics.js';
import { falls, received } from './shared-members.js';

let home: Home;
let device: TestDevice;
let lastGroup = 0;

beforeAll(async () => {
  home = await Home.start();
  device = await home.device();
});

afterAll(() => home.remove());

function connect(
  options: Partial<IConnectPacket> = {},
  who: TestDevice | TestToken = home.viewer,
): Promise<RawClient> {
  return RawClient.connect(home.gateway, who, { protocolVersion: 5, ...options });
}

/** A shared subscription that no other test uses. */
function sharedFilter(rest = 'alarms/#', of = device): string {
  lastGroup++;
  return `$share/ward-${lastGroup}/${home.filter(of, rest)}`;
}

const raise = (from: number, to: number) => home.publish(device, 'alarms', falls(from, to));

describe('a shared subscription', () => {
  it('ends with the session of its last member', async () => {
    const filter = sharedFilter();
    const member = await connect();
    await member.subscribe([filter]);
    await raise(1, 1);
    await eventually(async () =>
      expect(await accountOf(home.gateway, filter, 'alarms')).toMatchObject({ queued: 1 }),
    );
    member.vanish();
    await eventually(async () => {
      const text = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
      expect(text).not.toContain(filter);
    });
  });

  it('belongs to one access token: members with another token form their own group', async () => {
    const filter = sharedFilter();
    const grants = [{ location: home.locationId, role: 'viewer' as const }];
    const other = await connect({}, await home.api.createToken(grants));
    const own = await connect();
    for (const member of [own, other]) {
      await member.subscribe([filter]);
      member.acknowledgeAll();
    }
    await raise(1, 2);
    for (const member of [own, other]) {
      await received(2, member);
      member.vanish();
    }
  });

  it('is denied beyond the grants, to a device, and without a group or filter', async () => {
    const member = await connect();
    expect(
      await member.subscribe([
        '$share/ward/care-homes/other/#',
        '$share/ward',
        '$share//care-homes/#',
        '$share/+/care-homes/#',
        sharedFilter(),
      ]),
    ).toEqual([0x87, 0x8f, 0x8f, 0x8f, 1]);
    const sensor = await connect({}, device);
    expect(await sensor.subscribe([`$share/ward/devices/${device.id}/commands/#`])).toEqual([0x87]);
    for (const client of [member, sensor]) client.vanish();
  });

  it('with the no-local option violates the protocol', async () => {
    const member = await connect();
    const subscriptions = [{ topic: sharedFilter(), qos: 1 as const, nl: true }];
    member.send({ cmd: 'subscribe', messageId: 1, subscriptions } satisfies Packet);
    expect((await member.next('disconnect')).reasonCode).toBe(0x82);
    await member.closed();
  });

  it('counts as a persistent session, and is denied beyond their limit', async () => {
    const limited = await Home.start({ GATEWAY_LIMITS_TOKEN_PERSISTENT_SESSIONS: '2' });
    const nurse = await RawClient.connect(limited.gateway, limited.viewer, { protocolVersion: 5 });
    const filters = ['a', 'b', 'c'].map((name) => `$share/${name}/care-homes/#`);
    expect(await nurse.subscribe(filters)).toEqual([1, 1, 0x97]);
    expect(await nurse.subscribe(filters.slice(0, 2))).toEqual([1, 1]);
    nurse.vanish();
    await limited.remove();
  });
});
