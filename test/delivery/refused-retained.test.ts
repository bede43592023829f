import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { Home } from '../former/home.js';
import { Store } from '../former/stored/store.js';

const message = z.object({ data: z.number() });

let home: Home;
let store: Store;
beforeEach(async () => {
  home = await Home.start();
  store = await Store.of(home.gateway);
});
afterEach(async () => {
  store.close();
  await home.remove();
});

it.each([
  { qos: 0, forwarded: [1, 2, 3] },
  { qos: 1, forwarded: [1, 2, 3] },
] as const)(
  'retained messages of QoS $qos that the store refuses end no connection, are available, and are stored later',
  async ({ qos, forwarded }) => {
    const device = await home.device();
    const sensor = await connectDevice(home.gateway, device);
    const nurse = await Subscriber.connect(home.gateway, home.viewer, { clientId: `live-${qos}` });
    const filter = `care-homes/+/devices/${device.id}/weight`;
    await nurse.subscribe(filter);

    // The store refuses writes, as on a full disk.
    await store.redis.config('SET', 'min-replicas-to-write', '1');
    const published = [1, 2, 3].map((weight) =>
      sensor.publishAsync(`devices/${device.id}/weight`, String(weight), { qos, retain: true }),
    );
    await expect
      .poll(() => home.gateway.lines.join('\n'))
      .toContain('failed to store a retained message');
    const meanwhile = await Subscriber.connect(home.gateway, home.viewer);
    await meanwhile.subscribe(filter);
    await meanwhile.until(([first]) => first?.retain === true);
    expect(meanwhile.received[0]?.text).toContain('"data":3');
    await store.redis.config('SET', 'min-replicas-to-write', '0');

    await nurse.until((received) => received.length === forwarded.length);
    expect(nurse.received.map(({ text }) => message.parse(JSON.parse(text)).data)).toEqual(
      forwarded,
    );
    await Promise.all(published);
    expect(sensor.connected).toBe(true);
    const later = await Subscriber.connect(home.gateway, home.viewer, { clientId: `later-${qos}` });
    await later.subscribe(filter);
    await later.until((received) => received.length === 1);
    expect(later.received).toMatchObject([
      { retain: true, text: expect.stringContaining('"data":3') },
    ]);
    for (const { client } of [nurse, later, meanwhile]) await client.endAsync();
    await sensor.endAsync();
  },
);
