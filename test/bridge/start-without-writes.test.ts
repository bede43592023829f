import { afterEach, expect, it } from 'vitest';
import { keysOf } from '../../src/store/keys.js';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import { Store } from '../former/stored/store.js';
import { ScriptedUpstream } from './upstream/scripted-upstream.js';

const SITE = 'site';
const QUEUE = 'bridge:region/bridge/region';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

it.each(['new', 'removed'])(
  'a gateway starts on a store that refuses writes, with a bridge that is %s',
  async (change) => {
    const upstream = await ScriptedUpstream.start();
    cleanups.push(() => upstream.remove());
    const gateway = await GatewayProcess.create();
    cleanups.push(() => gateway.remove());
    const bridges = [{ name: 'region', url: upstream.url }];
    await gateway.configure({ bridges: change === 'new' ? [] : bridges });
    await gateway.start();
    // The store runs on, and refuses writes as it does on a full disk.
    await gateway.kill();
    const store = await Store.of(gateway);
    cleanups.push(async () => store.close());
    await store.redis.config('SET', 'min-replicas-to-write', '1');
    await gateway.configure({ bridges: change === 'new' ? bridges : [] });
    await gateway.start(20_000);

    await store.redis.config('SET', 'min-replicas-to-write', '0');
    await expect.poll(() => sessionsIn(store)).toEqual([QUEUE]);
  },
);

async function sessionsIn({ redis }: Store): Promise<string[]> {
  return redis.smembers(keysOf(SITE).sessions);
}
