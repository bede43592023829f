import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Api } from '../former/clients/api.js';
import { eventually } from '../former/eventually.js';
import type { GatewayProcess } from '../former/gateway/gateway-process.js';
import { Home } from '../former/home.js';
import { RedisPair } from '../former/servers/redis-pair.js';
import type { RedisProgram } from '../former/servers/redis-program.js';
import { isOfGateway } from '../harness/described/fault-texts.js';
import { pairGateway } from './pair-gateway.js';
import { SteadySensor } from './steady-sensor.js';

const readinessSchema = z.object({
  ready: z.boolean(),
  faults: z.array(z.object({ code: z.string() })),
});
const ALARMS = 5;
/** So that the other box need not wait five seconds. */
const SHORT_LEASE = { GATEWAY_LEASE_LENGTH_SECONDS: '2' };

describe('a pair from the files of config/pair', () => {
  let pair: RedisPair;
  let one: GatewayProcess;
  let two: GatewayProcess;
  beforeAll(async () => {
    pair = await RedisPair.start({ isHurried: true });
    one = await pairGateway(pair, SHORT_LEASE);
    two = await pairGateway(pair, SHORT_LEASE);
    await one.start();
  });
  afterAll(async () => {
    await Promise.all([one?.remove(), two?.remove()]);
    await pair?.remove();
  });

  it('has no faults', async () => {
    expect(await readinessOf(one)).toEqual({ ready: true, faults: [] });
  });

  it('keeps every alarm when the primary is handed over while alarms flow', async () => {
    const sensor = await steadySensor(one);
    await pair.failover();
    await sensor.untilMoreAcknowledged(ALARMS);
    await sensor.finish();
    expect(await historyOf(sensor, one)).toEqual(sensor.sent.toSorted());
    await pair.untilReplicated();
  });

  it('keeps every alarm when the primary freezes, and becomes a replica when it resumes', async () => {
    const sensor = await steadySensor(one);
    const primary = await pair.primary();
    primary.freeze();
    await sensor.untilMoreAcknowledged(ALARMS);
    expect(await pair.replica()).toBe(primary);
    primary.thaw();
    await pair.untilReplicated();
    await sensor.finish();
    expect(await historyOf(sensor, one)).toEqual(sensor.sent.toSorted());
  });

  it('serves from the other box when the serving one loses power', async () => {
    const standingBy = await two.startStandingBy();
    expect((await fetch(`${standingBy}/readyz`)).status).toBe(503);
    const sensor = await steadySensor(one);
    const lost = boxOf(pair, await pair.primary());
    await Promise.all([one.kill(), ...lost.map((program) => program.kill())]);
    await sensor.end();
    await two.ready();
    expect(await historyOf(sensor, two)).toEqual(expect.arrayContaining(sensor.acknowledged));
    const next = await steadySensor(two);
    await next.end();
    await Promise.all(lost.map((program) => program.start()));
    await pair.untilReplicated();
  });

  it('serves from the box that comes back alone after both lost power', async () => {
    // Until the gateway notices the replica, it acknowledges alarms that are on one box only.
    const faults = async () => (await readinessOf(two)).faults;
    await expect.poll(faults, { timeout: 30_000 }).toEqual([]);
    const sensor = await steadySensor(two);
    const lost = boxOf(pair, await pair.primary());
    const all = [...pair.servers, ...pair.sentinelPrograms];
    await Promise.all([two.kill(), ...all.map((program) => program.kill())]);
    await sensor.end();
    const back = all.filter((program) => !lost.includes(program));
    // In a different order from the first time.
    await Promise.all(back.toReversed().map((program) => program.start()));
    await one.start();
    expect(await historyOf(sensor, one)).toEqual(expect.arrayContaining(sensor.acknowledged));
    const next = await steadySensor(one);
    await next.end();
  });
});

async function readinessOf({ httpUrl }: GatewayProcess) {
  const answer = await fetch(`${httpUrl}/readyz`);
  const { ready, faults } = readinessSchema.parse(await answer.json());
  return { ready, faults: faults.filter(isOfGateway) };
}

/** A sensor in its own home, with some acknowledged alarms. */
async function steadySensor(gateway: GatewayProcess): Promise<SteadySensor> {
  // A change that the store does not take for now is a 503, which every client repeats.
  const device = await eventually(async () => (await Home.at(gateway)).device());
  const sensor = await SteadySensor.start(gateway, device);
  await sensor.untilMoreAcknowledged(ALARMS);
  return sensor;
}

/** The sorted ids of all alarms of the sensor in the gateway's history. */
async function historyOf({ device }: SteadySensor, gateway: GatewayProcess): Promise<string[]> {
  const history = await new Api(gateway).allAlarms(device, '?limit=100');
  return history.map(({ id }) => id).toSorted();
}

/** The server of a box, and the Sentinel next to it. */
function boxOf(pair: RedisPair, server: RedisProgram): RedisProgram[] {
  const sentinel = pair.sentinelPrograms[pair.servers.indexOf(server)];
  return sentinel === undefined ? [server] : [server, sentinel];
}
