import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice, TestToken } from '../harness/api.js';
import { connectionListOf } from '../harness/connection-list.js';
import { Home } from '../harness/home.js';
import { accountOf } from '../harness/metrics.js';
import { connectPacket, credentials, publishPacket, RawClient } from '../harness/raw-client.js';

const IDENTIFIER_REJECTED = 2;

/** Two care homes behind one gateway. */
let home: Home;
let other: Home;

beforeAll(async () => {
  home = await Home.start();
  other = await Home.at(home.gateway);
});

afterAll(() => home.remove());

async function returnCodeFor(who: TestDevice | TestToken, clientId: string, clean = true) {
  const client = await RawClient.open(home.gateway);
  client.send(connectPacket({ ...credentials(who), clientId, clean }));
  const { returnCode } = await client.next('connack');
  client.vanish();
  return returnCode;
}

/** Connects, and goes in an orderly way: of a clean session nothing is left. */
async function comeAndGo(who: TestDevice | TestToken, clientId: string, clean = true) {
  const client = await RawClient.connect(home.gateway, who, { clientId, clean });
  client.send({ cmd: 'disconnect' });
  await client.closed();
}

describe('FINDINGS S8: a client id is a name space of its principal', () => {
  it('a subscriber gets in while another home’s sensor has a session under its client id', async () => {
    const clientId = 'nurse-call-1';
    await comeAndGo(home.viewer, clientId);
    const sensor = await other.device();
    const held = await RawClient.connect(home.gateway, sensor, { clientId, clean: false });
    expect(await returnCodeFor(home.viewer, clientId)).toBe(0);
    await held.ping();
    held.vanish();
    expect(await returnCodeFor(home.viewer, clientId, false)).toBe(0);
  });

  it('two homes’ subscribers are connected under one client id, each with its own alarms', async () => {
    const clientId = 'nurse-call-2';
    const homes = [home, other];
    const nurses = await Promise.all(
      homes.map(async ({ viewer, locationId }) => {
        const nurse = await RawClient.connect(home.gateway, viewer, { clientId, clean: false });
        await nurse.subscribe([`care-homes/${locationId}/devices/+/alarms/#`]);
        return nurse;
      }),
    );
    for (const nurse of nurses) nurse.vanish();
    for (const { locationId, api } of homes) {
      const device = await api.createDevice(locationId);
      const sensor = await RawClient.connect(home.gateway, device);
      await sensor.publish(`devices/${device.id}/alarms`, '{"kind":"fall"}', 1);
      sensor.vanish();
    }
    for (const { viewer, locationId } of homes) {
      const nurse = await RawClient.connect(home.gateway, viewer, { clientId, clean: false });
      expect((await nurse.next('publish')).topic).toContain(locationId);
      await nurse.ping();
      expect(nurse.packets.filter(({ cmd }) => cmd === 'publish')).toHaveLength(1);
      nurse.vanish();
    }
    const shown = await accountOf(home.gateway, clientId);
    expect(shown).toMatchObject({ accepted: 1 });
  });

  it('each of two has its own will, takeover and QoS 2 identifiers', async () => {
    const clientId = 'sensor-1';
    const [one, two] = [await home.device(), await other.device()];
    const topic = (device: TestDevice) => `devices/${device.id}/x`;
    const nurse = await home.nurse(one, 'x', 'gone');
    const will = { topic: `devices/${one.id}/gone`, payload: Buffer.from('1'), qos: 1 as const };
    const first = await RawClient.connect(home.gateway, one, {
      ...{ clientId, clean: false },
      will: { ...will, retain: false },
    });
    first.send({ ...publishPacket(topic(one), '1'), qos: 2, messageId: 7 });
    await first.next('pubrec');
    const second = await RawClient.connect(home.gateway, two, { clientId, clean: true });
    await second.publish(topic(two), '2', 2, 7);
    await first.ping();
    const listed = await connectionListOf(home.gateway);
    expect(listed.filter((view) => view.clientId === clientId)).toHaveLength(2);
    second.vanish();
    first.vanish();
    await nurse.until((received) => received.some((message) => message.topic.endsWith('/gone')));
    const again = await RawClient.connect(home.gateway, one, { clientId, clean: false });
    again.send({ ...publishPacket(topic(one), '1'), qos: 2, messageId: 7, dup: true });
    await again.next('pubrec');
    await home.publishLast(one, 'x', '"last"');
    await nurse.until((received) => received.some(({ text }) => text.includes('"last"')));
    expect(nurse.messages('/x').map(({ data }) => data)).toEqual([1, 'last']);
    again.vanish();
    await nurse.end();
  });
});

describe('CONTRACT 3: a client id that another principal of the location has', () => {
  it.each([
    ['a live session', false],
    ['an absent one', true],
  ])('is refused with 2 to a newcomer, by %s', async (_session, isAbsent) => {
    const clientId = `taken-${isAbsent}`;
    const holder = await RawClient.connect(home.gateway, home.viewer, { clientId, clean: false });
    if (isAbsent) holder.vanish();
    const second = await home.api.viewer(home.locationId);
    for (const who of [await home.device(), second, home.manager]) {
      expect(await returnCodeFor(who, clientId)).toBe(IDENTIFIER_REJECTED);
    }
    holder.vanish();
  });

  it('is free to who had it before, whose own id it begins with, and to a subscriber', async () => {
    const [before, newcomer] = [await home.device(), await home.device()];
    await comeAndGo(before, 'ward-3-bed-1');
    await comeAndGo(newcomer, 'ward-3-bed-1', false);
    expect(await returnCodeFor(before, 'ward-3-bed-1')).toBe(0);
    await comeAndGo(newcomer, `${before.id}-2`, false);
    expect(await returnCodeFor(before, `${before.id}-2`)).toBe(0);
    expect(await returnCodeFor(home.viewer, `${before.id}-2`)).toBe(0);
    expect(await returnCodeFor(await home.device(), `${before.id}-2`)).toBe(IDENTIFIER_REJECTED);
    // The newest 16 are remembered.
    for (let other = 1; other <= 16; other++) await comeAndGo(before, `ward-3-other-${other}`);
    expect(await returnCodeFor(before, 'ward-3-bed-1')).toBe(IDENTIFIER_REJECTED);
  });

  it('is refused to a device that is created anew under the id of one that had it before', async () => {
    const [before, newcomer] = [await home.device(), await home.device()];
    await comeAndGo(before, 'ward-4-bed-1');
    await comeAndGo(newcomer, 'ward-4-bed-1', false);
    const path = `/care-homes/${home.locationId}/devices`;
    await home.api.request('DELETE', `${path}/${before.id}`);
    const anew = Object(await home.api.json('POST', path, { name: 'new', id: before.id }));
    const secret = String(anew.secret);
    expect(await returnCodeFor({ ...before, secret }, 'ward-4-bed-1')).toBe(IDENTIFIER_REJECTED);
  });

  it('is free once the token that had it has expired', async () => {
    const clientId = 'expires';
    const grants = [{ location: home.locationId, role: 'viewer' }];
    const expiresAt = new Date(Date.now() + 3_000).toISOString();
    const body = { name: 'old', grants, expiresAt };
    const token = Object(await home.api.json('POST', '/access-tokens', body));
    const holder = await RawClient.connect(home.gateway, token, { clientId, clean: false });
    expect(await returnCodeFor(home.manager, clientId)).toBe(IDENTIFIER_REJECTED);
    await holder.closed();
    expect(await returnCodeFor(home.manager, clientId)).toBe(0);
  });

  it('is refused with 2 after a restart too, by a persistent session; a clean one leaves it free', async () => {
    const [kept, clean] = ['kept-over-restart', 'clean-before-restart'];
    await comeAndGo(home.viewer, kept, false);
    await comeAndGo(home.viewer, clean);
    await home.gateway.stop();
    await home.gateway.start();
    for (const who of [await home.device(), home.manager]) {
      expect(await returnCodeFor(who, kept)).toBe(IDENTIFIER_REJECTED);
    }
    await comeAndGo(home.manager, clean, false);
    expect(await returnCodeFor(home.viewer, clean)).toBe(IDENTIFIER_REJECTED);
    expect(await returnCodeFor(home.viewer, kept)).toBe(0);
  });
});
