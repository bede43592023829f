import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RawClient } from '../../former/clients/raw-client.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { EACH_QOS, NumberedHome, numbersOf, range } from '../../former/numbered-home.js';
import { acknowledge, publishesOf, rawNurse, textsOf, untilPublishes } from '../raw-nurse.js';

const MAX_IN_FLIGHT = 100;

let gateway: GatewayHere;
let home: NumberedHome;

beforeAll(async () => {
  gateway = await GatewayHere.start();
});

afterEach(() => home.close());
afterAll(() => gateway.remove());

describe('unacknowledged messages', () => {
  it.each(EACH_QOS)(
    'of QoS %i are resent with DUP after a reconnect, until they are acknowledged',
    async (qos) => {
      home = await NumberedHome.open(gateway, 1, [qos]);
      const clientId = `forgetful-${qos}`;
      const first = await rawNurse(home, clientId);
      await first.subscribe([home.alarmFilter]);
      await home.alarm(10);
      await untilPublishes(first, 10);
      acknowledge(first, 0, 4);
      await first.ping();
      first.vanish();

      const second = await rawNurse(home, clientId);
      await untilPublishes(second, 6);
      expect(numbersOf(textsOf(second))).toEqual(range(4, 10));
      expect(publishesOf(second).every(({ dup }) => dup)).toBe(true);
      acknowledge(second, 0, 6);
      await second.ping();
      second.vanish();

      const third = await rawNurse(home, clientId);
      await home.alarm();
      await untilPublishes(third, 1);
      expect(numbersOf(textsOf(third))).toEqual([10]);
      expect(publishesOf(third)[0]?.dup).toBe(false);
      third.vanish();
    },
  );

  it.each(EACH_QOS)('of QoS %i are not resent to a live subscriber', async (qos) => {
    home = await NumberedHome.open(gateway, 1, [qos]);
    const live = { clientId: `live-${qos}`, clean: true };
    const first = await RawClient.connect(gateway, home.viewer, live);
    await first.subscribe([home.alarmFilter]);
    await home.alarm(10);
    await untilPublishes(first, 10);
    acknowledge(first, 0, 4);
    await first.ping();
    first.vanish();

    const second = await RawClient.connect(gateway, home.viewer, live);
    await second.subscribe([home.alarmFilter]);
    await home.alarm();
    await untilPublishes(second, 1);
    expect(numbersOf(textsOf(second))).toEqual([10]);
    second.vanish();
  });

  it('are not resent on the same connection when acknowledged out of order or twice', async () => {
    home = await NumberedHome.open(gateway);
    const nurse = await rawNurse(home, 'disorderly');
    await nurse.subscribe([home.alarmFilter]);
    await home.alarm(3);
    await untilPublishes(nurse, 3);
    acknowledge(nurse, 2, 3);
    acknowledge(nurse, 2, 3);
    await nurse.ping();
    nurse.vanish();

    const again = await rawNurse(home, 'disorderly');
    await home.alarm();
    await untilPublishes(again, 3);
    expect(numbersOf(textsOf(again))).toEqual([0, 1, 3]);
    again.vanish();
  });

  it('never exceed the in-flight limit, alarms and telemetry together', async () => {
    home = await NumberedHome.open(gateway);
    await home.absentNurse('window', home.filter('alarms/#'), home.filter('x'));
    await Promise.all([home.sensor.alarm(250), home.sensor.message(250)]);
    const nurse = await rawNurse(home, 'window');
    await untilPublishes(nurse, MAX_IN_FLIGHT);
    await nurse.ping();
    expect(publishesOf(nurse)).toHaveLength(MAX_IN_FLIGHT);
    for (let acknowledged = 0; acknowledged < 400; acknowledged += 40) {
      acknowledge(nurse, acknowledged, acknowledged + 40);
      // Once no alarms are left, telemetry may take only half of the window.
      const sent = publishesOf(nurse).length;
      // The gateway answers the first ping before it sends the messages that the acknowledgements allow.
      await nurse.ping();
      await nurse.ping();
      const inFlight = publishesOf(nurse).length - acknowledged - 40;
      expect(inFlight).toBeLessThanOrEqual(MAX_IN_FLIGHT);
      expect(publishesOf(nurse).length).toBeGreaterThanOrEqual(sent);
    }
    acknowledge(nurse, 400, publishesOf(nurse).length);
    await untilPublishes(nurse, 500);
    const identifiers = publishesOf(nurse)
      .slice(0, MAX_IN_FLIGHT)
      .map(({ messageId }) => messageId);
    expect(new Set(identifiers).size).toBe(MAX_IN_FLIGHT);
    nurse.vanish();
  });

  it('go to the connection that takes over the session', async () => {
    home = await NumberedHome.open(gateway);
    const before = await rawNurse(home, 'twice');
    await before.subscribe([home.alarmFilter]);
    await home.alarm(5);
    await untilPublishes(before, 5);
    const after = await rawNurse(home, 'twice');
    await before.closed();
    await untilPublishes(after, 5);
    acknowledge(after, 0, 5);
    await home.alarm();
    await untilPublishes(after, 6);
    expect(numbersOf(textsOf(after))).toEqual(range(0, 6));
    after.vanish();
  });
});
