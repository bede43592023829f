import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { keysOf } from '../../../src/store/keys.js';
import { connectDevice } from '../../former/clients/mqtt-clients.js';
import { eventually } from '../../former/eventually.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { unusedPort } from '../../former/servers/unused-port.js';
import { becomesReady, saysReady } from './faults.js';
import { acknowledge, cleanups, events, homeOnOwnStore, recordAlarms } from './losing-home.js';

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

it.each(['alarm-groups:*', 'alarms:*'])(
  'lists an alarm that arrives after the keys %s were lost',
  async (pattern) => {
    const { home, store } = await homeOnOwnStore();
    const device = await home.device();
    await recordAlarms(home, 2, 2, device);
    await store.redis.del(await store.redis.keys(`{site}:${pattern}`));
    await eventually(async () => {
      expect(await saysReady(home)).toMatch(/lost \d index(es)? of the history/);
    });
    await recordAlarms(home, 1, 3, device);
    const page = async (path: string) =>
      events.parse(await home.api.json('GET', `${path}?order=desc`)).events.length;
    expect(await page(`${home.path}/alarms`)).toBeGreaterThan(0);
    expect(await page(`${home.path}/devices/${device.id}/alarms`)).toBeGreaterThan(0);
    await acknowledge(home);
  },
);

it('reports a Sentinel in one line when redis.url has its port', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-sentinel-'));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  const port = await unusedPort();
  const file = join(directory, 'sentinel.conf');
  writeFileSync(file, `port ${port}\nbind 127.0.0.1\n`);
  const sentinel = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
  cleanups.push(async () => {
    sentinel.kill('SIGKILL');
    await once(sentinel, 'exit');
  });
  const gateway = await GatewayProcess.create({ GATEWAY_REDIS_URL: `redis://127.0.0.1:${port}` });
  cleanups.push(() => rmSync(gateway.dataDir, { recursive: true, force: true }));
  await expect(gateway.start()).rejects.toThrow('the gateway ended with 1');
  const last = gateway.lines.at(-1) ?? '';
  expect(last).toMatch(/failed to start the gateway: the store cannot be used: it is a Sentinel/);
  expect(last).not.toContain('stack');
});

it('holds back in order the alarms of a device whose key was overwritten, and no others', async () => {
  const { home, store } = await homeOnOwnStore();
  const [broken, other] = [await home.device(), await home.device()];
  const key = keysOf('site').deviceAlarms(home.locationId, broken.id);
  await store.redis.set(key, 'text');
  const sensor = await connectDevice(home.gateway, broken);
  const detectedAt = (at: number) => new Date(Date.UTC(2026, 0, 1) + at).toISOString();
  const publishes = [1, 2, 3].map((at) => {
    const alarm = JSON.stringify({ kind: 'fall', id: randomUUID(), detectedAt: detectedAt(at) });
    return sensor.publishAsync(`devices/${broken.id}/alarms`, alarm, { qos: 1 });
  });
  await recordAlarms(home, 2, 2, other);
  await eventually(async () => {
    const answer = await home.api.request('GET', '/readyz');
    expect(await answer.json()).toMatchObject({
      faults: [{ code: 'store-refusing', stops: true, subject: { type: 'device', id: broken.id } }],
    });
  });
  await store.redis.del(key);
  await Promise.all(publishes);
  await becomesReady(home);
  const history = z.object({ events: z.array(z.object({ detectedAt: z.string() })) });
  const path = `${home.path}/devices/${broken.id}/alarms?order=asc`;
  const page = history.parse(await home.api.json('GET', path));
  expect(page.events.map((event) => event.detectedAt)).toEqual([1, 2, 3].map(detectedAt));
  const fields = await store.redis.xrange(keysOf('site').history, '-', '+');
  expect(fields).toHaveLength(5);
  await sensor.endAsync();
});
