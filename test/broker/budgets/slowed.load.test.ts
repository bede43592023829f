import { describe, it } from 'vitest';
import type { TestDevice } from '../../former/clients/api.js';
import { RawClient } from '../../former/clients/raw-client.js';
import type { Home } from '../../former/home.js';
import { acknowledged, faults, slowedBy, values, withLimits } from './limited-home.js';

const SECOND_MS = 1_000;

function setLimits(home: Home, device: TestDevice, limits: object): Promise<unknown> {
  const path = `/care-homes/${device.locationId}/devices/${device.id}`;
  return home.api.json('PATCH', path, { limits });
}

/** How many more a rate allows since then. */
function since(startMs: number, perSecond: number): number {
  return (perSecond * (performance.now() - startMs)) / SECOND_MS;
}

describe.concurrent('a device over a limit', () => {
  it('is read at its limit, is named, and loses nothing; other devices of its home are not slowed', async (context) => {
    const { expect } = context;
    const home = await withLimits(context, {
      'device.messagesPerSecond': 100,
      'device.messageBurst': 100,
    });
    const [device, other] = [await home.device('Bett 1'), await home.device('Bett 2')];
    const clientId = 'over';
    const client = await RawClient.connect(home.gateway, device, { clientId });
    const startMs = performance.now();
    client.send(...values(`devices/${device.id}/t`, 1_000));
    await client.until(() => acknowledged(client) > 150, 'nothing after the burst');
    await expect.poll(() => slowedBy(home, clientId)).toBe('device.messagesPerSecond');
    await expect
      .poll(() => faults(home, expect))
      .toContain(
        `A device is slowed to its limit of 100 messages a second: device Bett 1 (${device.id})`,
      );
    const quiet = await RawClient.connect(home.gateway, other);
    await quiet.publish(`devices/${other.id}/alarms`, '{"kind":"fall"}', 1);
    expect(acknowledged(client)).toBeLessThan(1_000);
    await client.until(() => acknowledged(client) > 300, 'it is not read on');
    // One turn's messages may be ahead of the limit.
    expect(acknowledged(client)).toBeLessThan(100 + since(startMs, 100) + 25);
    const metrics = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
    expect(metrics).toMatch(/^gateway_slowed_principals 1$/m);
    expect(metrics).toMatch(/^gateway_held_back_total [1-9]\d*$/m);
    await home.gateway.logged('slowed clients');
    const lines = home.gateway.lines.filter((line) => line.includes('slowed clients'));
    expect(lines.length).toBe(1);
    expect(lines[0]).toContain(device.id);
    await setLimits(home, device, { messagesPerSecond: 10_000, messageBurst: 10_000 });
    await client.until(() => acknowledged(client) === 1_000, 'not all were acknowledged');
  });

  it('is not considered gone, although its PINGREQ waits behind what it has sent', async (context) => {
    const { expect } = context;
    const home = await withLimits(context, {
      'device.messagesPerSecond': 20,
      'device.messageBurst': 20,
    });
    // Its keep-alive ends after 1.5 s.
    const device = await home.device();
    const client = await RawClient.connect(home.gateway, device, { keepalive: 1 });
    client.send(...values(`devices/${device.id}/t`, 70), { cmd: 'pingreq' });
    await client.next('pingresp');
    await client.until(() => acknowledged(client) === 70, 'not all were acknowledged');
    expect(client.isClosed).toBe(false);
  });

  it('is released immediately when a manager gives it a higher limit of its own', async (context) => {
    const { expect } = context;
    const home = await withLimits(context, { 'device.alarmsPerDay': 10 });
    const device = await home.device();
    const client = await RawClient.connect(home.gateway, device, { clientId: 'over' });
    const alarm = '{"kind":"fall","detectedAt":"2026-01-01T00:00:00Z","n":';
    const alarms = values(`devices/${device.id}/alarms`, 40).map((packet, index) => {
      return { ...packet, payload: `${alarm}${index}}` };
    });
    client.send(...alarms);
    await expect.poll(() => slowedBy(home, 'over')).toBe('device.alarmsPerDay');
    expect(acknowledged(client)).toBeLessThan(40);
    await setLimits(home, device, { alarmsPerDay: 1_000 });
    await client.until(() => acknowledged(client) === 40, 'it was not let go');
  });

  it('is held to its limit across many connections', async (context) => {
    const { expect } = context;
    const home = await withLimits(context, {
      'device.messagesPerSecond': 100,
      'device.messageBurst': 50,
    });
    const device = await home.device();
    const clients = await Promise.all(
      Array.from({ length: 10 }, () => RawClient.connect(home.gateway, device)),
    );
    const startMs = performance.now();
    for (const client of clients) client.send(...values(`devices/${device.id}/t`, 200));
    const total = () => clients.reduce((sum, client) => sum + acknowledged(client), 0);
    // Each connection had one turn before it was known that all of them would send.
    const ahead = 50 + 10 * 25;
    await expect.poll(total).toBeGreaterThan(ahead + 100);
    expect(total()).toBeLessThan(ahead + since(startMs, 100));
  });
});

describe.concurrent('a device that connects too often', () => {
  it('gets its CONNACK at its limit, and is named; its open connection and other devices are not slowed', async (context) => {
    const { expect } = context;
    const home = await withLimits(context, {
      'device.connectsPerSecond': 1,
      'device.connectBurst': 5,
    });
    const [device, other] = [await home.device('Bett 1'), await home.device('Bett 2')];
    const open = await RawClient.connect(home.gateway, device);
    const startMs = performance.now();
    // Each is answered before it is known that all of them would connect.
    const connects = Array.from({ length: 11 }, () => RawClient.connect(home.gateway, device));
    for (const client of await Promise.all(connects)) client.vanish();
    let isConnected = false;
    const late = RawClient.connect(home.gateway, device).then(() => {
      isConnected = true;
    });
    await expect
      .poll(() => faults(home, expect))
      .toContain(
        `A device is slowed to its limit of 1 connects a second: device Bett 1 (${device.id})`,
      );
    await open.publish(`devices/${device.id}/alarms`, '{"kind":"fall"}', 1);
    const quiet = await RawClient.connect(home.gateway, other);
    await quiet.publish(`devices/${other.id}/alarms`, '{"kind":"fall"}', 1);
    expect(isConnected).toBe(false);
    await late;
    expect(performance.now() - startMs).toBeGreaterThan(6 * SECOND_MS);
  });

  it('is charged for the bytes of its wills', async (context) => {
    const { expect } = context;
    const home = await withLimits(context, {
      'device.bytesPerSecond': 10_000,
      'device.byteBurst': 10_000,
    });
    const device = await home.device();
    const topic = `devices/${device.id}/gone`;
    const will = { topic, payload: Buffer.alloc(9_000), qos: 1 as const, retain: false };
    const startMs = performance.now();
    for (let connects = 0; connects < 4; connects++) {
      (await RawClient.connect(home.gateway, device, { will })).vanish();
    }
    expect(performance.now() - startMs).toBeGreaterThan(SECOND_MS);
  });
});

describe.concurrent('a device over its message limit, whatever the packets', () => {
  it.for(['pingreq', 'pubrel', 'puback'] as const)(
    'is slowed when it floods %s',
    async (cmd, context) => {
      const { expect } = context;
      const home = await withLimits(context, {
        'device.messagesPerSecond': 50,
        'device.messageBurst': 100,
      });
      const device = await home.device();
      const client = await RawClient.connect(home.gateway, device, { clientId: 'over' });
      // More than a turn of 1 KiB.
      client.send(...Array.from({ length: 1_000 }, () => ({ cmd, messageId: 1 })));
      await expect.poll(() => slowedBy(home, 'over')).toBe('device.messagesPerSecond');
    },
  );
});
