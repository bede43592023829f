import { describe, it } from 'vitest';
import { publishPacket, RawClient } from '../../former/clients/raw-client.js';
import { acknowledged, faults, slowedBy, values, withLimits } from './limited-home.js';

describe.concurrent('an access token over a limit', () => {
  it('is slowed when it requests its retained messages repeatedly', async (context) => {
    const { expect } = context;
    const home = await withLimits(context, {
      'token.bytesPerSecond': 100,
      'token.byteBurst': 20_000,
    });
    const device = await home.device();
    const sensor = await RawClient.connect(home.gateway, device);
    for (let value = 1; value <= 10; value++) {
      const packet = publishPacket(`devices/${device.id}/setting/${value}`, 'x'.repeat(1_000));
      sensor.send({ ...packet, qos: 1, messageId: value, retain: true });
    }
    await sensor.until(() => acknowledged(sensor) === 10, 'not all were acknowledged');
    const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId: 'again' });
    nurse.acknowledgeAll();
    const filter = home.filter(device, 'setting/#');
    const received = () => nurse.packets.filter(({ cmd }) => cmd === 'publish').length;
    for (let times = 1; times <= 2; times++) {
      await nurse.subscribe([filter]);
      await nurse.until(() => received() === times * 10, 'not all retained messages came');
    }
    const subscriptions = [{ topic: filter, qos: 1 as const }];
    nurse.send(
      ...[1, 2].map((messageId) => ({ cmd: 'subscribe' as const, messageId, subscriptions })),
    );
    nurse.send({ cmd: 'pingreq' });
    await expect.poll(() => slowedBy(home, 'again')).toBe('token.bytesPerSecond');
  });

  it('is read at its limit, and its connection that only acknowledges is read as before', async (context) => {
    const { expect } = context;
    const home = await withLimits(context, {
      'token.messagesPerSecond': 20,
      'token.messageBurst': 20,
    });
    const device = await home.device();
    const [commands, nurse] = [
      await RawClient.connect(home.gateway, home.manager, { clientId: 'commands' }),
      await RawClient.connect(home.gateway, home.manager),
    ];
    nurse.acknowledgeAll();
    await nurse.subscribe([home.filter(device, 'alarms/#')]);
    const topic = `care-homes/${home.locationId}/devices/${device.id}/commands/light`;
    commands.send(...values(topic, 400));
    await expect.poll(() => slowedBy(home, 'commands')).toBe('token.messagesPerSecond');
    await expect
      .poll(() => faults(home, expect))
      .toContain(
        `An access token is slowed to its limit of 20 messages a second: access token nurse call (${home.manager.id})`,
      );
    const sensor = await RawClient.connect(home.gateway, device);
    // More than may be in flight: without the acknowledgements the rest would not come.
    sensor.send(
      ...values(`devices/${device.id}/alarms`, 300).map((packet, index) => {
        const payload = `{"kind":"fall","detectedAt":"2026-01-01T00:00:00.${String(index).padStart(3, '0')}Z"}`;
        return { ...packet, payload };
      }),
    );
    const forwarded = () => nurse.packets.filter(({ cmd }) => cmd === 'publish').length;
    await nurse.until(() => forwarded() === 300, 'not all alarms came');
    expect(acknowledged(commands)).toBeLessThan(400);
  });
});
