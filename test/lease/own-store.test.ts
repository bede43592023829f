import { expect, it } from 'vitest';
import { Api } from '../harness/api.js';
import { Home } from '../harness/home.js';
import { Store } from '../harness/store.js';

it('has no lease, and sends its commands as they are, when the store is its own', async () => {
  const home = await Home.start();
  const store = await Store.of(home.gateway);
  const monitor = await store.redis.monitor();
  const commands: string[][] = [];
  monitor.on('monitor', (_, command) => commands.push(command));
  const device = await home.device();
  const nurse = await home.nurse(device, 'alarms/#');
  await home.publishLast(device, 'alarms', JSON.stringify({ kind: 'fall', id: 'one' }));
  await nurse.untilCount(1);
  await store.redis.ping();
  monitor.disconnect();

  expect(commands.length).toBeGreaterThan(1);
  expect(commands.flat().filter((text) => text.includes('FENCED'))).toEqual([]);
  expect(await store.keys('*lease*')).toEqual([]);
  const metrics = await new Api(home.gateway).request('GET', '/metrics');
  expect(await metrics.text()).not.toContain('gateway_lease_epoch');
  expect(home.gateway.lines.join()).not.toContain('lease');
  store.close();
  await home.remove();
});
