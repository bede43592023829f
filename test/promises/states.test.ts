/**
 * The states of an alarm: raised, then acknowledged, then resolved, or resolved directly (contract 2, "Alarm state").
 *
 * A responder gives them over HTTP or MQTT. They are stored, forwarded and counted with the guarantees of an alarm.
 */
import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { ALARM_STATES, type AlarmState, GIVEN_STATES } from '../../src/domain/alarm-state.js';
import {
  Client,
  describe,
  each,
  expect,
  type Home,
  type TestDevice,
  type TestToken,
  test,
} from '../harness/index.js';

type Given = (typeof GIVEN_STATES)[number];
type Effect = 'changed' | 'unchanged' | 'alarm-resolved' | 'unknown-alarm';

/** What giving a state does to an alarm in each state; undefined is an alarm that does not exist. */
const EFFECTS: readonly [before: AlarmState | undefined, given: Given, effect: Effect][] = [
  ['raised', 'acknowledged', 'changed'],
  ['raised', 'resolved', 'changed'],
  ['acknowledged', 'acknowledged', 'unchanged'],
  ['acknowledged', 'resolved', 'changed'],
  ['resolved', 'resolved', 'unchanged'],
  ['resolved', 'acknowledged', 'alarm-resolved'],
  [undefined, 'acknowledged', 'unknown-alarm'],
  [undefined, 'resolved', 'unknown-alarm'],
];
/** The answers over HTTP. */
const OUTCOMES: Readonly<Record<Effect, string>> = {
  changed: '200',
  unchanged: '200',
  'alarm-resolved': '409 alarm-resolved',
  'unknown-alarm': '404 alarm-not-found',
};

const VERBS = { acknowledged: 'acknowledge', resolved: 'resolve' } as const;

function textOf(id: string, state: string, note?: string): string {
  return JSON.stringify({ id, state, note });
}

/** Gives a state over HTTP. */
function give(home: Home, id: string, state: Given, note?: unknown, token?: string) {
  const json = note === undefined ? undefined : { note };
  return home.ask('POST', `./alarms/${id}/${VERBS[state]}`, { json, token });
}

async function stateOf(home: Home, id: string): Promise<unknown> {
  return (await home.must('GET', `./alarms/${id}`)).at('state');
}

/** Publishes states of the device's alarms as the token. */
async function publish(home: Home, who: TestToken, device: TestDevice, ...texts: string[]) {
  const client = await Client.connect(home.gateway, who);
  for (const text of texts) await client.publish(home.filter(device, 'alarm-states'), text);
  await client.end();
}

test('each change is stored, forwarded, written down and answered once, over HTTP as over MQTT', async ({
  home,
}) => {
  const responder = await home.client(await home.token('responder'));
  const nurse = await home.nurse({ filters: [home.filter()] });
  const step = fc.record({
    alarm: fc.nat({ max: 4 }),
    state: fc.constantFrom(...GIVEN_STATES),
    note: fc.option(fc.constantFrom('one', 'two'), { nil: undefined }),
    qos: fc.constantFrom(undefined, 1 as const, 2 as const),
  });
  const audited = async (ids: readonly string[]) => {
    const query = `location=${home.locationId}&actions=alarm.acknowledged,alarm.resolved`;
    const records = (await home.must('GET', `/audit?${query}`)).list('events');
    return records.filter(({ resourceId }) => ids.includes(String(resourceId))).length;
  };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const device = await home.device();
      const ids = await home.record(device, {}, {}, {}, {});
      const model = new Map(ids.map((id) => [id, { state: 'raised', note: undefined as unknown }]));
      const forwarded: unknown[] = [];
      const rejected: unknown[] = [];
      for (const { alarm, state, note, qos } of steps) {
        // The fifth does not exist.
        const id = ids[alarm] ?? randomUUID();
        const known = model.get(id);
        const effect = EFFECTS.find(
          ([before, given]) => before === known?.state && given === state,
        );
        const [, , expected = 'unchanged'] = effect ?? [];
        if (expected === 'changed') {
          model.set(id, { state, note: note ?? known?.note });
          forwarded.push([id, state, note]);
        }
        if (qos === undefined) {
          const answer = await give(home, id, state, note);
          expect([known?.state, state, answer.outcome]).toEqual([
            known?.state,
            state,
            OUTCOMES[expected],
          ]);
          if (answer.status === 200) expect(answer.json).toMatchObject({ id, state });
        } else {
          const topic = home.filter(device, 'alarm-states');
          await responder.publish(topic, textOf(id, state, note), { qos });
          if (OUTCOMES[expected] !== '200') rejected.push(expected);
        }
      }
      await home.record(device, { kind: 'noise' });
      await nurse.until(() => nurse.messages(`${device.id}/alarms/noise`).length === 1);
      await nurse.until(() => nurse.messages(`${device.id}/rejected`).length >= rejected.length);
      const messages = nurse.messages(`${device.id}/alarm-states`);
      expect(messages.map(({ id, state, note }) => [id, state, note])).toEqual(forwarded);
      const reasons = nurse.messages(`${device.id}/rejected`).map(({ reason }) => reason);
      expect(reasons).toEqual(rejected);
      const listed = (await home.must('GET', `./alarms?device=${device.id}&kinds=fall`)).list(
        'events',
      );
      const shown = new Map(listed.map(({ id, state, note }) => [String(id), { state, note }]));
      expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(model));
      expect(await audited(ids)).toBe(forwarded.length);
    }),
    { numRuns: 10 },
  );
});

test('an alarm shows who gave which state, when and why', async ({ home }) => {
  const nurse = await home.token('responder', 'Nurse');
  const device = await home.device();
  const [id = ''] = await home.record(device, {});
  const by = { id: nurse.id, name: 'Nurse' };
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const note = 'on my way 🚶';
  const first = { id, state: 'acknowledged', acknowledgedBy: by, acknowledgedAt: time, note };
  const acknowledged = await give(home, id, 'acknowledged', ` ${note}  `, nurse.token);
  expect(acknowledged.json).toEqual(first);
  const both = { ...first, state: 'resolved', resolvedBy: by, resolvedAt: time };
  const resolved = await give(home, id, 'resolved', undefined, nurse.token);
  expect(resolved.json).toEqual(both);
  const again = await give(home, id, 'resolved', 'another');
  expect(again.text).toBe(resolved.text);
  expect((await home.must('GET', `./alarms/${id}`)).json).toMatchObject(both);
  const [event] = (await home.must('GET', `./devices/${device.id}/alarms`)).list('events');
  expect(event).toEqual(expect.objectContaining({ id, state: 'resolved' }));
  expect(event).not.toHaveProperty('note');
});

describe('over HTTP', () => {
  test('a body may have a note of 1 to 500 characters, or none', async ({ home }) => {
    const device = await home.device();
    const [id = '', ...others] = await home.record(device, {}, {}, {}, {});
    for (const note of ['', ' \t ', 'a\nb', 'x'.repeat(501), 7, ['x'], '\ud800']) {
      const { status, errors } = (await give(home, id, 'resolved', note)).problem;
      expect([note, status, errors?.map(({ path }) => path)]).toEqual([note, 400, ['note']]);
    }
    const path = `./alarms/${id}/resolve`;
    const typo = await home.ask('POST', path, { json: { notes: 'x' } });
    expect(typo.outcome).toBe('400 invalid-request');
    expect((await give(home, id, 'resolved', '👵'.repeat(500))).status).toBe(200);
    for (const [index, body] of [{}, { json: {} }, { json: { note: null } }].entries()) {
      const answer = await home.must('POST', `./alarms/${others[index]}/resolve`, body);
      expect(answer.json).not.toHaveProperty('note');
      expect(answer.at('resolvedBy')).toEqual({ id: 'admin', name: 'admin' });
    }
  });

  test('an alarm is found where it was raised, wherever its device is now', async ({ home }) => {
    const device = await home.device();
    const [before = '', after = '', both = ''] = await home.record(device, {}, {}, {});
    const elsewhere = (await home.must('POST', '/care-homes', { json: { name: 'Elm' } })).id;
    await home.move(device, { targetLocationId: elsewhere });
    const [ofOther = ''] = await home.record(device, {});
    expect((await give(home, before, 'resolved')).outcome).toBe('200');
    await home.must('DELETE', `/care-homes/${elsewhere}/devices/${device.id}`);
    expect((await give(home, after, 'resolved')).outcome).toBe('200');
    expect((await give(home, ofOther, 'resolved')).outcome).toBe('404 alarm-not-found');
    expect((await give(home, 'nonsense', 'resolved')).outcome).toBe('400 invalid-request');
    const gone = await home.ask('POST', `/care-homes/${randomUUID()}/alarms/${both}/resolve`);
    expect(gone.outcome).toBe('404 location-not-found');
  });

  test('the newest is meant of two devices’ alarms with one id', async ({ home }) => {
    const [older, newer] = [await home.device(), await home.device()];
    const [id = ''] = await home.record(older, {});
    await home.record(newer, { id, kind: 'noise' });
    await home.must('POST', `./alarms/${id}/resolve`);
    const listed = (await home.must('GET', './alarms?order=asc')).list('events');
    expect(listed.map(({ deviceId, state }) => [deviceId, state])).toEqual([
      [older.id, 'raised'],
      [newer.id, 'resolved'],
    ]);
    await publish(home, home.manager, older, textOf(id, 'acknowledged'));
    expect((await home.must('GET', './alarms?state=acknowledged')).list('events')).toMatchObject([
      { deviceId: older.id },
    ]);
  });

  test('a grant on a group is for the alarms raised in it', async ({ home }) => {
    const device = await home.device();
    const group = await home.group();
    const [outside = ''] = await home.record(device, {});
    await home.move(device, { targetRoomId: await home.room('1', group) });
    const [inside = ''] = await home.record(device, {});
    await home.move(device, { targetRoomId: null });
    const { token } = await home.token([{ role: 'responder', group }]);
    expect((await give(home, inside, 'acknowledged', undefined, token)).outcome).toBe('200');
    // One that it does not cover looks like a missing one.
    for (const id of [outside, randomUUID()]) {
      const answer = await give(home, id, 'acknowledged', undefined, token);
      expect(answer.outcome).toBe('403 forbidden');
    }
    const byViewer = await give(home, inside, 'resolved', undefined, home.viewer.token);
    expect(byViewer.outcome).toBe('403 forbidden');
  });

  test('alarms are listed by state, page by page, with a cursor for the same states only', async ({
    home,
  }) => {
    const device = await home.device();
    const ids = await home.record(device, ...Array(12).fill({}));
    await each(ids.slice(0, 6), (id) => give(home, id, 'acknowledged'));
    await each(ids.slice(3, 9), (id) => give(home, id, 'resolved'));
    const wanted = [...ids.slice(0, 3), ...ids.slice(9)].toReversed();
    for (const path of ['./alarms', `./devices/${device.id}/alarms`]) {
      const found: unknown[] = [];
      for (let cursor: unknown = ''; cursor !== null; ) {
        const query = cursor === '' ? 'state=raised,acknowledged' : 'state=acknowledged,raised';
        const more = cursor === '' ? '' : `&cursor=${cursor}`;
        const page = await home.must('GET', `${path}?limit=4&${query}${more}`);
        found.push(...page.list('events').map(({ id }) => id));
        cursor = page.at('nextCursor');
      }
      expect(found).toEqual(wanted);
    }
    const count = async (query: string) =>
      (await home.must('GET', `./alarms?${query}`)).list('events').length;
    expect(await count('state=resolved')).toBe(6);
    const cursorOf = async (state: string) =>
      (await home.must('GET', `./alarms?limit=2&state=${state}`)).string('nextCursor');
    // All of them is no filter.
    expect(await count(`cursor=${await cursorOf(ALARM_STATES.join())}`)).toBe(10);
    const cursor = await cursorOf('raised');
    const refused = ['', '&state=resolved'].map((state) => [`cursor=${cursor}${state}`, 'cursor']);
    const wrong = ['', 'open', 'raised,', 'Raised'].map((state) => [`state=${state}`, 'request']);
    for (const [query, what] of [...refused, ...wrong]) {
      const { outcome } = await home.ask('GET', `./alarms?${query}`);
      expect([query, outcome]).toEqual([query, `400 invalid-${what}`]);
    }
  });
});

describe('over MQTT', () => {
  test.for([0, 1, 2] as const)(
    'a state at QoS %i is forwarded at QoS 1 to its subscribers, with the alarm’s custom data',
    async (qos, { home }) => {
      const responder = await home.token('responder', 'Night shift');
      const device = await home.device();
      await home.customData(device, '{"ref":12345678901234567890}');
      const [all, alarms] = ['alarm-states/#', 'alarms/#'].map((rest) => home.filter(device, rest));
      const nurse = await home.nurse({ filters: [`${all}`, `${alarms}`] });
      const alarmsOnly = await home.nurse({ filters: [`${alarms}`] });
      const [id = ''] = await home.record(device, { kind: 'helpCall' });
      await home.customData(device, '{"ref":2}');
      const client = await home.client(responder);
      const topic = home.filter(device, 'alarm-states');
      for (let time = 0; time < 2; time++) {
        await client.publish(topic, textOf(id, 'acknowledged', ' coming '), { qos });
      }
      await nurse.untilCount(2);
      await home.record(device, {});
      await nurse.untilCount(3);
      const [, forwarded] = nurse.received;
      expect(forwarded).toMatchObject({ qos: 1, retain: false, dup: false });
      expect(nurse.received.map((one) => one.topic.split('/').slice(4).join('/'))).toEqual([
        'alarms/helpCall',
        'alarm-states/helpCall',
        'alarms/fall',
      ]);
      expect(forwarded?.text).toContain('"customData":{"ref":12345678901234567890}');
      expect(nurse.messages('alarm-states')).toMatchObject([
        {
          id,
          state: 'acknowledged',
          note: 'coming',
          by: { id: responder.id, name: 'Night shift' },
        },
      ]);
      await alarmsOnly.untilCount(2);
      expect(alarmsOnly.messages('alarm-states')).toEqual([]);
      expect(await stateOf(home, id)).toBe('acknowledged');
    },
  );

  const UNUSABLE: readonly [text: string, reason: string][] = [
    ['{"id":', 'not-json'],
    ['[]', 'not-an-object'],
    ['{"id":"{id}","state":"raised"}', 'invalid-alarm-state'],
    ['{"id":"7","state":"resolved"}', 'invalid-alarm-state'],
    ['{"id":"{id}","state":"resolved","note":"a\\nb"}', 'invalid-alarm-state'],
    [textOf(randomUUID(), 'resolved'), 'unknown-alarm'],
    ['{"id":"{other}","state":"resolved"}', 'unknown-alarm'],
    [`{"x":"${'x'.repeat(17 * 1024)}"}`, 'payload-too-large'],
  ];

  test('one that is unusable is acknowledged and reported; its device hears nothing of it', async ({
    home,
  }) => {
    const [device, another] = [await home.device(), await home.device()];
    const [id = ''] = await home.record(device, {});
    const [other = ''] = await home.record(another, {});
    const nurse = await home.nurse({ filters: [home.filter(device, 'rejected')] });
    const sensor = await home.client(device);
    await sensor.subscribe([`devices/${device.id}/rejected`]);
    const texts = UNUSABLE.map(([text]) => text.replace('{id}', id).replace('{other}', other));
    await publish(home, home.manager, device, ...texts);
    await nurse.untilCount(UNUSABLE.length);
    expect(nurse.messages().map(({ reason }, at) => [UNUSABLE[at]?.[0], reason])).toEqual(UNUSABLE);
    await sensor.ping();
    expect(sensor.received).toEqual([]);
    expect(await stateOf(home, id)).toBe('raised');
  });

  test('one that its sender may not give is acknowledged and dropped', async ({ home }) => {
    const device = await home.device();
    const [id = ''] = await home.record(device, {});
    const elsewhere = (await home.must('POST', '/care-homes', { json: { name: 'Elm' } })).id;
    const stranger = await home.token([{ location: elsewhere, role: 'manager' }]);
    for (const who of [home.viewer, stranger])
      await publish(home, who, device, textOf(id, 'resolved'));
    expect(await stateOf(home, id)).toBe('raised');
  });

  test('a grant on a group gives and gets the states of alarms raised in it', async ({ home }) => {
    const device = await home.device();
    const group = await home.group();
    const [outside = ''] = await home.record(device, {});
    await home.move(device, { targetRoomId: await home.room('1', group) });
    const [inside = ''] = await home.record(device, {});
    const ofGroup = await home.token([{ role: 'responder', group }]);
    const filters = [home.filter(device, 'alarm-states/#')];
    const nurse = await home.nurse({ filters, token: ofGroup });
    for (const id of [outside, inside]) {
      await publish(home, ofGroup, device, textOf(id, 'acknowledged'));
      await publish(home, home.manager, device, textOf(id, 'resolved'));
    }
    await nurse.untilCount(2);
    expect(nurse.messages().map(({ id, state }) => [id, state])).toEqual([
      [inside, 'acknowledged'],
      [inside, 'resolved'],
    ]);
  });

  test('an alarm with half a surrogate pair in its custom data has states as others', async ({
    home,
  }) => {
    const device = await home.device();
    await home.customData(device, '{"note":"cut \\ud83d"}');
    const [id = ''] = await home.record(device, {});
    await home.record(device, { id });
    expect((await give(home, id, 'acknowledged')).outcome).toBe('200');
    expect((await home.must('GET', './alarms')).list('events')).toMatchObject([
      { id, state: 'acknowledged' },
    ]);
  });

  test('no content disturbs the connection', async ({ home }) => {
    const device = await home.device();
    const [id = ''] = await home.record(device, {});
    const client = await home.client(await home.token('responder'));
    const anyText = fc.string({ unit: fc.nat(0x10ffff).map((one) => String.fromCodePoint(one)) });
    const fields = fc.record(
      {
        id: fc.oneof(fc.constant(id), fc.uuid(), fc.anything()),
        state: fc.oneof(fc.constantFrom('acknowledged', 'raised', '__proto__'), fc.anything()),
        note: fc.oneof(anyText, fc.anything()),
      },
      { requiredKeys: [] },
    );
    const texts = fc.oneof(
      fc.json(),
      anyText,
      fields.map((one) => JSON.stringify(one) ?? 'null'),
    );
    const bytes = fc.oneof(texts, fc.uint8Array({ maxLength: 100 })).map((one) => Buffer.from(one));
    const topic = home.filter(device, 'alarm-states');
    const property = fc.asyncProperty(bytes, async (payload) => {
      await client.publish(topic, payload);
    });
    await fc.assert(property, { numRuns: 100 });
    await client.publish(topic, textOf(id, 'resolved'));
    expect(await stateOf(home, id)).toBe('resolved');
  });
});

describe('guarantee 2: a state', () => {
  test('reaches an absent subscriber after its alarm, across kills of gateway and store, and is in its account', {
    timeout: 60_000,
  }, async ({ own }) => {
    const home = await own.home({ kind: 'process' });
    const device = await home.device();
    const nurse = await home.nurse({
      isDurable: true,
      filters: [home.filter(device, 'alarms/#'), home.filter(device, 'alarm-states/#')],
    });
    await nurse.leave();
    const expected: string[] = [];
    const ids: string[] = [];
    for (const isStoreKilled of [false, true]) {
      for (const id of await home.record(device, {}, {})) {
        const states = GIVEN_STATES.map((state) => textOf(id, state));
        await publish(home, home.manager, device, ...states);
        ids.push(id);
        expected.push(...['alarm', ...GIVEN_STATES].map((what) => `${id} ${what}`));
      }
      if (isStoreKilled) (await home.store()).kill();
      await home.gateway.kill();
      await home.gateway.start();
    }
    for (const id of ids) expect(await stateOf(home, id)).toBe('resolved');
    const count = expected.length;
    const waiting = { accepted: count, delivered: 0, queued: count, expired: 0, dropped: 0 };
    expect(await home.account(nurse.clientId, 'alarms')).toEqual(waiting);
    await nurse.connect();
    await nurse.untilRecords(count);
    const came = nurse.messages().map(({ id, state = 'alarm' }) => `${id} ${state}`);
    expect(came.toSorted()).toEqual(expected.toSorted());
    // Each after its alarm, in the order in which they were given.
    for (const id of ids) {
      expect(came.filter((one) => one.startsWith(id))).toEqual(
        expected.filter((one) => one.startsWith(id)),
      );
    }
    const done = { ...waiting, delivered: count, queued: 0 };
    await expect.poll(() => home.account(nurse.clientId, 'alarms')).toEqual(done);
  });

  test('is acknowledged only once stored, and answered with 503 over HTTP until then', async ({
    own,
  }) => {
    const home = await own.home();
    const device = await home.device();
    const [id = ''] = await home.record(device, {});
    const store = await home.store();
    const client = await home.client(home.manager);
    store.freeze();
    try {
      const published = client.publish(
        home.filter(device, 'alarm-states'),
        textOf(id, 'acknowledged'),
      );
      await client.ping();
      expect((await give(home, id, 'resolved')).status).toBe(503);
      expect(client.packets.filter(({ cmd }) => cmd === 'puback')).toEqual([]);
      store.thaw();
      await published;
    } finally {
      store.thaw();
    }
    expect(await stateOf(home, id)).not.toBe('raised');
  });
});
