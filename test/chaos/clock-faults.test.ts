import { afterEach, describe, expect, it } from 'vitest';
import { GatewayProcess } from '../harness/gateway-process.js';
import { Home } from '../harness/home.js';
import { accountOf } from '../harness/metrics.js';
import { MovableClock } from '../harness/movable-clock.js';
import { RawClient } from '../harness/raw-client.js';
import { Store } from '../harness/store.js';
import { Columns, eventually, saysReady, Watcher } from './faults.js';

const HOUR_MS = 3_600_000;
const KEEP_ALIVE_SECONDS = 300;
const STEP_MS = 400_000;
const LATE_MS = 61_000;
/** Entries expire every 10 s, here twice a second. */
const SWEPT_WITHIN_MS = 15_000;

/** Clean-ups, undone from the last one on. */
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(environment: Record<string, string> = {}) {
  const clock = new MovableClock();
  cleanups.push(() => clock.remove());
  const gateway = await GatewayProcess.start({ ...clock.environment, ...environment });
  cleanups.push(() => gateway.remove());
  return { clock, gateway, home: await Home.at(gateway) };
}

/** Queues five alarms of each QoS for an absent durable subscriber. */
async function withBacklog(home: Home): Promise<Columns> {
  const columns = await Columns.of(home);
  await columns.watchers[0]?.subscriber.end();
  for (let count = 0; count < 5; count++) columns.alarm();
  await columns.areStored();
  return columns;
}

describe('guarantee 7: a clock that jumps', () => {
  it('is reported, drops nothing queued and delays no live alarm, at each QoS', async () => {
    const { clock, gateway, home } = await start();
    const columns = await withBacklog(home);
    const [, live] = columns.watchers;
    clock.jump(gateway, 1_000 * HOUR_MS);
    await eventually(async () =>
      expect(await saysReady(home)).toMatch(/clock .* jumped by 3600000 s/),
    );
    await live?.seesFault(/clock .* has jumped/);
    // Expired entries are gone after the next sweep.
    const store = await Store.of(gateway);
    await home.publishLast(columns.anyDevice, 'x', '1');
    await eventually(async () => {
      expect(await store.redis.xlen('{site}:log:messages')).toBe(0);
    }, SWEPT_WITHIN_MS);
    store.close();
    clock.jump(gateway, -1_000 * HOUR_MS);
    await eventually(async () => expect(await saysReady(home)).toMatch(/jumped by -7200000 s/));

    const back = await Watcher.back(home);
    for (const sensor of columns.sensors) await back.seesStored(sensor);
    const again = await Columns.with(home, await Columns.devices(home), [
      back,
      ...(live ? [live] : []),
    ]);
    await again.see();
    await again.loseNothing();
  });
});

describe('guarantee 6: what waits', () => {
  it('expires beyond the age bound at each QoS, for durable and live subscribers, and is counted', async () => {
    const inFlight = 5;
    const { clock, gateway, home } = await start({
      GATEWAY_SESSIONS_MAX_QUEUED_HOURS: '1',
      GATEWAY_MQTT_MAX_IN_FLIGHT: String(inFlight),
    });
    const live = await RawClient.connect(gateway, home.viewer, { keepalive: KEEP_ALIVE_SECONDS });
    await live.subscribe([`care-homes/${home.locationId}/devices/+/alarms/#`]);
    const columns = await withBacklog(home);
    const count = columns.sensors.length * 5;
    // In steps, with a ping of the live subscriber in each, so that no keep-alive ends it.
    for (let passedMs = STEP_MS; passedMs <= 2 * HOUR_MS; passedMs += STEP_MS) {
      clock.pass(gateway, passedMs);
      await live.ping();
    }
    await eventually(async () => {
      expect(await accountOf(gateway, 'durable')).toMatchObject({ queued: 0, expired: count });
    }, SWEPT_WITHIN_MS);

    const publishes = () => live.packets.filter((packet) => packet.cmd === 'publish');
    const ids = () => publishes().map(({ payload }) => JSON.parse(payload.toString()).id);
    expect(ids()).toHaveLength(inFlight);
    live.acknowledgeAll();
    const back = await Watcher.back(home);
    const again = await Columns.with(home, await Columns.devices(home), [back]);
    again.alarm();
    await again.loseNothing();
    const fresh = again.sensors.flatMap(({ sent }) => sent);
    await live.until(() => publishes().length >= inFlight + fresh.length, 'not the new ones');
    expect(ids().slice(inFlight).sort()).toEqual(fresh.sort());
    for (const { device } of columns.sensors) expect(back.storedOf(device)).toEqual([]);
    live.vanish();
  });

  it('is marked late after more than 60 s, at each QoS', async () => {
    const { clock, gateway, home } = await start();
    const columns = await withBacklog(home);
    clock.pass(gateway, LATE_MS);
    const back = await Watcher.back(home);
    for (const sensor of columns.sensors) await back.seesStored(sensor);
    const [, live] = columns.watchers;
    const lateOf = (watcher: Watcher | undefined) =>
      watcher?.subscriber.messages('/alarms/').map(({ late }) => late);
    expect(lateOf(back)).toEqual(Array.from({ length: 15 }, () => true));
    expect(lateOf(live)).toEqual(Array.from({ length: 15 }, () => false));
  });
});
