import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { NewAlarm } from '../../../src/delivery/log/log-item.js';
import { parseAlarm } from '../../../src/domain/alarm-payload.js';
import { ALARM_KINDS } from '../../../src/domain/alarms.js';
import { deviceContext } from '../../../src/domain/messages.js';
import { newId } from '../../../src/domain/notation.js';
import { keysOf } from '../../../src/store/keys.js';
import { newAlarm } from '../../former/clients/new-alarm.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { StoredLogs } from '../../former/stored/stored-logs.js';
import { AlarmWorld } from './alarm-world.js';

const place = useRedis();
const START_MS = Date.UTC(2026, 0, 1);
const STEADY_BEHIND_MS = 7_000_000_000;

/** JSON values as people and machines write them. */
const jsonText = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.constantFrom('1.10', '9007199254740993', '-0', '1e400', '"\\u00fc\\/"', '[ 1 ,\t2 ]', 'null'),
);
const objectText = fc
  .array(fc.tuple(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant('__proto__')), jsonText))
  .map((members) => {
    const parts = members.map(([key, value]) => ` ${JSON.stringify(key)} :${value}`);
    return `{${parts.join(',')}\n}`;
  });
const named = fc.record({
  id: fc.constant(null).map(() => newId()),
  name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 120 }),
});
const detectedAt = fc.oneof(
  fc.constant(undefined),
  fc
    .integer({ min: -1e12, max: 1e9 })
    .map((ms) => JSON.stringify(new Date(START_MS + ms).toISOString())),
  fc.constantFrom('"2026-01-01T01:00:00.1239+01:00"', '12', '"morgen"', '{"a":1.10}', 'null'),
);
const footage = fc.array(fc.constantFrom('video', 'audio'), { maxLength: 2 });

const someAlarm = fc.record({
  device: named,
  location: named,
  room: fc.option(named),
  group: fc.option(named),
  customData: objectText,
  data: objectText,
  detectedAt,
  footage,
  kind: fc.constantFrom(...ALARM_KINDS),
  hasId: fc.boolean(),
  isKeyLong: fc.boolean(),
  afterMs: fc.integer({ min: 0, max: 1e10 }),
});
type SomeAlarm = typeof someAlarm extends fc.Arbitrary<infer One> ? One : never;

/** The alarm as its device would publish it, accepted as the gateway does. */
function accepted({ data, customData, footage: types, ...some }: SomeAlarm): NewAlarm {
  const base = { order: 1, locationId: some.location.id };
  const { device, room, group } = some;
  const context = deviceContext(
    {
      ...base,
      ...device,
      roomId: room?.id ?? null,
      customData,
      createdAtMs: 0,
      secretHash: '',
      limits: {},
    },
    { ...some.location, order: 1 },
    room && { ...base, ...room, groupId: group?.id ?? null },
    group && { ...base, ...group },
  );
  const prefix = some.isKeyLong ? `devices/${device.id}` : device.id;
  const keys = types.map((type) => `"${type}":"${prefix}/${device.id}/1"`);
  const members = [
    `"kind":"${some.kind}"`,
    `"footage":{${keys.join(',')}}`,
    ...(some.hasId ? [`"id":"${newId()}"`] : []),
    ...(some.detectedAt === undefined ? [] : [`"detectedAt":${some.detectedAt}`]),
    ...(data.trim() === '{\n}' ? [] : [data.slice(1, -1)]),
  ];
  const receivedAtMs = START_MS + some.afterMs;
  const result = parseAlarm(Buffer.from(`{${members.join(',')}}`), {
    deviceId: device.id,
    kind: undefined,
    receivedAtMs,
  });
  fc.pre('alarm' in result);
  const alarm = newAlarm(result.alarm, context, receivedAtMs);
  return { ...alarm, receivedAtMs: receivedAtMs - STEADY_BEHIND_MS };
}

/** The entry with a character for each byte of its payload: Vitest is very slow at comparing buffers. */
function readable<Entry extends { readonly payload: Buffer }>(entry: Entry) {
  return { ...entry, payload: entry.payload.toString('latin1') };
}

it('renders stored alarms byte for byte as they were forwarded live', async () => {
  const world = new AlarmWorld(place);
  const batches = fc.array(someAlarm, { minLength: 1, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(batches, async (some) => {
      const sent = some.map(accepted);
      const keys = keysOf(newId());
      const logs = new StoredLogs(world.redis, keys);
      const appended = await logs.append(sent);
      const live = sent.flatMap(({ topic, payload, receivedAtMs, locationId, groupId }, at) => {
        const { sequence = 0, isNew = false } = appended[at] ?? {};
        const entry = { topic, payload, receivedAtMs, locationId, groupId };
        return isNew ? [readable({ log: 'alarms', sequence, item: 0, ...entry })] : [];
      });
      expect(live.length).toBe(sent.length);
      // Reads first without the places in memory, then with them.
      expect((await logs.read(0, 100)).map(readable)).toEqual(live);
      const [last] = await logs.pick([live.length]);
      expect(last?.payload.toString('latin1')).toBe(live.at(-1)?.payload);
    }),
    { numRuns: 60 },
  );
});

it('shows an alarm in the history with the names at the time of its receipt', async () => {
  const world = new AlarmWorld(place);
  await fc.assert(
    fc.asyncProperty(someAlarm, async (some) => {
      const sent = accepted(some);
      await world.logs.append([sent]);
      const { alarm, context, wallReceivedAtMs } = sent;
      const { alarms } = await world.page({ locationId: context.location.id });
      const { idIsStable: _, ...shown } = alarm;
      const { device, location, room, group } = some;
      expect(alarms).toEqual([
        expect.objectContaining({ ...shown, device, location, room, group }),
      ]);
      expect(alarms[0]).toMatchObject({
        receivedAtMs: wallReceivedAtMs,
        customData: some.customData,
      });
    }),
    { numRuns: 40 },
  );
});
