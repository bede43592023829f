import { afterEach, expect, it } from 'vitest';
import { Home } from '../broker/home.js';
import { publishPacket, RawClient } from '../harness/raw-client.js';
import { Store } from '../harness/store.js';
import { eventually } from './faults.js';

const DEVICES = 20;
const MESSAGES = 40;
const MESSAGE_BYTES = 200_000;
/** What the gateway takes in while the store is away (`broker/intake.ts`). */
const MAX_UNSTORED_BYTES = 64 * 1024 * 1024;
/** Each client may have had one more message on its way in when the bound was reached. */
const OVERSHOOT_BYTES = DEVICES * MESSAGE_BYTES;

let home: Home;

afterEach(() => home.remove());

async function unstoredBytes(): Promise<number> {
  const text = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  return Number(/^gateway_unstored_bytes (\d+)$/m.exec(text)?.[1]);
}

it('a store that is away costs bounded memory, and everything is taken once it is back', async () => {
  home = await Home.start();
  const store = await Store.of(home.gateway);
  const sensors = await Promise.all(
    Array.from({ length: DEVICES }, async () => {
      const device = await home.device();
      return { device, client: await RawClient.connect(home.gateway, device) };
    }),
  );
  store.freeze();
  const payload = JSON.stringify('x'.repeat(MESSAGE_BYTES - 2));
  for (const { device, client } of sensors) {
    for (let messageId = 1; messageId <= MESSAGES; messageId++) {
      const message = publishPacket(`devices/${device.id}/dump`, payload);
      client.send({ ...message, qos: 1, messageId });
    }
  }
  let most = 0;
  await eventually(async () => {
    most = Math.max(most, await unstoredBytes());
    expect(most).toBeGreaterThanOrEqual(MAX_UNSTORED_BYTES);
  });
  for (let look = 0; look < 20; look++) most = Math.max(most, await unstoredBytes());
  expect(most).toBeLessThanOrEqual(MAX_UNSTORED_BYTES + OVERSHOOT_BYTES);

  store.thaw();
  for (const { client } of sensors) {
    const acknowledged = () => client.packets.filter(({ cmd }) => cmd === 'puback').length;
    await client.until(() => acknowledged() === MESSAGES, 'not everything was acknowledged');
    client.vanish();
  }
  expect(await unstoredBytes()).toBe(0);
  store.close();
});
