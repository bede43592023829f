/**
 * What the gateway does by itself when nobody answers: it forwards an alarm that stays raised once more for each
 * escalation, and tries the whole way to every destination in a drill (contract 3, "Escalation" and "Drill").
 */
import { describe, expect, type Home, type Nurse, type Own, test } from '../harness/index.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describe('an escalation', () => {
  const NURSE = { name: 'nurse', afterSeconds: 60 };
  const MANAGER = { name: 'manager', afterSeconds: 180, kinds: ['fall'] };

  /** A home with escalations, and a nurse-call system that gets them: `<alarm> <name>`. */
  async function escalated(own: Own, escalations: readonly object[] = [NURSE, MANAGER]) {
    const env = { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: 'null' };
    const home = await own.home({ env, config: { escalations } });
    const filters = ['care-homes/+/devices/+/escalations/+'];
    const token = await home.token('responder');
    const nurse = await home.nurse({ isDurable: true, filters, token });
    const received = () =>
      nurse.received.map(({ topic, text }) => `${JSON.parse(text).id} ${topic.split('/').at(-1)}`);
    return { home, nurse, received, device: await home.device(), clock: home.gateway.clock };
  }

  test('repeats a raised alarm as it was, once for each name', async ({ own }) => {
    const { home, nurse, received, device, clock } = await escalated(own);
    await home.move(device, { targetRoomId: await home.room() });
    const alarm = { detectedAt: '2026-01-01T00:00:00Z', confidence: 0.97 };
    const [id] = await home.record(device, alarm);
    await home.must('PATCH', `./devices/${device.id}`, { json: { name: 'elsewhere' } });
    await clock.advance(MINUTE_MS);
    await expect.poll(received).toEqual([`${id} nurse`]);
    await clock.advance(2 * MINUTE_MS);
    await expect.poll(received).toEqual([`${id} nurse`, `${id} manager`]);
    expect(nurse.messages()[0]).toMatchObject({
      id,
      kind: 'fall',
      detectedAt: '2026-01-01T00:00:00.000Z',
      data: { confidence: 0.97 },
      device: { id: device.id, name: 'Bett 1' },
      room: { name: 'Zimmer 1' },
      escalation: NURSE,
    });
    await clock.advance(60 * MINUTE_MS);
    const [last] = await home.record(device, { kind: 'noise' });
    await clock.advance(MINUTE_MS);
    await expect.poll(received).toEqual([`${id} nurse`, `${id} manager`, `${last} nurse`]);
  });

  test('never happens for an alarm that was acknowledged or resolved in time', async ({ own }) => {
    const { home, received, device, clock } = await escalated(own);
    const [acknowledged, resolved, open] = await home.record(device, {}, {}, {});
    const give = (id: string | undefined, verb: string) =>
      home.must('POST', `./alarms/${id}/${verb}`);
    await clock.advance(MINUTE_MS / 2);
    await give(acknowledged, 'acknowledge');
    await give(resolved, 'resolve');
    await clock.advance(MINUTE_MS);
    await expect.poll(received).toEqual([`${open} nurse`]);
    await give(open, 'acknowledge');
    await clock.advance(3 * MINUTE_MS);
    const [last] = await home.record(device, {});
    await clock.advance(MINUTE_MS);
    await expect.poll(received).toEqual([`${open} nurse`, `${last} nurse`]);
  });

  test('is for its kinds and homes, and for a test if a device marked it as one', async ({
    own,
  }) => {
    const { home, received, device, clock } = await escalated(own, []);
    const elsewhere = await own.homeAt(home.gateway);
    await home.gateway.stop();
    const here = { name: 'here', afterSeconds: 60, locations: [home.locationId.toUpperCase()] };
    await home.gateway.configure({ escalations: [here, { ...NURSE, kinds: ['noise'] }] });
    await home.gateway.start();
    const nurse = await home.nurse({ filters: ['care-homes/+/devices/+/escalations/+'] });
    const [fall, noise, called] = await home.record(device, {}, { kind: 'noise' }, { test: true });
    await home.must('POST', `./devices/${device.id}/test-alarm`, { json: { kind: 'noise' } });
    await elsewhere.record(await elsewhere.device(), {});
    await clock.advance(MINUTE_MS);
    const [last] = await home.record(device, {});
    await clock.advance(MINUTE_MS);
    await nurse.untilRecords(5);
    expect(received()).toEqual([]);
    const names = nurse.received.map(
      ({ topic, text }) => `${JSON.parse(text).id} ${topic.split('/').at(-1)}`,
    );
    expect(names.toSorted()).toEqual(
      [
        `${fall} here`,
        `${called} here`,
        `${noise} here`,
        `${noise} nurse`,
        `${last} here`,
      ].toSorted(),
    );
  });

  test('happens after a restart, also for those away, unless its name is gone', async ({ own }) => {
    const { home, nurse, received, device, clock } = await escalated(own);
    const [id] = await home.record(device, {});
    await nurse.leave();
    await home.gateway.stop();
    await home.gateway.configure({ escalations: [NURSE] });
    await home.gateway.start();
    await clock.advance(10 * MINUTE_MS);
    await nurse.connect();
    await expect.poll(received).toEqual([`${id} nurse`]);
  });

  test('happens once for each of many alarms at one moment, also when the store is silent', async ({
    own,
  }) => {
    const { home, received, device, clock } = await escalated(own, [NURSE]);
    const ids = await home.record(device, ...Array(1_200).fill({}));
    const store = await home.store();
    store.freeze();
    await clock.advance(MINUTE_MS);
    await expect.poll(() => home.faults()).toContainEqual(expect.stringContaining('store'));
    store.thaw();
    await expect.poll(() => received().length).toBe(1_200);
    const [last] = await home.record(device, {});
    await clock.advance(MINUTE_MS);
    await expect.poll(() => received().at(-1)).toBe(`${last} nurse`);
    expect(received().toSorted()).toEqual([...ids, last].map((id) => `${id} nurse`).toSorted());
  });
});

/** The drills of a home, the newest first. */
async function drillsOf(home: Home) {
  return (await home.must('GET', './drills')).list().map(({ destinations, ...drill }) => ({
    ...drill,
    /** The destinations by name, and whether they have acknowledged. */
    acknowledged: Object.fromEntries(
      Object.values(Object(destinations)).map((one) => {
        const { destination, acknowledgedAfterMs } = Object(one);
        return [destination.name, acknowledgedAfterMs !== null];
      }),
    ),
  }));
}

async function statesOf(home: Home): Promise<unknown[]> {
  return (await drillsOf(home)).map((drill) => Reflect.get(drill, 'state'));
}

async function failedDrills(home: Home): Promise<unknown[]> {
  const faults = (await home.ask('GET', '/readyz')).list('faults');
  return faults
    .filter(({ code }) => code === 'drill-failed')
    .map(({ subject }) => Object(subject).name);
}

function begin(home: Home, json?: object) {
  return home.must('POST', './drills', json === undefined ? {} : { json });
}

/** A durable nurse-call system whose token has the name. */
async function nurseCall(home: Home, name: string): Promise<Nurse> {
  return home.nurse({ isDurable: true, clientId: name, token: await home.token('viewer', name) });
}

async function absent(home: Home): Promise<Nurse> {
  const nurse = await nurseCall(home, 'away');
  await nurse.leave();
  return nurse;
}

describe('a drill', () => {
  async function drilled(own: Own, env: Record<string, string> = {}) {
    const silentAfter = { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: '600' };
    const home = await own.home({ env: { ...silentAfter, ...env } });
    return { home, device: await home.device(), clock: home.gateway.clock };
  }

  test('is a marked alarm for everybody, and shows who acknowledged it in time', async ({
    own,
  }) => {
    const { home, device, clock } = await drilled(own);
    const other = await home.device('Bett 2');
    await (await home.client(other)).end();
    await clock.advance(11 * MINUTE_MS);
    const here = await nurseCall(home, 'here');
    const away = await absent(home);
    const silent = async () => (await home.must('GET', './supervision')).list().length;
    await expect.poll(silent).toBe(1);
    const begun = await begin(home);
    expect(begun.json).toMatchObject({
      state: 'running',
      by: { id: 'admin', name: 'admin' },
      device: { id: device.id, name: 'Bett 1' },
      silent: [{ id: other.id, name: 'Bett 2' }],
    });
    await here.untilRecords(1);
    const alarm = { id: begun.string('alarmId'), kind: 'helpCall', test: true };
    expect(here.messages()).toMatchObject([{ ...alarm, device: { id: device.id } }]);
    await expect
      .poll(() => drillsOf(home))
      .toMatchObject([{ acknowledged: { here: true, away: false } }]);
    expect(await failedDrills(home)).toEqual([]);
    await clock.advance(MINUTE_MS + 1_000);
    await expect.poll(() => failedDrills(home)).toEqual(['away']);
    // It acknowledges late: the drill stays failed until the next one.
    await away.connect();
    await away.untilRecords(1);
    expect(await statesOf(home)).toEqual(['failed']);
    await begin(home, { deviceId: other.id });
    const all = { here: true, away: true };
    await expect.poll(async () => (await drillsOf(home))[0]).toMatchObject({ acknowledged: all });
    await clock.advance(MINUTE_MS + 1_000);
    await expect.poll(() => failedDrills(home)).toEqual([]);
    expect(await statesOf(home)).toEqual(['passed', 'failed']);
  });

  test('of a home without a destination is a fault, until one has acknowledged', async ({
    own,
  }) => {
    const { home, clock } = await drilled(own);
    await begin(home);
    await clock.advance(MINUTE_MS + 1_000);
    await expect.poll(() => failedDrills(home)).toEqual([home.name]);
    expect(await statesOf(home)).toEqual(['failed']);
    await nurseCall(home, 'here');
    await begin(home);
    await expect.poll(() => failedDrills(home)).toEqual([]);
  });

  test('is told from alarms in the history', async ({ own }) => {
    const { home, device } = await drilled(own);
    const [fall] = await home.record(device, {});
    const alarmId = (await begin(home)).string('alarmId');
    const ids = async (query: string) =>
      (await home.must('GET', `./alarms?${query}`)).list('events').map(({ id }) => id);
    expect(await ids('')).toHaveLength(2);
    expect([await ids('test=true'), await ids('test=false')]).toEqual([[alarmId], [fall]]);
    expect((await home.ask('GET', './alarms?test=1')).outcome).toBe('400 invalid-request');
    expect((await home.must('GET', `./alarms/${alarmId}`)).at('test')).toBe(true);
  });

  test('has its result after a restart, and when a destination or its home is deleted', async ({
    own,
  }) => {
    const { home, device, clock } = await drilled(own);
    await absent(home);
    await begin(home);
    await home.gateway.restart();
    await clock.advance(MINUTE_MS);
    await expect.poll(() => failedDrills(home)).toEqual(['away']);
    const [before] = await drillsOf(home);
    expect(before).toMatchObject({ state: 'failed', acknowledged: { away: false } });
    const tokens = (await home.must('GET', '/access-tokens')).list();
    await home.must(
      'DELETE',
      `/access-tokens/${tokens.find(({ name }) => name === 'away')?.['id']}`,
    );
    expect(await drillsOf(home)).toEqual([before]);
    await home.gateway.restart();
    expect(await drillsOf(home)).toEqual([before]);
    await expect.poll(() => failedDrills(home)).toEqual(['away']);
    await home.must('DELETE', `./devices/${device.id}`);
    await home.must('DELETE', home.path);
    await expect.poll(() => failedDrills(home)).toEqual([]);
  });

  test('requires a device, and only the last hundred are kept', async ({ own }) => {
    const { home } = await drilled(own);
    const empty = await own.homeAt(home.gateway);
    expect((await empty.ask('POST', './drills')).outcome).toBe('409 location-without-devices');
    const json = { deviceId: empty.locationId };
    expect((await home.ask('POST', './drills', { json })).outcome).toBe('404 device-not-found');
    for (let count = 0; count < 102; count++) await begin(home);
    expect(await drillsOf(home)).toHaveLength(100);
  });

  test('runs on schedule, once a day', async ({ own }) => {
    const gateway = await own.gatewayOff();
    const { clock } = gateway;
    const dueMs = (Math.floor(clock.now() / MINUTE_MS) + 3) * MINUTE_MS;
    const at = new Date(dueMs).toISOString().slice(11, 16);
    await gateway.configure({ drills: [{ at, timeZone: 'UTC' }] });
    await gateway.start();
    const home = await own.homeAt(gateway);
    await home.device();
    const count = async () => (await drillsOf(home)).length;
    expect(await count()).toBe(0);
    // Exactly: a machine that stalls for a minute would miss it.
    await clock.advance(dueMs - clock.now());
    await expect.poll(count).toBe(1);
    expect((await drillsOf(home))[0]).toMatchObject({ by: null });
    await clock.advance(dueMs + DAY_MS - clock.now());
    await expect.poll(count).toBe(2);
    const audit = await home.must('GET', `/audit?actions=alarm.tested&location=${home.locationId}`);
    expect(audit.list('events')).toMatchObject(Array(2).fill({ actor: { type: 'gateway' } }));
  });
});

/** At which times a clock is set, and how many drills each home has had then. */
interface ClockRow {
  readonly name: string;
  readonly from: string;
  /** Each is the time of the daily drill of a home. */
  readonly drills: readonly string[];
  readonly steps: readonly (readonly [clock: string, drills: readonly number[]])[];
}

const CLOCKS: readonly ClockRow[] = [
  {
    name: 'takes place in the night after the clock was days ahead for a moment',
    from: '2026-11-28T02:00:00Z',
    drills: ['03:30', '12:00'],
    steps: [
      ['2026-12-01T12:00:05Z', [0, 1]],
      ['2026-11-28T03:30:05Z', [1, 1]],
    ],
  },
  {
    name: 'takes place although the gateway began with a clock that was ahead',
    from: '2026-11-28T15:00:00Z',
    drills: ['14:00'],
    steps: [['2026-11-28T14:00:05Z', [1]]],
  },
  {
    name: 'does not ring in the afternoon when a clock that was in 1970 is set',
    from: '1970-01-01T00:00:30Z',
    drills: ['03:30', '14:00'],
    steps: [['2026-11-28T14:00:05Z', [0, 1]]],
  },
  {
    name: 'takes place once when the clock is set back over its time',
    from: '2026-11-28T03:10:00Z',
    drills: ['03:30', '03:20', '03:31'],
    steps: [
      ['2026-11-28T03:30:05Z', [1, 0, 0]],
      ['2026-11-28T03:20:05Z', [1, 1, 0]],
      // Once more in the minute of the first, until that of the third.
      ['2026-11-28T03:30:57Z', [1, 1, 1]],
    ],
  },
];

describe('a scheduled drill', () => {
  for (const { name, from, drills, steps } of CLOCKS) {
    test(name, async ({ own }) => {
      const gateway = await own.gatewayOff();
      const set = (time: string) => gateway.clock.jump(Date.parse(time) - gateway.clock.now());
      await set(from);
      await gateway.start();
      const homes = await Promise.all(drills.map(() => own.homeAt(gateway)));
      for (const home of homes) await home.device();
      const daily = drills.map((at, index) => {
        return { at, timeZone: 'UTC', locations: [homes[index]?.locationId] };
      });
      await gateway.configure({ drills: daily });
      await gateway.restart();
      for (const [time, counts] of steps) {
        await set(time);
        const listed = () => Promise.all(homes.map(async (home) => (await drillsOf(home)).length));
        await expect.poll(listed).toEqual(counts);
      }
    });
  }
});

test('a destination has sixty seconds by the clock that does not jump', async ({ own }) => {
  const home = await own.home();
  const { clock } = home.gateway;
  await home.device();
  await absent(home);
  await nurseCall(home, 'here');
  await begin(home);
  await clock.jump(60 * MINUTE_MS);
  const acknowledged = { here: true, away: false };
  await expect.poll(() => drillsOf(home)).toMatchObject([{ state: 'running', acknowledged }]);
  await clock.jump(-120 * MINUTE_MS);
  await clock.advance(MINUTE_MS);
  await expect.poll(() => drillsOf(home)).toMatchObject([{ state: 'failed', acknowledged }]);
});
