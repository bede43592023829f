import { afterEach, describe, expect, it } from 'vitest';
import { Subscriber } from '../../former/clients/mqtt-clients.js';
import { RawClient } from '../../former/clients/raw-client.js';
import { eventually } from '../../former/eventually.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { hurryIntervals } from '../../former/gateway/hurried-intervals.js';
import { Home } from '../../former/home.js';
import { accountOf } from '../../former/metrics.js';
import { Store } from '../../former/stored/store.js';
import { Columns, saysReady, Watcher } from './faults.js';

const HOUR_MS = 3_600_000;
const KEEP_ALIVE_SECONDS = 300;
const STEP_MS = 400_000;
const LATE_MS = 61_000;
/** Clean-ups, run in reverse order. */
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

hurryIntervals();

/** The clocks of a machine, which a test moves. */
class Clocks {
  #wallAheadMs = 0;
  #elapsedAheadMs = 0;

  readonly now = (): number => Date.now() + this.#wallAheadMs;
  readonly elapsed = (): number => performance.now() + this.#elapsedAheadMs;

  /** Sets the machine's clock; no time passes. */
  jump(ms: number): void {
    this.#wallAheadMs += ms;
  }

  /** Lets time pass. */
  pass(ms: number): void {
    this.#wallAheadMs += ms;
    this.#elapsedAheadMs += ms;
  }
}

async function start(environment: Record<string, string> = {}) {
  const clocks = new Clocks();
  const gateway = await GatewayHere.start(environment, clocks);
  cleanups.push(() => gateway.remove());
  return { clocks, gateway, home: await Home.at(gateway) };
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
  it('escalates nothing and reports no device silent early, whether it jumps ahead or back', async () => {
    const clocks = new Clocks();
    const environment = { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: '60' };
    const gateway = await GatewayHere.create(environment, clocks);
    await gateway.configure({ escalations: [{ name: 'nurse', afterSeconds: 60 }] });
    await gateway.start();
    cleanups.push(() => gateway.remove());
    const home = await Home.at(gateway);
    const nurse = await Subscriber.connect(gateway, home.viewer);
    const events = () => nurse.received.map(({ topic }) => topic.split('/')[4]);
    for (const sort of ['escalations/+', 'supervision']) {
      await nurse.subscribe(`care-homes/+/devices/+/${sort}`);
    }
    await home.publishLast(await home.device(), 'alarms', '{"kind":"fall"}');
    for (const hours of [24, -48]) {
      clocks.jump(hours * HOUR_MS);
      const jumped = new RegExp(`jumped by ${hours * 3600} s`);
      await eventually(async () => expect(await saysReady(home)).toMatch(jumped));
      expect(events()).toEqual([]);
    }
    clocks.pass(LATE_MS);
    await eventually(() => expect(events().sort()).toEqual(['escalations', 'supervision']));
    await nurse.end();
  });

  it('is reported, drops nothing queued and delays no live alarm, at each QoS', async () => {
    const { clocks, gateway, home } = await start();
    const columns = await withBacklog(home);
    const [, live] = columns.watchers;
    clocks.jump(1_000 * HOUR_MS);
    await eventually(async () =>
      expect(await saysReady(home)).toMatch(/clock .* jumped by 3600000 s/),
    );
    await live?.seesFault(/clock .* has jumped/);
    // Expired entries are gone after the next sweep.
    const store = await Store.of(gateway);
    await home.publishLast(columns.anyDevice, 'x', '1');
    await eventually(async () => {
      expect(await store.redis.xlen('{site}:log:messages')).toBe(0);
    });
    store.close();
    clocks.jump(-2_000 * HOUR_MS);
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

describe('guarantee 6: a queued entry', () => {
  it('expires beyond the age bound at each QoS, for durable and live subscribers, and is counted', async () => {
    const inFlight = 5;
    const { clocks, gateway, home } = await start({
      GATEWAY_SESSIONS_MAX_QUEUED_HOURS: '1',
      GATEWAY_MQTT_MAX_IN_FLIGHT: String(inFlight),
    });
    const live = await RawClient.connect(gateway, home.viewer, { keepalive: KEEP_ALIVE_SECONDS });
    await live.subscribe([`care-homes/${home.locationId}/devices/+/alarms/#`]);
    const columns = await withBacklog(home);
    const count = columns.sensors.length * 5;
    // In steps, with a ping in each, so that no keep-alive ends the live subscriber.
    for (let passedMs = STEP_MS; passedMs <= 2 * HOUR_MS; passedMs += STEP_MS) {
      clocks.pass(STEP_MS);
      await live.ping();
    }
    await eventually(async () => {
      expect(await accountOf(gateway, 'durable')).toMatchObject({ queued: 0, expired: count });
    });

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
    const { clocks, home } = await start();
    const columns = await withBacklog(home);
    clocks.pass(LATE_MS);
    const back = await Watcher.back(home);
    for (const sensor of columns.sensors) await back.seesStored(sensor);
    const [, live] = columns.watchers;
    const lateOf = (watcher: Watcher | undefined) =>
      watcher?.subscriber.messages('/alarms/').map(({ late }) => late);
    expect(lateOf(back)).toEqual(Array.from({ length: 15 }, () => true));
    expect(lateOf(live)).toEqual(Array.from({ length: 15 }, () => false));
  });
});
