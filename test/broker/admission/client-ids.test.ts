import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice, TestToken } from '../../former/clients/api.js';
import { connectionListOf } from '../../former/clients/connection-list.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';
import { accountOf } from '../../former/metrics.js';

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

/** Connects and disconnects cleanly: nothing is left of a clean session. */
async function comeAndGo(who: TestDevice | TestToken, clientId: string, clean = true) {
  const client = await RawClient.connect(home.gateway, who, { clientId, clean });
  client.send({ cmd: 'disconnect' });
  await client.closed();
}

describe('a client id is scoped to its principal', () => {
  it('a subscriber connects while another home’s sensor holds a session under its client id', async () => {
    const clientId = 'nurse-call-1';
    await comeAndGo(home.viewer, clientId);
    const sensor = await other.device();
    const held = await RawClient.connect(home.gateway, sensor, { clientId, clean: false });
    expect(await returnCodeFor(home.viewer, clientId)).toBe(0);
    await held.ping();
    held.vanish();
    expect(await returnCodeFor(home.viewer, clientId, false)).toBe(0);
  });

  it('two homes’ subscribers connect under one client id, each with its own alarms', async () => {
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
      clientId,
      clean: false,
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
