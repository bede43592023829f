import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { Api } from '../former/clients/api.js';
import { Home } from '../former/home.js';
import { Store } from '../former/stored/store.js';

it('has no lease, and sends its commands unchanged, when the store is its own', async () => {
  const home = await Home.start();
  const store = await Store.of(home.gateway);
  // The client's own MONITOR fails if a command arrives before it is ready.
  const monitor = connect(store.redis.options.path ?? '').setEncoding('utf8');
  monitor.write('MONITOR\r\n');
  await once(monitor, 'data');
  let commands = '';
  monitor.on('data', (text: string) => {
    commands += text;
  });
  const device = await home.device();
  const nurse = await home.nurse(device, 'alarms/#');
  await home.publishLast(device, 'alarms', JSON.stringify({ kind: 'fall', id: 'one' }));
  await nurse.untilCount(1);
  await store.redis.echo('the last command');
  await expect.poll(() => commands).toContain('the last command');
  monitor.destroy();

  expect(commands.toLowerCase()).toContain('"xadd"');
  expect(commands).not.toContain('FENCED');
  expect(await store.keys('*lease*')).toEqual([]);
  const metrics = await new Api(home.gateway).request('GET', '/metrics');
  expect(await metrics.text()).not.toContain('gateway_lease_epoch');
  expect(home.gateway.lines.join()).not.toContain('lease');
  store.close();
  await home.remove();
});
