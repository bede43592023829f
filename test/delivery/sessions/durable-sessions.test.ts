import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Subscriber } from '../../former/clients/mqtt-clients.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import {
  EACH_QOS,
  NumberedHome,
  numbersOf,
  range,
  withoutLiveCopies,
} from '../../former/numbered-home.js';
import { Store } from '../../former/stored/store.js';
import { acknowledge, rawNurse, textsOf, untilPublishes } from '../raw-nurse.js';

const MAX_IN_FLIGHT = 100;
/** Several pages of 500 entries. */
const BACKLOG = 1_500;

let gateway: GatewayHere;
let home: NumberedHome;

beforeAll(async () => {
  gateway = await GatewayHere.start();
});

afterEach(() => home.close());
afterAll(() => gateway.remove());

/** Resolves when the store knows that this many alarms were delivered to the session. */
async function untilSaved(clientId: string, delivered: number): Promise<void> {
  const store = await Store.of(home.home.gateway);
  const saved = async () => {
    const key = `{site}:session:token:${home.viewer.id}/${clientId}`;
    return Number(await store.redis.hget(key, 'alarms.delivered'));
  };
  await expect.poll(saved).toBe(delivered);
  store.close();
}

/** A separate gateway, and a function that kills it. */
async function killable() {
  const killed = await GatewayProcess.start();
  onTestFinished(() => killed.remove());
  return [killed, () => killed.kill()] as const;
}

describe('guarantee 3: a backlog', () => {
  it.each([
    ['in memory', async () => undefined],
    ['in the store only', () => gateway.stop().then(() => gateway.start())],
  ])('%s is sent in order, without overtaking, while new alarms arrive', async (where, forget) => {
    home = await NumberedHome.open(gateway, 5);
    const clientId = `backlog ${where}`;
    await home.absentNurse(clientId);
    await home.alarm(BACKLOG);
    await forget();

    const nurse = await home.nurse(clientId);
    // Small batches throughout the drain, each sent when the previous one is acknowledged.
    let isDrained = false;
    const live = (async () => {
      do await home.alarm(20);
      while (!isDrained);
    })();
    await nurse.untilRecords(BACKLOG);
    isDrained = true;
    await live;
    await nurse.untilRecords(home.alarmCount);
    await nurse.end();

    home.expectAllInOrder(nurse.received);
    const records = withoutLiveCopies(nurse.received);
    expect(records).toHaveLength(home.alarmCount);
    expect(records.every(({ qos, dup, retain }) => qos === 1 && !dup && !retain)).toBe(true);
  });

  it('continues in order when the subscriber repeatedly reconnects in the middle of it, at each QoS', async () => {
    home = await NumberedHome.open(gateway, 3, EACH_QOS);
    await home.absentNurse('restless');
    await home.alarm(900);
    await home.recorded();
    const parts: Subscriber[] = [];
    const came = () => new Set(parts.flatMap(({ records }) => records.map(({ text }) => text)));
    while (came().size < home.alarmCount) {
      const nurse = await home.nurse('restless');
      parts.push(nurse);
      const missing = home.alarmCount - came().size;
      await nurse.untilRecords(Math.min(missing, 190));
      // Like a cut cable, with messages in flight.
      await nurse.client.endAsync(true);
      if (parts.length < 3) await home.alarm(30);
    }
    expect(parts.length).toBeGreaterThan(4);
    home.expectAllInOrder(...parts.map(({ received }) => received));
  });

  it('is sent with the queued telemetry of QoS 1', async () => {
    home = await NumberedHome.open(gateway);
    await home.absentNurse('telemetry', home.filter('alarms/#'), home.filter('x'));
    await Promise.all([home.sensor.message(300), home.sensor.alarm(300)]);
    const nurse = await home.nurse('telemetry');
    await nurse.untilRecords(600);
    await nurse.end();
    for (const rest of ['/x', '/alarms/fall']) {
      const some = nurse.received.filter(({ topic }) => topic.endsWith(rest));
      expect(numbersOf(some)).toEqual(range(0, 300));
    }
  });
});

describe('guarantee 2: a subscriber that was away', () => {
  it.each(EACH_QOS)(
    'gets every alarm of QoS %i in order when its session persists, and none otherwise',
    async (qos) => {
      home = await NumberedHome.open(gateway, 1, [qos]);
      const [durable, live] = [`away-durable-${qos}`, { clientId: `away-live-${qos}` }];
      await home.absentNurse(durable);
      const before = await Subscriber.connect(gateway, home.viewer, live);
      await (await before.subscribe(home.alarmFilter)).end();
      await home.alarm(20);
      await home.recorded();

      const nurse = await home.nurse(durable);
      await nurse.untilRecords(20);
      expect(numbersOf(nurse.received)).toEqual(range(0, 20));
      const back = await Subscriber.connect(gateway, home.viewer, live);
      await back.subscribe(home.alarmFilter);
      await home.alarm();
      await back.untilRecords(1);
      expect(numbersOf(back.received)).toEqual([20]);
      await Promise.all([nurse.end(), back.end()]);
    },
  );
});

describe('guarantee 2: a gateway that ends in the middle of a drain', () => {
  it.each([
    ['stopped', async () => [gateway, () => gateway.stop()] as const],
    ['killed with SIGKILL', killable],
  ])('%s and restarted, loses nothing and keeps the order, at each QoS', async (_how, running) => {
    const [drained, end] = await running();
    const acknowledged = 3 * MAX_IN_FLIGHT;
    home = await NumberedHome.open(drained, 3, EACH_QOS);
    const clientId = `outlives-${_how.length}`;
    await home.absentNurse(clientId);
    await home.alarm(1_000);
    await home.recorded();
    const before = await rawNurse(home, clientId);
    for (let from = 0; from < acknowledged; from += MAX_IN_FLIGHT) {
      await untilPublishes(before, from + MAX_IN_FLIGHT);
      acknowledge(before, from, from + MAX_IN_FLIGHT);
    }
    // Another 100 stay in flight.
    await untilPublishes(before, acknowledged + MAX_IN_FLIGHT);
    await untilSaved(clientId, acknowledged);
    await end();
    await drained.start();

    const after = await home.nurse(clientId);
    await home.alarm(30);
    await after.untilRecords(home.alarmCount - acknowledged);
    await after.end();
    const took = textsOf(before).slice(0, acknowledged);
    home.expectAllInOrder(took, after.received);
    expect(withoutLiveCopies(after.received)).toHaveLength(home.alarmCount - acknowledged);
  });
});

describe('a persistent session', () => {
  it('gets a message once when several of its filters match', async () => {
    home = await NumberedHome.open(gateway);
    const location = `care-homes/${home.locationId}`;
    await home.absentNurse('overlap', home.alarmFilter, home.filter('alarms/+'), `${location}/#`);
    await home.alarm(5);
    const nurse = await home.nurse('overlap');
    await home.alarm(5);
    const alarms = () => nurse.records.filter(({ topic }) => topic.includes('/alarms/'));
    await nurse.until(() => alarms().length >= 10);
    await home.alarm();
    await nurse.until(() => numbersOf(alarms()).includes(10));
    await nurse.end();
    expect(numbersOf(alarms())).toEqual(range(0, 11));
  });

  it('gets the entries accepted until it unsubscribed, and none after', async () => {
    home = await NumberedHome.open(gateway);
    await home.absentNurse('leaving', home.alarmFilter, home.filter('x'));
    await home.alarm(300);
    const nurse = await rawNurse(home, 'leaving');
    await untilPublishes(nurse, MAX_IN_FLIGHT);
    nurse.send({ cmd: 'unsubscribe', messageId: 1, unsubscriptions: [home.alarmFilter] });
    await nurse.next('unsuback');
    await home.alarm(10);
    nurse.vanish();

    // After a restart the entries are still queued, although the filter is gone.
    await gateway.stop();
    await gateway.start();
    const again = await home.nurse('leaving');
    await home.alarm(1);
    await home.sensor.message();
    await again.untilRecords(301);
    await again.end();
    expect(numbersOf(again.received.filter(({ topic }) => !topic.endsWith('/x')))).toEqual(
      range(0, 300),
    );
  });

  it('ends with its backlog when its client connects with a clean session', async () => {
    home = await NumberedHome.open(gateway);
    await home.absentNurse('fresh');
    await home.alarm(5);
    const clean = await Subscriber.connect(gateway, home.viewer, {
      clientId: 'fresh',
      clean: true,
    });
    await clean.end();
    const again = await rawNurse(home, 'fresh');
    expect(again.packets[0]).toMatchObject({ cmd: 'connack', sessionPresent: false });
    await again.subscribe([home.alarmFilter]);
    await home.alarm();
    await untilPublishes(again, 1);
    expect(numbersOf(textsOf(again))).toEqual([5]);
    again.vanish();
  });
});
