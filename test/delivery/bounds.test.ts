import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayProcess } from '../harness/gateway-process.js';
import { numbersOf, range, Ward } from './ward.js';

const MAX_QUEUED = 50;

let gateway: GatewayProcess;

beforeAll(async () => {
  gateway = await GatewayProcess.start({
    GATEWAY_SESSIONS_MAX_QUEUED_MESSAGES: String(MAX_QUEUED),
  });
});

afterAll(() => gateway.remove());

const ENDS: [string, () => Promise<unknown>][] = [
  ['', async () => undefined],
  [', also after a restart', () => gateway.stop().then(() => gateway.start())],
  [', also after a kill', () => gateway.kill().then(() => gateway.start())],
];

describe('guarantee 6: a queue that is full', () => {
  it.each(ENDS)('loses telemetry before alarms, the oldest first%s', async (what, end) => {
    const ward = await Ward.open(gateway);
    const clientId = `full${what.length}`;
    await ward.absentNurse(clientId, ward.filter('alarms/#'), ward.filter('x'));
    await ward.sensor.message(30);
    await ward.sensor.alarm(40);
    await end();
    const nurse = await ward.nurse(clientId);
    await nurse.untilCount(MAX_QUEUED);
    await ward.sensor.alarm();
    await nurse.until((received) => numbersOf(received).includes(40));
    await nurse.end();
    const of = (rest: string) => nurse.received.filter(({ topic }) => topic.endsWith(rest));
    expect(numbersOf(of('/fall'))).toEqual(range(0, 41));
    expect(numbersOf(of('/x'))).toEqual(range(20, 30));
    await ward.close();
  });

  it.each(ENDS)('of alarms alone loses the oldest of them%s', async (what, end) => {
    const ward = await Ward.open(gateway);
    const clientId = `alarms${what.length}`;
    await ward.absentNurse(clientId, ward.filter('alarms/#'), ward.filter('x'));
    await ward.sensor.message(10);
    await ward.sensor.alarm(MAX_QUEUED + 20);
    await end();
    const nurse = await ward.nurse(clientId);
    await nurse.untilCount(MAX_QUEUED);
    await ward.sensor.message();
    await nurse.until((received) => received.some(({ topic }) => topic.endsWith('/x')));
    await nurse.end();
    const alarms = nurse.received.filter(({ topic }) => topic.endsWith('/fall'));
    expect(numbersOf(alarms)).toEqual(range(20, MAX_QUEUED + 20));
    expect(nurse.received).toHaveLength(MAX_QUEUED + 1);
    await ward.close();
  });
});
