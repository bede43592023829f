import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { DurableConsumer } from '../../src/delivery/deliveries.js';
import type { Appended } from '../../src/delivery/log/batch.js';
import { LiveCopies } from '../../src/delivery/log/live-copies.js';
import type { AlarmLogItem, NewAlarm } from '../../src/delivery/log/log-item.js';
import { LogWriter } from '../../src/delivery/log/log-writer.js';
import { deviceContext } from '../../src/domain/messages.js';
import { newId } from '../../src/domain/notation.js';
import {
  batchesOf,
  Connection,
  numbered,
  numberIn,
  RunningDelivery,
  silent,
} from './running-delivery.js';

const location = { id: 'home', name: 'Haus am See', order: 1 };
const device = {
  id: 'bed',
  name: 'Bett 1',
  locationId: location.id,
  roomId: null,
  customData: '{}',
  order: 1,
  createdAtMs: 0,
  secretHash: '',
  limits: {},
};

let delivery: RunningDelivery;
let connection: Connection;
let writer: LogWriter<AlarmLogItem, DurableConsumer>;
let liveCopies: LiveCopies;
/** Functions that each make the store accept a batch. */
let answers: (() => void)[];
/** Alarms that the store has lost and memory still has. */
let lost: NewAlarm[];

beforeEach(async () => {
  vi.useFakeTimers();
  delivery = await RunningDelivery.begin();
  const { deliveries } = delivery;
  connection = new Connection();
  (await delivery.subscribed('nurse', 'a')).connect(connection);
  await vi.advanceTimersByTimeAsync(0);
  answers = [];
  lost = [];
  let last = 0;
  const append = async (alarms: readonly AlarmLogItem[]): Promise<Appended[]> => {
    if (lost.length > 0) throw new Error('WENTBACK 0');
    await new Promise<void>((resolve) => answers.push(resolve));
    return alarms.map(() => ({ sequence: ++last, isNew: true }));
  };
  writer = new LogWriter<AlarmLogItem, DurableConsumer>({
    log: 'alarms' as const,
    store: batchesOf(append),
    deliveries,
    logger: silent,
    onWentBack: () => lost.splice(0),
    onOutage: () => undefined,
    onHeldBack: () => undefined,
  });
  liveCopies = new LiveCopies(writer, deliveries);
  liveCopies.start();
});

afterEach(() => {
  liveCopies.stop();
  writer.stop();
  vi.useRealTimers();
});

function alarm(n: number): NewAlarm {
  return {
    ...numbered(n, 'a'),
    alarm: {
      id: newId(),
      kind: 'fall',
      detectedAtMs: 0,
      reportedAt: undefined,
      footage: {},
      data: undefined,
      idIsStable: true,
    },
    context: deviceContext(device, location, null, null),
    wallReceivedAtMs: 0,
    receipt: undefined,
    isSent: false,
  };
}

function append(n: number): void {
  writer.append(alarm(n), () => undefined);
}

/** The sent alarms by number and QoS. */
function sent(): [n: number, qos: number][] {
  return connection.sent.map((publish) => [numberIn(publish), publish.qos]);
}

it('sends alarms at QoS 0 in order when they are not stored in time', async () => {
  for (const n of [1, 2, 3]) append(n);
  // The first alarm is its own batch and is stored in time; the others wait for the next answer.
  await vi.advanceTimersByTimeAsync(200);
  answers.shift()?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(sent()).toEqual([[1, 1]]);
  await vi.advanceTimersByTimeAsync(300);
  expect(sent().slice(1)).toEqual([
    [2, 0],
    [3, 0],
  ]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sent()).toHaveLength(3);
  answers.shift()?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(sent().slice(3)).toEqual([
    [2, 1],
    [3, 1],
  ]);
});

it('sends each copy when its own time is up, and none after the stop', async () => {
  append(1);
  await vi.advanceTimersByTimeAsync(300);
  append(2);
  await vi.advanceTimersByTimeAsync(150);
  expect(sent()).toEqual([[1, 0]]);
  liveCopies.stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sent()).toEqual([[1, 0]]);
});

it('sends none of an alarm that is stored again after the store lost it', async () => {
  lost = [alarm(1)];
  append(2);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sent()).toEqual([[2, 0]]);
});

it('sends one to each client that connects or subscribes while the store is away', async () => {
  append(1);
  await vi.advanceTimersByTimeAsync(500);
  const later = [new Connection(), new Connection()];
  (await delivery.subscribed('ward', 'a')).connect(later[0] ?? new Connection());
  const unsubscribed = await delivery.subscribed('night');
  unsubscribed.connect(later[1] ?? new Connection());
  await vi.advanceTimersByTimeAsync(100);
  expect(later.map((one) => one.sent.map(numberIn))).toEqual([[1], []]);
  await delivery.subscribe('night', [{ filter: '#', qos: 1 }]);
  await vi.advanceTimersByTimeAsync(100);
  append(2);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(later.map((one) => one.sent.map(numberIn))).toEqual([
    [1, 2],
    [1, 2],
  ]);
  expect(sent()).toEqual([
    [1, 0],
    [2, 0],
  ]);
});

it('sends it later to a connection that is briefly full', async () => {
  connection.isWritable = false;
  append(1);
  append(2);
  await vi.advanceTimersByTimeAsync(600);
  expect(sent()).toEqual([]);
  connection.isWritable = true;
  await vi.advanceTimersByTimeAsync(100);
  expect(sent()).toEqual([
    [1, 0],
    [2, 0],
  ]);
});

it('sends it again to a durable session that comes back over a new connection meanwhile', async () => {
  append(1);
  await vi.advanceTimersByTimeAsync(500);
  expect(sent()).toEqual([[1, 0]]);
  const nurse = await delivery.subscribed('nurse', 'a');
  const again = new Connection();
  nurse.disconnect(connection);
  nurse.connect(again);
  await vi.advanceTimersByTimeAsync(100);
  expect(again.sent.map((publish) => [numberIn(publish), publish.qos])).toEqual([[1, 0]]);
});
