import { afterAll, beforeAll, expect, it } from 'vitest';
import { each } from '../../former/at-a-time.js';
import { connectPacket, credentials, RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';

const MAX_CONSUMERS = 250;
const SESSIONS = MAX_CONSUMERS + 10;
const BACKLOG = /^gateway_consumer_queued\{consumer="(.+)",log="alarms"\} (\d+)$/gm;
const OTHERS = /^gateway_other_consumers_messages\{log="alarms",state="queued"\} (\d+)$/m;

let home: Home;

beforeAll(async () => {
  home = await Home.start({
    GATEWAY_LIMITS_TOKEN_PERSISTENT_SESSIONS: String(SESSIONS),
    GATEWAY_LIMITS_TOTAL_PERSISTENT_SESSIONS: String(SESSIONS),
  });
});

afterAll(() => home.remove());

async function absentNurse(clientId: string, filter: string): Promise<void> {
  const nurse = await RawClient.open(home.gateway);
  nurse.send(connectPacket({ ...credentials(home.viewer), clientId, clean: false }));
  await nurse.next('connack');
  await nurse.subscribe([filter]);
  nurse.vanish();
}

it('shows the consumers with the largest backlogs, and the sum of the others', async () => {
  const device = await home.device();
  const fallsOf = home.filter(device, 'alarms/fall');
  const allOf = home.filter(device, 'alarms/#');
  const numbers = Array.from({ length: SESSIONS }, (_, number) => number);
  await each(numbers, (number) => absentNurse(`nurse-${number}`, number < 3 ? allOf : fallsOf));
  const sensor = await RawClient.connect(home.gateway, device);
  await sensor.publish(`devices/${device.id}/alarms`, '{"kind":"fall"}', 1);
  await sensor.publish(`devices/${device.id}/alarms`, '{"kind":"noise"}', 1);
  sensor.vanish();
  const text = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  const backlogs = new Map([...text.matchAll(BACKLOG)].map(([, name, queued]) => [name, queued]));
  expect(backlogs.size).toBe(MAX_CONSUMERS);
  for (const number of [0, 1, 2]) expect(backlogs.get(`nurse-${number}`)).toBe('2');
  expect(Number(OTHERS.exec(text)?.[1])).toBe(SESSIONS - MAX_CONSUMERS);
});
