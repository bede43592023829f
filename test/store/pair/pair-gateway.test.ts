import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { becomesReady, Columns } from '../../chaos/faults/faults.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { Home } from '../../former/home.js';
import { RedisPair } from '../../former/servers/redis-pair.js';
import { unusedPort } from '../../former/servers/unused-port.js';

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

/** Resolves once the former primary is gone and the other server has taken over. */
async function untilFormerIsGone(): Promise<void> {
  if (pair.servers.some(({ isRunning }) => !isRunning)) return;
  const former = await pair.primary();
  await former.kill();
  await pair.untilTakenOver(former);
}

describe('a gateway behind Sentinels', () => {
  it('continues without intervention when the primary is killed while alarms flow', async () => {
    const home = await homeOfPair('killed');
    const columns = await Columns.of(home);
    columns.alarm();
    await columns.loseNothing();
    await pair.untilReplicated();
    const former = await pair.primary();
    expect(await former.redis.wait(1, 5_000)).toBe(1);
    await former.kill();
    // Nothing was in flight when the primary ended, so nothing at all may be lost.
    for (let round = 0; round < 5; round++) await columns.see();
    await columns.loseNothing();
    await becomesReady(home);
    expect(home.gateway.lines.join('\n')).toContain('the store has a new primary');
  });

  it('starts while one Sentinel is frozen and the former primary is gone', async () => {
    await untilFormerIsGone();
    const [first] = pair.sentinelPrograms;
    first?.freeze();
    onTestFinished(() => first?.thaw());
    const home = await homeOfPair('starting');
    const columns = await Columns.of(home);
    columns.alarm();
    await columns.loseNothing();
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
