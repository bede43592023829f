/**
 * Supervision: a device from which no packet has come for its time is silent. One event says so, another that it is
 * heard again, each with the guarantees of an alarm (contract 3, "Supervision").
 */
import { Client, expect, type Home, type Own, type TestDevice, test } from '../harness/index.js';

const MINUTE_MS = 60_000;

/** A home whose devices are silent after a minute, and a nurse-call system that hears of it. */
async function supervised(own: Own, seconds = '60') {
  const env = { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: seconds };
  const home = await own.home({ env });
  const filters = [home.filter(undefined, 'supervision')];
  const nurse = await home.nurse({ isDurable: true, filters });
  const events = () =>
    nurse.messages('/supervision').map(({ state, device }) => `${Object(device).id} ${state}`);
  return { home, nurse, events, clock: home.gateway.clock };
}

/** Has the device send one packet. */
async function hear(home: Home, device: TestDevice): Promise<void> {
  await (await Client.connect(home.gateway, device)).end();
}

async function silentIn(home: Home, locationId = home.locationId): Promise<unknown[]> {
  const answer = await home.must('GET', `/care-homes/${locationId}/supervision`);
  return answer.list().map(({ device }) => Object(device).id);
}

/** The silent devices among the faults: the id of each, or the message if none is named. */
async function silentFaults(home: Home): Promise<unknown[]> {
  const faults = (await home.ask('GET', '/readyz')).list('faults');
  const silent = faults.filter(({ code }) => code === 'device-silent');
  return silent.map(({ subject, message }) => Object(subject).id ?? message);
}

test('a silent device is an event, a fault and in the list, until it is heard', async ({ own }) => {
  const { home, nurse, events, clock } = await supervised(own);
  const device = await home.deviceIn(await home.room());
  await home.device('in its box, never heard');
  const before = clock.now();
  await hear(home, device);
  await clock.advance(MINUTE_MS);
  await expect.poll(events).toEqual([`${device.id} silent`]);
  const [silent] = nurse.messages();
  expect(silent).toMatchObject({ device: { name: 'Bett 1' }, room: { name: 'Zimmer 1' } });
  expect(nurse.received).toMatchObject([{ qos: 1, retain: false }]);
  expect(nurse.received[0]?.topic).toBe(home.filter(device, 'supervision'));
  expect(Date.parse(String(silent?.['lastSeenAt']))).toBeLessThan(before + MINUTE_MS / 2);
  expect(Date.parse(String(silent?.['since']))).toBeGreaterThanOrEqual(before + MINUTE_MS);
  expect(await silentIn(home)).toEqual([device.id]);
  await expect.poll(() => silentFaults(home)).toEqual([device.id]);
  await clock.advance(10 * MINUTE_MS);
  await hear(home, device);
  await expect.poll(events).toEqual([`${device.id} silent`, `${device.id} heard`]);
  expect(await silentIn(home)).toEqual([]);
  await expect.poll(() => silentFaults(home)).toEqual([]);
  expect(new Set(nurse.messages().map(({ id }) => id)).size).toBe(2);
});

test('the last message counts, also of a battery sensor that goes back to sleep at once', async ({
  own,
}) => {
  const { home, nurse, events, clock } = await supervised(own);
  const device = await home.device('Türkontakt');
  await hear(home, device);
  await clock.advance(MINUTE_MS - 10_000);
  const sentAtMs = clock.now();
  await home.publish(device, 'contact', '{"open":false}');
  await clock.advance(MINUTE_MS);
  await expect.poll(events).toEqual([`${device.id} silent`]);
  const [silent] = nurse.messages();
  expect(Date.parse(String(silent?.['lastSeenAt']))).toBeGreaterThanOrEqual(sentAtMs);
});

test('time counts only while the gateway runs, and a restart repeats nothing', async ({ own }) => {
  const { home, nurse, events, clock } = await supervised(own);
  const [device, other] = [await home.device(), await home.device()];
  await hear(home, device);
  await clock.advance(MINUTE_MS);
  await expect.poll(events).toEqual([`${device.id} silent`]);
  await hear(home, other);
  await home.gateway.stop();
  await clock.advance(100 * MINUTE_MS);
  await home.gateway.start();
  await nurse.connect();
  expect(await silentIn(home)).toEqual([device.id]);
  await clock.advance(MINUTE_MS / 2);
  await hear(home, device);
  const both = [`${device.id} silent`, `${device.id} heard`];
  await expect.poll(events).toEqual(both);
  await clock.advance(MINUTE_MS / 2 + 1_000);
  await expect.poll(events).toEqual([...both, `${other.id} silent`]);
});

test('events wait for an absent subscriber, as alarms do', async ({ own }) => {
  const { home, nurse, events, clock } = await supervised(own);
  const device = await home.device();
  await hear(home, device);
  await nurse.leave();
  await clock.advance(MINUTE_MS);
  await expect.poll(() => silentIn(home)).toEqual([device.id]);
  await hear(home, device);
  await expect.poll(() => silentIn(home)).toEqual([]);
  await nurse.connect();
  await expect.poll(events).toEqual([`${device.id} silent`, `${device.id} heard`]);
});

test('a device may have a time of its own, which can be changed and removed', async ({ own }) => {
  const { home, events, clock } = await supervised(own);
  const [device, plain] = [await home.device(), await home.device()];
  const set = (silentAfterSeconds: unknown) =>
    home.ask('PATCH', `./devices/${device.id}`, { json: { supervision: { silentAfterSeconds } } });
  for (const wrong of [59, 604_801, 60.5, '60', false])
    expect([wrong, (await set(wrong)).outcome]).toEqual([wrong, '400 invalid-request']);
  const week = await set(604_800);
  expect(week.at('supervision')).toEqual({ silentAfterSeconds: 604_800 });
  await hear(home, device);
  await clock.advance(5 * MINUTE_MS);
  await hear(home, plain);
  await clock.advance(MINUTE_MS);
  await expect.poll(events).toEqual([`${plain.id} silent`]);
  expect((await set(null)).json).not.toHaveProperty('supervision');
  await expect.poll(events).toEqual([`${plain.id} silent`, `${device.id} silent`]);
});

test('without a time in the configuration only devices with their own are supervised', async ({
  own,
}) => {
  const { home, events, clock } = await supervised(own, 'null');
  const [plain, device] = [await home.device(), await home.device()];
  const json = { supervision: { silentAfterSeconds: 60 } };
  await home.must('PATCH', `./devices/${device.id}`, { json });
  await hear(home, plain);
  await hear(home, device);
  await clock.advance(2 * MINUTE_MS);
  await expect.poll(events).toEqual([`${device.id} silent`]);
  expect(await silentIn(home)).toEqual([device.id]);
});

test('it follows a device to its new home, and forgets a deleted one', async ({ own }) => {
  const { home, events, clock } = await supervised(own);
  const other = (await home.must('POST', '/care-homes', { json: { name: 'Haus Eiche' } })).id;
  const device = await home.device();
  await hear(home, device);
  await clock.advance(MINUTE_MS);
  await expect.poll(events).toEqual([`${device.id} silent`]);
  await home.move(device, { targetLocationId: other });
  expect([await silentIn(home), await silentIn(home, other)]).toEqual([[], [device.id]]);
  await home.must('DELETE', `/care-homes/${other}/devices/${device.id}`);
  expect(await silentIn(home, other)).toEqual([]);
  await expect.poll(() => silentFaults(home)).toEqual([]);
  expect(events()).toHaveLength(1);
});

test('many silent devices are an event each, and a handful of faults', async ({ own }) => {
  const { home, events, clock } = await supervised(own);
  const ids: string[] = [];
  for (let index = 0; index < 5; index++) {
    const device = await home.device();
    await hear(home, device);
    ids.push(device.id);
  }
  await clock.advance(MINUTE_MS);
  await expect.poll(() => events().toSorted()).toEqual(ids.map((id) => `${id} silent`).toSorted());
  await expect.poll(() => silentFaults(home)).toHaveLength(4);
  expect((await silentFaults(home)).at(-1)).toMatch(/^A device is silent: .* \(2 more\)\.$/);
  const advised = (await home.ask('GET', '/faults')).list();
  expect(advised.map(({ more }) => more)).toEqual([undefined, undefined, undefined, 2]);
});
