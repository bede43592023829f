import { expect, it, onTestFinished } from 'vitest';
import { Api } from '../former/clients/api.js';
import { eventually } from '../former/eventually.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { RedisServer } from '../former/servers/redis-server.js';
import { faultTextsIn } from '../harness/described/fault-texts.js';

it('reports a setting that is changed at run time, and looks at once at each new server', async () => {
  const server = await RedisServer.start('--appendonly', 'yes', '--appendfsync', 'always');
  onTestFinished(() => server.remove());
  const gateway = await GatewayHere.start({ GATEWAY_REDIS_URL: `unix://${server.socketPath}` });
  onTestFinished(() => gateway.remove());
  const api = new Api(gateway);
  const settings = async () => {
    const texts = faultTextsIn(await (await api.request('GET', '/readyz')).json());
    return texts.filter((text) => text.includes('appendfsync'));
  };
  expect(await settings()).toEqual([]);
  await server.redis.config('SET', 'appendfsync', 'everysec');
  await eventually(async () => expect(await settings()).toHaveLength(1));
  await server.redis.config('SET', 'appendfsync', 'always');
  // As when another box takes over: all connections are new.
  await server.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  const againAtMs = performance.now();
  await eventually(async () => expect(await settings()).toEqual([]));
  expect(performance.now() - againAtMs).toBeLessThan(29_000);
});
