import { generate, type IConnectPacket } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api, type TestDevice, type TestToken } from '../../former/clients/api.js';
import { connectPacket, credentials, RawClient } from '../../former/clients/raw-client.js';
import { eventually } from '../../former/eventually.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { ACCEPTED, returnCodeOf } from './return-code.js';

let gateway: GatewayHere;
let api: Api;
let device: TestDevice;
let viewer: TestToken;

beforeAll(async () => {
  gateway = await GatewayHere.start();
  api = new Api(gateway);
  const { id } = await api.createLocation();
  device = await api.createDevice(id);
  viewer = await api.viewer(id);
});

afterAll(() => gateway.remove());

const returnCodeFor = (options: Partial<IConnectPacket>) => returnCodeOf(gateway, options);

describe('a second connection under the same client id', () => {
  /** Expects that an alarm for every subscriber of the location reaches this one. */
  async function alarmReaches(subscriber: RawClient): Promise<void> {
    const sensor = await RawClient.connect(gateway, device);
    await sensor.publish(`devices/${device.id}/alarms`, '{"kind":"fall"}', 1);
    expect((await subscriber.next('publish')).topic).toMatch(/\/alarms\/fall$/);
    sensor.vanish();
  }

  /** Resolves to the open connections, once only one is left. */
  async function theOneLeft(all: readonly RawClient[]): Promise<RawClient[]> {
    const left = () => all.filter(({ isClosed }) => !isClosed);
    await eventually(() => expect(left()).toHaveLength(1));
    return left();
  }

  it.each([
    ['clean', 'clean', []],
    ['clean', 'clean', ['gateway/status']],
    ['clean', 'persistent', ['gateway/status']],
    ['persistent', 'clean', ['gateway/status']],
    ['persistent', 'persistent', ['gateway/status']],
  ])('takes over from a %s to a %s session (%j)', async (from, to, filtersBefore) => {
    const clientId = `takeover-${from}-${to}-${filtersBefore.length}`;
    const before = await RawClient.connect(gateway, viewer, { clientId, clean: from === 'clean' });
    if (filtersBefore.length > 0) await before.subscribe(filtersBefore);
    const after = await RawClient.connect(gateway, viewer, { clientId, clean: to === 'clean' });
    await before.closed();
    expect(await after.subscribe([`care-homes/${device.locationId}/+/+/alarms/#`])).toEqual([1]);
    await alarmReaches(after);
    after.vanish();
  });

  it('receives what the first had not acknowledged', async () => {
    const session = { clientId: 'takeover-unacknowledged', clean: false };
    const before = await RawClient.connect(gateway, viewer, session);
    await before.subscribe([`care-homes/${device.locationId}/+/+/alarms/#`]);
    await alarmReaches(before);
    for (let round = 0; round < 3; round++) {
      const all = await Promise.all(Array.from({ length: 5 }, () => RawClient.open(gateway)));
      for (const client of all) client.send(connectPacket({ ...credentials(viewer), ...session }));
      const [last] = await theOneLeft(all);
      expect(await last?.next('publish')).toMatchObject({ dup: true, qos: 1 });
    }
  });

  it('keeps the filters of a SUBSCRIBE sent in the same write as CONNECT', async () => {
    const clientId = 'takeover-at-once';
    const filter = `care-homes/${device.locationId}/+/+/alarms/#`;
    const before = await RawClient.connect(gateway, viewer, { clientId });
    await before.subscribe([filter]);
    const after = await RawClient.open(gateway);
    const subscriptions = [{ topic: filter, qos: 1 }] as const;
    after.send(connectPacket({ ...credentials(viewer), clientId }), {
      cmd: 'subscribe',
      messageId: 1,
      subscriptions: [...subscriptions],
    });
    expect((await after.next('suback')).granted).toEqual([1]);
    await before.closed();
    await alarmReaches(after);
    after.vanish();
  });

  it.each([true, false])(
    'leaves one working connection when 20 more connect at once (clean: %s)',
    async (clean) => {
      const clientId = `takeover-many-${clean}`;
      const filter = `care-homes/${device.locationId}/+/+/alarms/#`;
      const subscriptions = [{ topic: filter, qos: 1 as const }];
      for (let round = 0; round < 3; round++) {
        const all = await Promise.all(Array.from({ length: 21 }, () => RawClient.open(gateway)));
        for (const client of all) {
          const packet = connectPacket({ ...credentials(viewer), clientId, clean });
          client.send(packet, { cmd: 'subscribe', messageId: 1, subscriptions });
        }
        const [last] = await theOneLeft(all);
        await last?.next('suback');
        if (last !== undefined) await alarmReaches(last);
        last?.vanish();
      }
      expect(await returnCodeFor({ ...credentials(viewer), clientId })).toBe(ACCEPTED);
    },
  );

  it('takes over even if the bytes after CONNECT violate MQTT, and keeps the filters of the session', async () => {
    const session = { clientId: 'takeover-broken-off', clean: false };
    const first = await RawClient.connect(gateway, viewer, session);
    await first.subscribe([`care-homes/${device.locationId}/+/+/alarms/#`]);
    const second = await RawClient.open(gateway);
    const connect = generate(connectPacket({ ...credentials(viewer), ...session }));
    second.stream.write(Buffer.concat([connect, Buffer.from([0xf7, 0x89, 0xaf, 0xcb, 0xf1])]));
    await Promise.all([first.closed(), second.closed()]);
    const third = await RawClient.connect(gateway, viewer, session);
    await alarmReaches(third);
    third.vanish();
  });

  it('keeps a device online until it ends', async () => {
    const sensor = await api.createDevice(device.locationId, 'Bett 2');
    const commands = [`devices/${sensor.id}/commands/#`];
    const before = await RawClient.connect(gateway, sensor, { clientId: sensor.id });
    await before.subscribe(commands);
    const after = await RawClient.connect(gateway, sensor, { clientId: sensor.id });
    await before.closed();
    await after.subscribe(commands);
    const path = `/care-homes/${sensor.locationId}/devices/${sensor.id}`;
    expect(await api.json('GET', path)).toMatchObject({ online: true });
    after.send({ cmd: 'disconnect' });
    await eventually(async () => {
      expect(await api.json('GET', path)).toMatchObject({ online: false });
    });
  });
});
