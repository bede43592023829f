/** Whom a fault is about: only readers who may see the device learn it, at `/readyz`, `gateway/status` and its events. */
import { EventReader } from '../harness/events.js';
import { Client, expect, type Home, type TestDevice, testWith, times } from '../harness/index.js';

const TOO_MANY = 'Too many connections: further ones are refused.';
const CODE = 'limit-exceeded';

/** A gateway without the faults of other tests. */
const test = testWith({});

/** Has a device open more connections than it may. */
async function exceed({ gateway }: Home, device: TestDevice): Promise<void> {
  const attempts = await times(129, () => Client.open(gateway));
  await Promise.all(attempts.map((client) => client.login(device)));
  for (const client of attempts) client.vanish();
}

async function readyz(home: Home, token: string | null) {
  const answer = await home.must('GET', '/readyz', { token });
  return { text: answer.text, faults: answer.list('faults') };
}

test('a fault of a device names it to readers who may see the device, and to nobody else', async ({
  home,
  own,
}) => {
  const [device, neighbour] = [
    await home.device('Mrs Miller, room 12'),
    await home.device('Mr Smith, room 13'),
  ];
  for (const one of [device, neighbour]) await exceed(home, one);
  const secrets = [device, neighbour].flatMap(({ id, name }) => [id, name]);
  const hidesIn = (text: string) => {
    for (const secret of secrets) expect(text).not.toContain(secret);
  };
  await expect.poll(async () => (await readyz(home, null)).faults.length).toBeGreaterThan(0);

  const bare = await readyz(home, null);
  expect(bare.faults).toEqual([{ code: CODE, stops: false, since: expect.stringMatching(/Z$/) }]);
  hidesIn(bare.text);
  // So that a probe keeps working.
  expect((await readyz(home, 'wrong')).text).toBe(bare.text);

  const outsider = (await own.homeAt(home.gateway, 'Haus am Wald')).viewer;
  const elsewhere = await readyz(home, outsider.token);
  expect(elsewhere.faults).toMatchObject([{ code: CODE, message: TOO_MANY }]);
  hidesIn(elsewhere.text);

  const named = [device, neighbour].map(({ id, name }) => {
    return { message: TOO_MANY, subject: { type: 'device', id, name } };
  });
  expect((await readyz(home, home.viewer.token)).faults).toMatchObject(named);

  const group = await home.group('West');
  await home.move(device, { targetRoomId: await home.room('12', group) });
  const ward = await home.token([{ group, role: 'viewer' }]);
  const shown = await readyz(home, ward.token);
  expect(shown.faults).toMatchObject([named[0], { message: TOO_MANY }]);
  expect(shown.text).not.toContain(neighbour.id);

  // What everybody gets has no subject, and the same words once.
  const nurse = await home.nurse({ filters: ['gateway/status'], token: outsider });
  await nurse.until(({ received }) => received.some(({ text }) => text.includes(TOO_MANY)));
  const stream = await EventReader.open(home.gateway, outsider, { filters: ['gateway/status'] });
  home.onClose(() => stream.close());
  const streamed = () => JSON.stringify(stream.messages().at(-1) ?? '');
  await stream.until(() => streamed().includes(TOO_MANY), 'the fault');
  for (const text of [nurse.received.at(-1)?.text ?? '', streamed()]) {
    expect(text.split(TOO_MANY)).toHaveLength(2);
    expect(text).not.toContain('subject');
    hidesIn(text);
  }
});
