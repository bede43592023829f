import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { NumberedHome } from '../../former/numbered-home.js';
import { acknowledge, publishesOf, rawNurse, untilPublishes } from '../raw-nurse.js';

let gateway: GatewayHere;
let home: NumberedHome;

beforeAll(async () => {
  gateway = await GatewayHere.start();
});

afterEach(() => home.close());
afterAll(() => gateway.remove());

it('an unacknowledged message is resent with DUP under its packet identifier', async () => {
  // [MQTT-4.4.0-1], [MQTT-3.3.1-1]
  home = await NumberedHome.open(gateway, 1);
  const first = await rawNurse(home, 'same-identifiers');
  await first.subscribe([home.alarmFilter]);
  await home.alarm(5);
  await untilPublishes(first, 5);
  acknowledge(first, 0, 2);
  await first.ping();
  first.vanish();
  await home.alarm(2);
  const second = await rawNurse(home, 'same-identifiers');
  await untilPublishes(second, 5);
  const [again, fresh] = [publishesOf(second).slice(0, 3), publishesOf(second).slice(3)];
  expect(again.map(({ messageId }) => messageId)).toEqual(
    publishesOf(first)
      .slice(2)
      .map(({ messageId }) => messageId),
  );
  expect(again.map(({ dup }) => dup)).toEqual([true, true, true]);
  expect(fresh.map(({ dup }) => dup)).toEqual([false, false]);
  // After a restart they come as if sent for the first time.
  await gateway.stop();
  await gateway.start();
  const third = await rawNurse(home, 'same-identifiers');
  await untilPublishes(third, 5);
  await home.alarm();
  await untilPublishes(third, 6);
  expect(publishesOf(third).map(({ dup }) => dup)).toEqual([
    false,
    false,
    false,
    false,
    false,
    false,
  ]);
  third.vanish();
});

describe('a client’s delayed acknowledgement', () => {
  it('does not acknowledge another message when it arrives after a restart of the gateway', async () => {
    home = await NumberedHome.open(gateway, 1);
    const first = await rawNurse(home, 'put-off');
    await first.subscribe([home.alarmFilter]);
    await home.alarm(200);
    await untilPublishes(first, 100);
    acknowledge(first, 0, 50);
    await untilPublishes(first, 150);
    // mqtt.js keeps acknowledgements that it could not send, and sends them after its next CONNECT.
    const putOff = publishesOf(first)[99]?.messageId ?? 0;
    await gateway.stop();
    await gateway.start();

    const second = await rawNurse(home, 'put-off');
    await untilPublishes(second, 100);
    second.send({ cmd: 'puback', messageId: putOff });
    await second.ping();
    second.vanish();
    const third = await rawNurse(home, 'put-off');
    third.acknowledgeAll();
    await untilPublishes(third, 150);
    const numbers = publishesOf(third).map(({ payload }) => JSON.parse(payload.toString()).data.n);
    expect(numbers).toEqual(Array.from({ length: 150 }, (_, n) => n + 50));
  });
});
