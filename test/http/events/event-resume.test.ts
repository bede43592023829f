import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EventReader, type EventRequest } from '../../former/clients/event-reader.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { NumberedHome, range } from '../../former/numbered-home.js';
import { Store } from '../../former/stored/store.js';

const ALARMS = 300;

let gateway: GatewayProcess;
let home: NumberedHome;
let readers: EventReader[] = [];

beforeAll(async () => {
  gateway = await GatewayProcess.start();
});

beforeEach(async () => {
  home = await NumberedHome.open(gateway, 2);
});

afterEach(async () => {
  for (const reader of readers) reader.close();
  readers = [];
  await home.close();
});

afterAll(() => gateway.remove());

async function read(request: EventRequest = {}): Promise<EventReader> {
  const reader = await EventReader.open(gateway, home.viewer, {
    filters: [home.alarmFilter],
    ...request,
  });
  readers.push(reader);
  return reader;
}

/** The numbers of the sensor's alarms, in order of arrival. */
function numbersOf(reader: EventReader, deviceId: string): unknown[] {
  return reader
    .alarms()
    .filter(({ device }) => device.id === deviceId)
    .map(({ data }) => Reflect.get(Object(data), 'n'));
}

/** Expects each alarm from a number on, in order and only once. */
function expectAllFrom(first: number, reader: EventReader): void {
  for (const { device, alarms } of home.sensors) {
    expect(numbersOf(reader, device.id)).toEqual(range(first, alarms));
  }
}

/** Expects rising positions: the order is that of the log. */
function expectRisingPositions(reader: EventReader): void {
  const sequences = reader.alarms().map(({ position }) => Number(position?.split('-')[1]));
  expect(sequences).toEqual(sequences.toSorted((one, other) => one - other));
  expect(new Set(sequences).size).toBe(sequences.length);
}

describe('an event stream that resumes from Last-Event-ID', () => {
  it('sends missed events first, and nothing twice, while alarms keep coming', async () => {
    const first = await read();
    const { position } = await first.opened();
    await home.alarm(ALARMS / 2);
    const feeding = home.alarm(ALARMS / 2);
    const reader = await read({ lastEventId: position });
    expect(await reader.opened()).toEqual({ position, missed: false });
    await feeding;
    await reader.untilAlarms(ALARMS);
    expectAllFrom(0, reader);
    expectRisingPositions(reader);
    const further = await read({ lastEventId: reader.lastEventId, isInQuery: true });
    await further.opened();
    await home.alarm(2);
    await further.untilAlarms(2);
    expectAllFrom(ALARMS / 2, further);
  });

  it('misses nothing and repeats nothing when cut off again and again', async () => {
    const first = await read();
    let { position } = await first.opened();
    const feeding = home.alarm(ALARMS);
    const seen: string[] = [];
    while (seen.length < ALARMS) {
      const reader = await read({ lastEventId: position });
      expect(await reader.opened()).toEqual({ position, missed: false });
      await reader.untilAlarms(Math.min(50, ALARMS - seen.length));
      reader.close();
      seen.push(...reader.alarms().map(({ id }) => id));
      position = reader.lastEventId ?? position;
    }
    await feeding;
    await first.untilAlarms(ALARMS);
    expect(seen).toEqual(first.alarms().map(({ id }) => id));
  });

  it('misses nothing when the gateway is killed', async () => {
    const before = await read();
    await before.opened();
    await home.alarm(ALARMS);
    await before.untilAlarms(ALARMS / 2);
    const feeding = home.alarm(ALARMS);
    await gateway.kill();
    await before.untilEnd();
    await gateway.start();
    const reader = await read({ lastEventId: before.lastEventId });
    expect(await reader.opened()).toMatchObject({ missed: false });
    await feeding;
    const ids = () => new Set([...before.alarms(), ...reader.alarms()].map(({ id }) => id));
    await reader.until(() => ids().size === 2 * ALARMS);
    expect(before.alarms().length + reader.alarms().length).toBe(2 * ALARMS);
    expectRisingPositions(reader);
  });

  it('marks alarms as late only when they are', async () => {
    const first = await read();
    await home.alarm(2);
    await first.untilAlarms(2);
    const reader = await read({ lastEventId: (await first.opened()).position });
    await reader.untilAlarms(2);
    expect(reader.alarms()).toEqual(first.alarms());
  });

  it('sends live copies, and opens immediately, when the store does not answer', async () => {
    const first = await read();
    await first.opened();
    await home.alarm(2);
    await first.untilAlarms(2);
    const store = await Store.of(gateway);
    store.freeze();
    try {
      const publishing = home.sensor.alarm();
      const reader = await read({ lastEventId: first.lastEventId });
      expect(await reader.opened()).toMatchObject({ missed: false });
      await reader.until((one) => one.messages('/alarms/').length === 1);
      const [copy] = reader.messages('/alarms/');
      expect(copy?.id).toBeUndefined();
      store.thaw();
      await publishing;
      await reader.untilAlarms(1);
      expect(reader.alarms()[0]).toMatchObject({ id: Reflect.get(Object(copy?.payload), 'id') });
    } finally {
      store.thaw();
      store.close();
    }
  });
});

describe('a position that cannot be served', () => {
  async function openedAt(lastEventId: string) {
    const reader = await read({ lastEventId });
    return { reader, ...(await reader.opened()) };
  }

  it('is reported as missed, and new alarms follow, when it is of another store', async () => {
    const { position } = await (await read()).opened();
    const [, sequence, alarm] = position.split('-');
    const { reader, missed } = await openedAt(`00000000-${sequence}-${alarm}`);
    expect(missed).toBe(true);
    await home.alarm(2);
    await reader.untilAlarms(2);
    expectAllFrom(0, reader);
  });

  it('is reported as missed when it is ahead of the log', async () => {
    const { position } = await (await read()).opened();
    const [store, sequence] = position.split('-');
    const { missed, position: newest } = await openedAt(`${store}-${Number(sequence) + 1}-`);
    expect([missed, newest]).toEqual([true, position]);
  });

  it('is reported as missed when its number now belongs to another alarm', async () => {
    const first = await read();
    await home.alarm(2);
    await first.untilAlarms(2);
    const [store, sequence, alarm = ''] = (first.alarms()[0]?.position ?? '').split('-');
    const other = alarm === '00000000' ? '00000001' : '00000000';
    expect((await openedAt(`${store}-${sequence}-${other}`)).missed).toBe(true);
    expect((await openedAt(`${store}-${sequence}-${alarm}`)).missed).toBe(false);
  });

  it('is reported as missed when the log no longer reaches back to it', async () => {
    const first = await read();
    const { position } = await first.opened();
    await home.alarm(10);
    await first.untilAlarms(10);
    const alarms = first.alarms();
    const store = await Store.of(gateway);
    const [key = ''] = await store.keys('*:history');
    const sequenceOf = (text = '') => Number(text.split('-')[1]);
    await store.redis.xtrim(key, 'MINID', `${sequenceOf(alarms[5]?.position)}-0`);
    store.close();
    // A restart, so that the newest alarms are not in memory.
    await gateway.stop();
    await gateway.start();
    expect((await openedAt(position)).missed).toBe(true);
    expect((await openedAt(alarms[3]?.position ?? '')).missed).toBe(true);
    const { reader, missed } = await openedAt(alarms[4]?.position ?? '');
    expect(missed).toBe(false);
    await reader.untilAlarms(5);
    expect(reader.alarms().map(({ id }) => id)).toEqual(alarms.slice(5).map(({ id }) => id));
  });

  it('is at worst reported as missed, whatever the text', async () => {
    const { position } = await (await read()).opened();
    const [store] = position.split('-');
    const texts = fc.oneof(
      fc.string({ unit: 'grapheme-ascii', minLength: 1 }),
      fc.constantFrom(`${store}-`, `${store}--`, `${store}--1-`, `${store}-1e3-`, `${store}-0x1-`),
      fc.bigInt({ min: 10n ** 9n }).map((sequence) => `${store}-${sequence}-5b2f7d90`),
      fc.constantFrom(randomUUID(), position.repeat(50), `${position}\t`, `x${position}`),
    );
    await fc.assert(
      fc.asyncProperty(texts, fc.boolean(), async (lastEventId, isInQuery) => {
        const reader = await read({ lastEventId, isInQuery });
        expect(reader.response.statusCode).toBe(200);
        const opened = await reader.opened();
        const isUsable = lastEventId.trim() === '' || lastEventId.trim() === position;
        if (!isUsable) expect(opened).toEqual({ position, missed: true });
        reader.close();
      }),
      { numRuns: 30 },
    );
  });

  it('answers 200, 400 or 403 to a filter, whatever its text', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('#', '+/+', '$x', 'a/#')),
          {
            minLength: 1,
          },
        ),
        async (filters) => {
          const reader = await read({ filters });
          expect([200, 400, 403]).toContain(reader.response.statusCode);
          reader.close();
        },
      ),
      { numRuns: 30 },
    );
  });
});
