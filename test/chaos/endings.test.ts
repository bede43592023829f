import { afterEach, describe, expect, it } from 'vitest';
import { GatewayProcess } from '../harness/gateway-process.js';
import { Home } from '../harness/home.js';
import { Store } from '../harness/store.js';
import { storeProcessId } from '../harness/store-process.js';
import { becomesReady, Columns, eventually, isRecorded, Sensor, Watcher } from './faults.js';

/** Clean-ups, undone from the last one on. */
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function killBoth(gateway: GatewayProcess): Promise<void> {
  const store = storeProcessId(gateway.dataDir);
  if (store === undefined) throw new Error('no store runs');
  const dead = gateway.kill();
  process.kill(store, 'SIGKILL');
  await dead;
}

const ENDS: [string, (gateway: GatewayProcess) => Promise<unknown>][] = [
  ['stopped', (gateway) => gateway.stop()],
  ['killed', (gateway) => gateway.kill()],
  ['killed with its store', killBoth],
];

describe('guarantee 2: a gateway that is', () => {
  it.each(ENDS)(
    '%s loses nothing stored, at any QoS; live subscribers get later alarms once they are back',
    async (_how, end) => {
      const home = await Home.at(await start());
      const before = await Columns.of(home);
      before.alarm();
      await before.loseNothing();
      const [durable, live] = before.watchers;
      await durable?.subscriber.end();
      for (let count = 0; count < 5; count++) before.alarm();
      await before.areStored();
      for (const { device, sent } of before.sensors) {
        await eventually(() => expect(live?.storedOf(device)).toEqual(sent));
      }
      await end(home.gateway);
      await home.gateway.start();

      const back = await Watcher.back(home);
      const liveAgain = await Watcher.connect(home, 'live');
      const after = await Columns.with(home, await Columns.devices(home), [back, liveAgain]);
      for (const { device, sent } of before.sensors) {
        // Entries acknowledged in the last 50 ms may come once more.
        const later = () => back.storedOf(device).filter((id) => id !== sent[0]);
        await eventually(() => expect(later()).toEqual(sent.slice(1)));
        await isRecorded(home, device, sent);
      }
      after.alarm();
      await after.loseNothing();
      for (const { device } of before.sensors) expect(liveAgain.storedOf(device)).toEqual([]);
      await becomesReady(home);
    },
  );

  it.each(ENDS)(
    '%s while an alarm is on its way makes the device send it again at QoS 1 and 2, and loses it at QoS 0',
    async (how, end) => {
      const home = await Home.at(await start());
      const before = await Columns.of(home);
      const store = await Store.of(home.gateway);
      await store.redis.config('SET', 'maxmemory', '1');
      await before.seeLive();
      await end(home.gateway);
      // Only a kill of the gateway alone leaves the store running, and full.
      if (how === 'killed') await store.redis.config('SET', 'maxmemory', '0');
      store.close();
      await home.gateway.start();

      const watchers = [await Watcher.back(home), await Watcher.connect(home, 'live')];
      for (const { device, qos, sent } of before.sensors) {
        const again = await Sensor.connect(home, device, { qos });
        if (qos > 0) for (const id of sent) again.alarm(id);
        else again.alarm();
        await again.allAcknowledged();
        await isRecorded(home, device, again.sent);
        for (const watcher of watchers) await watcher.seesStored(again);
      }
    },
  );
});

async function start(): Promise<GatewayProcess> {
  const gateway = await GatewayProcess.start();
  cleanups.push(() => gateway.remove());
  return gateway;
}
