import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayProcess } from '../harness/gateway-process.js';
import { RawClient } from '../harness/raw-client.js';
import { EACH_QOS, numbersOf, range, Ward } from './ward.js';

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

/** A ward for each QoS of alarms, and in each an absent session, of that client id, that is owed as much. */
async function filled(name: string, messages: number, alarms: number): Promise<Map<string, Ward>> {
  const wards = new Map<string, Ward>();
  for (const qos of EACH_QOS) {
    const ward = await Ward.open(gateway, 1, [qos]);
    wards.set(`${name}-${qos}`, ward);
    await ward.absentNurse(`${name}-${qos}`, ward.filter('alarms/#'), ward.filter('x'));
    await ward.sensor.message(messages);
    await ward.sensor.alarm(alarms);
    await ward.recorded();
  }
  return wards;
}

describe('guarantee 6: a queue that is full', () => {
  it.each(ENDS)(
    'loses telemetry before alarms, the oldest first%s, at each QoS',
    async (what, end) => {
      const wards = await filled(`full${what.length}`, 30, 40);
      await end();
      for (const [clientId, ward] of wards) {
        const nurse = await ward.nurse(clientId);
        await nurse.untilCount(MAX_QUEUED);
        await ward.sensor.alarm();
        await nurse.until((received) => numbersOf(received).includes(40));
        await nurse.end();
        const of = (rest: string) => nurse.received.filter(({ topic }) => topic.endsWith(rest));
        expect(numbersOf(of('/fall'))).toEqual(range(0, 41));
        expect(numbersOf(of('/x'))).toEqual(range(20, 30));
        await ward.close();
      }
    },
  );

  it.each(ENDS)('of alarms alone loses the oldest of them%s, at each QoS', async (what, end) => {
    const wards = await filled(`alarms${what.length}`, 10, MAX_QUEUED + 20);
    await end();
    for (const [clientId, ward] of wards) {
      const nurse = await ward.nurse(clientId);
      await nurse.untilCount(MAX_QUEUED);
      await ward.sensor.message();
      await nurse.until((received) => received.some(({ topic }) => topic.endsWith('/x')));
      await nurse.end();
      const alarms = nurse.received.filter(({ topic }) => topic.endsWith('/fall'));
      expect(numbersOf(alarms)).toEqual(range(20, MAX_QUEUED + 20));
      expect(nurse.received).toHaveLength(MAX_QUEUED + 1);
      await ward.close();
    }
  });

  it.each(EACH_QOS)(
    'of a live subscriber that does not acknowledge loses what is over the bound (QoS %i)',
    async (qos) => {
      const ward = await Ward.open(gateway, 1, [qos]);
      const live = await RawClient.connect(gateway, ward.viewer, { clientId: `live-${qos}` });
      await live.subscribe([ward.alarmFilter]);
      const publishes = () => live.packets.filter((packet) => packet.cmd === 'publish');
      const texts = () => publishes().map(({ payload }) => ({ text: payload.toString() }));
      const until = (count: number) =>
        live.until(() => publishes().length >= count, `fewer than ${count} messages`);
      await ward.alarm(MAX_QUEUED + 20);
      await ward.recorded();
      await until(MAX_QUEUED);
      for (const { messageId } of publishes()) {
        if (messageId !== undefined) live.send({ cmd: 'puback', messageId });
      }
      await live.ping();
      await ward.alarm();
      await until(MAX_QUEUED + 1);
      const numbers = numbersOf(texts());
      expect(numbers).toHaveLength(MAX_QUEUED + 1);
      expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
      expect([numbers[0], numbers.at(-1)]).toEqual([0, MAX_QUEUED + 20]);
      live.vanish();
      await ward.close();
    },
  );
});
