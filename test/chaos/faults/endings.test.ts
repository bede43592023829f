import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../former/eventually.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import type { RunningGateway } from '../../former/gateway/running-gateway.js';
import { Home } from '../../former/home.js';
import { Store } from '../../former/stored/store.js';
import { storeProcessId } from '../../former/stored/store-process.js';
import { becomesReady, Columns, isRecorded, Sensor, Watcher } from './faults.js';

async function killBoth(gateway: GatewayProcess): Promise<void> {
  const store = storeProcessId(gateway.dataDir);
  if (store === undefined) throw new Error('no store runs');
  const dead = gateway.kill();
  process.kill(store, 'SIGKILL');
  await dead;
}

interface Ending {
  readonly gateway: RunningGateway;
  readonly end: () => Promise<unknown>;
}

async function killedBy(kill: (gateway: GatewayProcess) => Promise<void>): Promise<Ending> {
  const gateway = await GatewayProcess.start();
  return { gateway, end: () => kill(gateway) };
}

async function stopped(): Promise<Ending> {
  const gateway = await GatewayHere.start();
  return { gateway, end: () => gateway.stop() };
}

describe.each([
  ['stopped', stopped],
  ['killed', () => killedBy((gateway) => gateway.kill())],
  ['killed with its store', () => killedBy(killBoth)],
])('guarantee 2: a gateway that is %s', (how, start) => {
  let gateway: RunningGateway;
  let end: Ending['end'];
  beforeAll(async () => {
    ({ gateway, end } = await start());
  });
  afterAll(() => gateway.remove());

  it('loses nothing stored, at any QoS; live subscribers get later alarms once they reconnect', async () => {
    const home = await Home.at(gateway);
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
    await end();
    await gateway.start();

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
  });

  it('while an alarm is on its way makes the device resend it at QoS 1 and 2, and loses it at QoS 0', async () => {
    const home = await Home.at(gateway);
    const before = await Columns.of(home);
    const store = await Store.of(gateway);
    await store.redis.config('SET', 'maxmemory', '1');
    await before.seeLive();
    await end();
    // Only killing the gateway alone leaves the store running, and full.
    if (how === 'killed') await store.redis.config('SET', 'maxmemory', '0');
    store.close();
    await gateway.start();

    const watchers = [await Watcher.back(home), await Watcher.connect(home, 'live')];
    for (const { device, qos, sent } of before.sensors) {
      const again = await Sensor.connect(home, device, { qos });
      if (qos > 0) for (const id of sent) again.alarm(id);
      else again.alarm();
      await again.allAcknowledged();
      await isRecorded(home, device, again.sent);
      for (const watcher of watchers) await watcher.seesStored(again);
    }
  });
});
