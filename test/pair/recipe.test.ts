import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Home } from '../broker/home.js';
import { Api } from '../harness/api.js';
import type { GatewayProcess } from '../harness/gateway-process.js';
import { RedisPair } from '../harness/redis-pair.js';
import { pairGateway } from './pair-gateway.js';
import { SteadySensor } from './steady-sensor.js';

const ALARMS = 5;

describe('a pair from the files of config/pair', () => {
  let pair: RedisPair;
  let one: GatewayProcess;
  let two: GatewayProcess;
  beforeAll(async () => {
    pair = await RedisPair.start({ isHurried: true });
    one = await pairGateway(pair);
    two = await pairGateway(pair);
    await one.start();
  });
  afterAll(async () => {
    await Promise.all([one?.remove(), two?.remove()]);
    await pair?.remove();
  });

  it('has nothing to find fault with', async () => {
    const ready = await fetch(`${one.httpUrl}/readyz`);
    expect(await ready.json()).toEqual({ ready: true, faults: [] });
  });

  it('keeps every alarm when the primary is handed over while alarms flow', async () => {
    const home = await Home.at(one);
    const sensor = await SteadySensor.start(one, await home.device());
    await sensor.untilMoreAcknowledged(ALARMS);
    await pair.failover();
    await sensor.untilMoreAcknowledged(ALARMS);
    await sensor.finish();
    const history = await home.api.allAlarms(sensor.device, '?order=asc&limit=100');
    expect(history.map(({ id }) => id).toSorted()).toEqual(sensor.sent.toSorted());
    await pair.untilReplicated();
  });

  it('keeps every alarm when the primary freezes, and is a replica when it goes on', async () => {
    const home = await Home.at(one);
    const sensor = await SteadySensor.start(one, await home.device());
    await sensor.untilMoreAcknowledged(ALARMS);
    const primary = await pair.primary();
    primary.freeze();
    await pair.untilTakenOver(primary);
    await sensor.untilMoreAcknowledged(ALARMS);
    primary.thaw();
    await pair.untilReplicated();
    await sensor.finish();
    const history = await home.api.allAlarms(sensor.device, '?order=asc&limit=100');
    expect(history.map(({ id }) => id).toSorted()).toEqual(sensor.sent.toSorted());
  });

  it('has all that was acknowledged when the power of all comes back', async () => {
    const home = await Home.at(one);
    const device = await home.device();
    const sensor = await SteadySensor.start(one, device);
    await sensor.untilMoreAcknowledged(ALARMS);
    const programs = [...pair.servers, ...pair.sentinelPrograms];
    await Promise.all([one.kill(), ...programs.map((program) => program.kill())]);
    await sensor.end();
    // In another order than the first time.
    await Promise.all([one.start(), ...programs.toReversed().map((program) => program.start())]);
    const history = await new Api(one).allAlarms(device, '?limit=100');
    expect(history.map(({ id }) => id)).toEqual(expect.arrayContaining(sensor.acknowledged));
    await pair.untilReplicated();
  });

  it('goes on with the replica when the primary does not come back after a power cut', async () => {
    const home = await Home.at(one);
    const device = await home.device();
    const sensor = await SteadySensor.start(one, device);
    await sensor.untilMoreAcknowledged(ALARMS);
    const [primary, replica] = [await pair.primary(), await pair.replica()];
    const programs = [replica, ...pair.sentinelPrograms];
    await Promise.all([one.kill(), primary.kill(), ...programs.map((program) => program.kill())]);
    await sensor.end();
    await Promise.all(programs.map((program) => program.start()));
    await pair.untilTakenOver(primary);
    await two.start();
    const history = await new Api(two).allAlarms(device, '?limit=100');
    expect(history.map(({ id }) => id)).toEqual(expect.arrayContaining(sensor.acknowledged));
    const again = await SteadySensor.start(two, device);
    await again.untilMoreAcknowledged(ALARMS);
    await again.end();
  });
});
