/**
 * The proof of delivery: when each destination got an alarm, or what became of it instead (contract 2), and the fault
 * `alarms-waiting` for a destination that has not got one for a minute.
 */
import { randomUUID } from 'node:crypto';
import { each, expect, type Home, type Nurse, test } from '../harness/index.js';
import { claimPort } from '../harness/program.js';
import { WEBHOOK_SECRET } from '../harness/receivers.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A durable nurse-call system whose token has the name. */
async function ward(home: Home, name: string, rest = 'alarms/#'): Promise<Nurse> {
  const token = await home.token('viewer', name);
  const filters = [home.filter(undefined, rest)];
  return home.nurse({ isDurable: true, clientId: 'station', token, filters });
}

async function deliveriesOf(home: Home, alarmId: string | undefined) {
  return (await home.must('GET', `./alarms/${alarmId}/deliveries`)).list('deliveries');
}

async function statesOf(home: Home, alarmId: string | undefined): Promise<string[]> {
  const deliveries = await deliveriesOf(home, alarmId);
  return deliveries
    .map(({ destination, state }) => `${Object(destination).name} ${state}`)
    .toSorted();
}

async function tokenNamed(home: Home, wanted: string): Promise<string> {
  const tokens = (await home.must('GET', '/access-tokens')).list();
  return String(tokens.find(({ name }) => name === wanted)?.['id']);
}

test('shows for each destination when it got the alarm, or that it waits', async ({ own }) => {
  const home = await own.home();
  const { clock } = home.gateway;
  await ward(home, 'Ward 1');
  const away = await ward(home, 'Ward 2');
  await away.leave();
  const before = clock.now();
  const ids = await home.record(await home.device(), {}, { kind: 'noise' });
  for (const id of ids) {
    const states = () => statesOf(home, id);
    await expect.poll(states).toEqual(['Ward 1 delivered', 'Ward 2 queued']);
  }
  for (const { destination, at } of await deliveriesOf(home, ids[0])) {
    expect(destination).toMatchObject({ type: 'session', id: 'station' });
    expect(Date.parse(String(at))).toBeGreaterThanOrEqual(before - 1);
    expect(Date.parse(String(at))).toBeLessThanOrEqual(clock.now());
  }
  await clock.advance(HOUR_MS);
  await away.connect();
  const states = () => statesOf(home, ids[0]);
  await expect.poll(states).toEqual(['Ward 1 delivered', 'Ward 2 delivered']);
  const late = (await deliveriesOf(home, ids[0])).find(
    ({ destination }) => Object(destination).name === 'Ward 2',
  );
  expect(Date.parse(String(late?.['at']))).toBeGreaterThanOrEqual(before + HOUR_MS);
});

test('is for the alarms of a queue, not for those between them', async ({ home }) => {
  await ward(home, 'W', 'alarms/fall');
  const kinds = Array.from({ length: 230 }, (_, index) =>
    index % 7 < 3 || index % 100 === 0 ? 'fall' : 'noise',
  );
  const ids = await home.record(await home.device(), ...kinds.map((kind) => ({ kind })));
  const last = ids[kinds.lastIndexOf('fall')];
  await expect.poll(() => statesOf(home, last)).toEqual(['W delivered']);
  const states = await each(ids, (id) => statesOf(home, id));
  expect(states).toEqual(kinds.map((kind) => (kind === 'fall' ? ['W delivered'] : [])));
});

test('survives the session, a restart and hundreds of later alarms', async ({ own }) => {
  const home = await own.home();
  const nurse = await ward(home, 'Ward 1');
  const device = await home.device();
  const [id] = await home.record(device, {});
  const later = await home.record(device, ...Array(350).fill({ kind: 'noise' }));
  for (const one of [id, later[0], later[99], later[349]])
    await expect.poll(() => statesOf(home, one)).toEqual(['Ward 1 delivered']);
  await nurse.leave();
  await home.gateway.restart();
  expect(await statesOf(home, id)).toEqual(['Ward 1 delivered']);
  const token = await tokenNamed(home, 'Ward 1');
  await home.must('DELETE', `/access-tokens/${token}`);
  // Nobody knows its name any more.
  expect(await statesOf(home, id)).toEqual([`${token} delivered`]);
});

test('says what left a queue unread: expired, or no longer for its receiver', async ({ own }) => {
  const home = await own.home({ isHurried: true, env: { GATEWAY_SESSIONS_MAX_QUEUED_HOURS: '1' } });
  const [old, moved] = [await ward(home, 'Ward 1'), await ward(home, 'Ward 2')];
  await old.leave();
  await moved.leave();
  const [id] = await home.record(await home.device(), {});
  const json = { grants: [{ location: randomUUID(), role: 'viewer' }] };
  await home.must('PATCH', `/access-tokens/${await tokenNamed(home, 'Ward 2')}`, { json });
  await moved.connect();
  const states = () => statesOf(home, id);
  await expect.poll(states).toEqual(['Ward 1 queued', 'Ward 2 dropped']);
  await home.gateway.clock.advance(HOUR_MS + 1_000);
  await expect.poll(states).toEqual(['Ward 1 expired', 'Ward 2 dropped']);
});

test('is for those who may see the alarm', async ({ home }) => {
  const device = await home.device();
  const group = await home.group();
  await home.move(device, { targetRoomId: await home.room('1', group) });
  const [inside] = await home.record(device, {});
  await home.move(device, { targetRoomId: null });
  const [outside] = await home.record(device, {});
  const ofGroup = await home.token([{ role: 'viewer', group }]);
  const asked = (id: string | undefined, who = {}) =>
    home.ask('GET', `./alarms/${id}/deliveries`, who);
  expect((await asked(inside, ofGroup)).json).toEqual({ deliveries: [] });
  expect((await asked(outside, ofGroup)).outcome).toBe('403 forbidden');
  expect((await asked(randomUUID(), ofGroup)).outcome).toBe('403 forbidden');
  expect((await asked(randomUUID())).outcome).toBe('404 alarm-not-found');
});

async function waiting(home: Home) {
  const faults = (await home.ask('GET', '/readyz')).list('faults');
  return faults.filter(({ code }) => code === 'alarms-waiting');
}

test.for(['is away', 'is connected and acknowledges nothing'])(
  'alarms-waiting names a nurse call that %s, since its oldest alarm, until it has it',
  async (state, { own }) => {
    const home = await own.home({ isHurried: true });
    const { clock } = home.gateway;
    const filters = [home.filter(undefined, 'alarms/#')];
    const session = { isDurable: true, clientId: 'station-1', filters };
    const nurse = await home.nurse({ ...session, acknowledges: false });
    if (state === 'is away') await nurse.leave();
    const beforeMs = clock.now();
    await home.record(await home.device(), {});
    await clock.advance(MINUTE_MS);
    const subject = { type: 'session', id: 'station-1', name: 'station-1' };
    await expect.poll(() => waiting(home)).toMatchObject([{ subject }]);
    // Since the alarm, not since a minute later.
    const since = String((await waiting(home))[0]?.['since']);
    expect(Date.parse(since) - beforeMs).toBeLessThan(MINUTE_MS / 2);
    nurse.vanish();
    const back = await home.nurse(session);
    await back.untilRecords(1);
    await expect.poll(() => waiting(home)).toEqual([]);
  },
);

test('alarms-waiting names a bridge and a webhook whose other side is down', async ({ own }) => {
  const port = await claimPort();
  const topics = ['care-homes/+/devices/+/alarms/#'];
  const url = `http://127.0.0.1:${port}/`;
  const webhook = { name: 'app', type: 'webhook', url, secret: WEBHOOK_SECRET, topics };
  const home = await own.home({
    isHurried: true,
    config: {
      bridges: [{ name: 'region', url: `mqtt://127.0.0.1:${port}` }],
      outputs: [{ ...webhook, allowPrivate: true }],
    },
  });
  await home.record(await home.device(), {});
  await home.gateway.clock.advance(MINUTE_MS);
  const subjects = async () => (await waiting(home)).map(({ subject }) => subject);
  await expect.poll(subjects).toHaveLength(2);
  expect(await subjects()).toEqual(
    expect.arrayContaining([
      { type: 'bridge', id: 'region', name: 'region' },
      { type: 'webhook', id: 'app', name: 'app' },
    ]),
  );
});
