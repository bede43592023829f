import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { RawClient } from '../former/clients/raw-client.js';
import { eventually } from '../former/eventually.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import type { RunningGateway } from '../former/gateway/running-gateway.js';
import { accountOf } from '../former/metrics.js';
import { EACH_QOS, NumberedHome, numbersOf, range } from '../former/numbered-home.js';
import { acknowledge, textsOf, untilPublishes } from './raw-nurse.js';

const MAX_QUEUED = 50;

const ENVIRONMENT = { GATEWAY_SESSIONS_MAX_QUEUED_MESSAGES: String(MAX_QUEUED) };

let gateway: GatewayHere;

beforeAll(async () => {
  gateway = await GatewayHere.start(ENVIRONMENT);
});

afterAll(() => gateway.remove());

interface Running {
  readonly full: RunningGateway;
  readonly end: () => Promise<unknown>;
}

const ENDS: [string, () => Promise<Running>][] = [
  ['', async () => ({ full: gateway, end: async () => undefined })],
  [', also after a restart', async () => ({ full: gateway, end: () => gateway.stop() })],
  [', also after a kill', killable],
];

/** A separate gateway that can be killed. */
async function killable(): Promise<Running> {
  const full = await GatewayProcess.start(ENVIRONMENT);
  onTestFinished(() => full.remove());
  return { full, end: () => full.kill() };
}

/** A home for each QoS of alarms, each with an absent session that has this backlog. */
async function filled(
  full: RunningGateway,
  name: string,
  messages: number,
  alarms: number,
): Promise<Map<string, NumberedHome>> {
  const homes = new Map<string, NumberedHome>();
  for (const qos of EACH_QOS) {
    const home = await NumberedHome.open(full, 1, [qos]);
    homes.set(`${name}-${qos}`, home);
    await home.absentNurse(`${name}-${qos}`, home.filter('alarms/#'), home.filter('x'));
    await home.sensor.message(messages);
    await home.sensor.alarm(alarms);
    await home.recorded();
  }
  return homes;
}

describe('guarantee 6: a full queue', () => {
  it.each(ENDS)(
    'drops the oldest telemetry and never an alarm%s, at each QoS',
    async (what, running) => {
      const { full, end } = await running();
      const [messages, alarms] = [MAX_QUEUED + 30, MAX_QUEUED + 20];
      const homes = await filled(full, `full${what.length}`, messages, alarms);
      await end();
      if (what !== '') await full.start();
      for (const [clientId, home] of homes) {
        // A queue is cut to its bound a moment after the acknowledgement.
        await eventually(async () => {
          const { queued } = await accountOf(full, clientId, 'messages');
          expect(queued).toBe(MAX_QUEUED);
        });
        const nurse = await home.nurse(clientId);
        await nurse.untilRecords(MAX_QUEUED + alarms);
        await home.sensor.alarm();
        await nurse.untilRecords(MAX_QUEUED + alarms + 1);
        await nurse.end();
        const of = (rest: string) => nurse.received.filter(({ topic }) => topic.endsWith(rest));
        expect(numbersOf(of('/fall'))).toEqual(range(0, alarms + 1));
        expect(numbersOf(of('/x'))).toEqual(range(messages - MAX_QUEUED, messages));
        await home.close();
      }
    },
  );

  it('of a live subscriber that does not acknowledge drops the telemetry beyond the bound', async () => {
    const home = await NumberedHome.open(gateway);
    const live = await RawClient.connect(gateway, home.viewer, { clientId: 'live-telemetry' });
    await live.subscribe([home.filter('x')]);
    await home.sensor.message(MAX_QUEUED);
    await untilPublishes(live, MAX_QUEUED);
    await home.sensor.message(20);
    acknowledge(live, 0, MAX_QUEUED);
    await live.ping();
    await home.sensor.message();
    await untilPublishes(live, MAX_QUEUED + 1);
    expect(numbersOf(textsOf(live))).toEqual([...range(0, MAX_QUEUED), MAX_QUEUED + 20]);
    live.vanish();
    await home.close();
  });

  it.each(EACH_QOS)(
    'of a live subscriber that does not acknowledge keeps every alarm (QoS %i)',
    async (qos) => {
      const home = await NumberedHome.open(gateway, 1, [qos]);
      const live = await RawClient.connect(gateway, home.viewer, { clientId: `live-${qos}` });
      await live.subscribe([home.alarmFilter]);
      const [window, all] = [100, 150];
      await home.alarm(all);
      await home.recorded();
      await untilPublishes(live, window);
      acknowledge(live, 0, window);
      await untilPublishes(live, all);
      expect(numbersOf(textsOf(live))).toEqual(range(0, all));
      live.vanish();
      await home.close();
    },
  );
});
