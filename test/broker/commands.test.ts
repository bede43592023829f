import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice, TestToken } from '../former/clients/api.js';
import { publishPacket, RawClient } from '../former/clients/raw-client.js';
import { Home } from '../former/home.js';

let home: Home;
let device: TestDevice;

beforeAll(async () => {
  home = await Home.start();
  device = await home.device();
});

afterAll(() => home.remove());

/** The device, subscribed to its commands. */
async function commanded(target: TestDevice): Promise<RawClient> {
  const client = await RawClient.connect(home.gateway, target);
  expect(await client.subscribe([`devices/${target.id}/commands/#`])).toEqual([1]);
  return client;
}

describe('a command from a manager', () => {
  it.each([0, 1, 2] as const)(
    'reaches the device at QoS %i, with its bytes as sent',
    async (qos) => {
      const sensor = await commanded(device);
      const manager = await RawClient.connect(home.gateway, home.manager);
      const payload = Buffer.from([0, 255, 1, 254]);
      manager.send({
        ...publishPacket(home.filter(device, 'commands/light/2'), payload),
        qos,
        ...(qos > 0 && { messageId: 1 }),
      });
      expect(await sensor.next('publish')).toMatchObject({
        topic: `devices/${device.id}/commands/light/2`,
        qos: Math.min(qos, 1),
        retain: false,
        payload,
      });
      await manager.ping();
      manager.vanish();
      sensor.vanish();
    },
  );

  it('is queued for an absent device with a persistent session', async () => {
    const target = await home.device();
    const session = { clientId: target.id, clean: false };
    const before = await RawClient.connect(home.gateway, target, session);
    await before.subscribe([`devices/${target.id}/commands/#`]);
    before.vanish();
    const manager = await RawClient.connect(home.gateway, home.manager);
    await manager.publish(home.filter(target, 'commands/restart'), 'now', 1);
    const after = await RawClient.connect(home.gateway, target, session);
    expect((await after.next('publish')).topic).toBe(`devices/${target.id}/commands/restart`);
    after.vanish();
    manager.vanish();
  });

  it('that is retained reaches a device that subscribes later', async () => {
    const target = await home.device();
    const manager = await RawClient.connect(home.gateway, home.manager);
    const command = publishPacket(home.filter(target, 'commands/mode'), 'night');
    manager.send({ ...command, retain: true, qos: 1, messageId: 1 });
    await manager.next('puback');
    const sensor = await commanded(target);
    expect(await sensor.next('publish')).toMatchObject({ retain: true, qos: 1 });
    sensor.vanish();
    manager.vanish();
  });

  it('for a device of another location is acknowledged and reaches nobody', async () => {
    const { id } = await home.api.createLocation('Elsewhere');
    const stranger = await home.api.createDevice(id);
    const sensor = await commanded(stranger);
    const manager = await RawClient.connect(home.gateway, home.manager);
    await manager.publish(home.filter(stranger, 'commands/x'), 'foreign', 1);
    const own = await home.api.createToken([{ location: id, role: 'manager' }]);
    const ownManager = await RawClient.connect(home.gateway, own);
    const topic = `care-homes/${id}/devices/${stranger.id}/commands/x`;
    await ownManager.publish(topic, 'own', 1);
    expect((await sensor.next('publish')).payload.toString()).toBe('own');
    for (const client of [sensor, manager, ownManager]) client.vanish();
  });
});

describe('an access token keeps its connection, and nothing is forwarded, when it publishes', () => {
  /**
   * Expects that the publish is acknowledged and that the device gets only the manager's next
   * command.
   */
  async function expectDropped(token: TestToken, topic: string): Promise<void> {
    const sensor = await commanded(device);
    for (const qos of [0, 1, 2] as const) {
      const client = await RawClient.connect(home.gateway, token);
      if (qos === 0) client.send(publishPacket(topic, 'no'));
      else await client.publish(topic, 'no', qos);
      await client.ping();
      client.vanish();
    }
    const manager = await RawClient.connect(home.gateway, home.manager);
    await manager.publish(home.filter(device, 'commands/x'), 'yes', 1);
    expect((await sensor.next('publish')).payload.toString()).toBe('yes');
    manager.vanish();
    sensor.vanish();
  }

  it('a command as a viewer', async () => {
    await expectDropped(home.viewer, home.filter(device, 'commands/x'));
  });

  it('a command as the manager of another location', async () => {
    const { id } = await home.api.createLocation('Elsewhere');
    const token = await home.api.createToken([{ location: id, role: 'manager' }]);
    await expectDropped(token, home.filter(device, 'commands/x'));
  });

  it('a command as the manager of a group that the device is not in', async () => {
    const grant = { location: home.locationId, group: randomUUID(), role: 'manager' };
    const token = await home.api.createToken([grant]);
    await expectDropped(token, home.filter(device, 'commands/x'));
  });

  it.each([
    ['to the device itself', () => `devices/${device.id}/commands/x`],
    ["as the device's alarm", () => `devices/${device.id}/alarms`],
    ['a forwarded alarm', () => home.filter(device, 'alarms/fall')],
    ['a status', () => home.filter(device, 'status')],
    ["the gateway's status", () => 'gateway/status'],
    ['commands without a name', () => home.filter(device, 'commands')],
    ['to $SYS', () => '$SYS/x'],
  ])('%s, even as a manager', async (_what, topic) => {
    await expectDropped(home.manager, topic());
  });
});
