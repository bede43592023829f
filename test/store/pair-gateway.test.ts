import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { becomesReady, Columns, eventually, Sensor, Watcher } from '../chaos/faults.js';
import { GatewayHere } from '../harness/gateway-here.js';
import { GatewayProcess } from '../harness/gateway-process.js';
import { Home } from '../harness/home.js';
import { RedisPair } from '../harness/redis-pair.js';
import { until } from '../harness/until.js';
import { unusedPort } from '../harness/unused-port.js';

/** How long the hurried Sentinels take, and a second for the gateway. */
const TAKEOVER_MS = 6_000;

let pair: RedisPair;
beforeAll(async () => {
  pair = await RedisPair.start({ isHurried: true });
});
afterAll(() => pair.remove());

async function homeOfPair(site: string): Promise<Home> {
  const gateway = await GatewayHere.create();
  await gateway.configure({ site, redis: pair.settings });
  onTestFinished(() => gateway.remove());
  await gateway.start();
  return Home.at(gateway);
}

/** Sends an alarm every few milliseconds until told to stop; resolves once all are acknowledged. */
function flow(sensor: Sensor): () => Promise<void> {
  const timer = setInterval(() => sensor.alarm(), 10);
  onTestFinished(() => clearInterval(timer));
  return async () => {
    clearInterval(timer);
    await sensor.allAcknowledged();
  };
}

describe('a gateway behind Sentinels', () => {
  it('goes on by itself when the primary is killed while alarms flow', async () => {
    const home = await homeOfPair('killed');
    const columns = await Columns.of(home);
    columns.alarm();
    await columns.loseNothing();
    await pair.untilReplicated();
    const former = await pair.primary();
    expect(await former.redis.wait(1, 5_000)).toBe(1);
    await former.kill();
    const since = performance.now();
    // Nothing was on its way when the primary ended, so nothing at all may be lost.
    for (let round = 0; round < 5; round++) await columns.see();
    await columns.loseNothing();
    expect(performance.now() - since).toBeLessThan(TAKEOVER_MS);
    await becomesReady(home);
    expect(home.gateway.lines.join('\n')).toContain('the store has a new primary');
    await former.start();
    await pair.untilReplicated();
  });

  it('loses nothing that it acknowledges after the takeover, and is silent no longer than that takes', async () => {
    const home = await homeOfPair('frozen');
    const sensor = await Sensor.connect(home, await home.device());
    const durable = await Watcher.connect(home, 'durable');
    const stop = flow(sensor);
    await until(() => sensor.acknowledged.length > 100, 'nothing is acknowledged');
    const former = await pair.primary();
    former.freeze();
    onTestFinished(() => former.thaw());
    const [since, before] = [performance.now(), sensor.acknowledged.length];
    await until(() => sensor.acknowledged.length > before + 20, 'nothing is acknowledged');
    expect(performance.now() - since).toBeLessThan(TAKEOVER_MS);
    former.thaw();
    await pair.untilReplicated();
    await stop();
    const kept = sensor.sent.slice(before + 1);
    await eventually(() => expect(durable.storedOf(sensor.device)).toEqual(sensor.sent));
    const history = await home.api.allAlarms(sensor.device, '?limit=100&order=asc');
    const recorded = new Set(history.map(({ id }) => id));
    expect(recorded.size).toBe(history.length);
    expect(kept.filter((id) => !recorded.has(id))).toEqual([]);
    await home.gateway.stop();
  });

  it('starts while one Sentinel is frozen and the former primary is gone', async () => {
    const [first] = pair.sentinelPrograms;
    const former = await pair.primary();
    await former.kill();
    await pair.untilTakenOver(former);
    first?.freeze();
    onTestFinished(() => first?.thaw());
    const home = await homeOfPair('starting');
    const columns = await Columns.of(home);
    columns.alarm();
    await columns.loseNothing();
    first?.thaw();
    await former.start();
    await pair.untilReplicated();
  });

  it('says why it waits while no Sentinel answers, and can be stopped', async () => {
    const nowhere = await unusedPort();
    const gateway = await GatewayProcess.create();
    onTestFinished(() => gateway.remove());
    await gateway.configure({ redis: { ...pair.settings, sentinels: [`127.0.0.1:${nowhere}`] } });
    const ended = expect(gateway.start()).rejects.toThrow('the gateway ended with 0');
    const line = await gateway.logged('failed to reach the store');
    expect(line).toContain(`no Sentinel names the primary of care-home: 127.0.0.1:${nowhere}: `);
    expect(line).toContain('ECONNREFUSED');
    expect(await gateway.stop()).toBe(0);
    await ended;
  });
});
