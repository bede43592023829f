import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  AlarmLogItem,
  NewAlarm,
  NewEvent,
  NewStateChange,
} from '../../src/delivery/log/log-item.js';
import { WaitingItems } from '../../src/delivery/log/waiting-items.js';
import { deviceContext } from '../../src/domain/messages.js';
import { newId } from '../../src/domain/notation.js';
import { numbered, numberIn } from './running-delivery.js';

const location = { id: 'l', name: 'Haus am See', order: 1 };

function alarmOf(deviceId: string, n: number): NewAlarm {
  const device = {
    id: deviceId,
    name: 'Bett 1',
    locationId: location.id,
    roomId: null,
    customData: '{}',
    order: 1,
    createdAtMs: 0,
    secretHash: '',
    limits: {},
  };
  return {
    ...numbered(n, deviceId),
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

function stateOf(deviceId: string, n: number): NewStateChange {
  return {
    ...numbered(n, deviceId),
    onOutcome: () => undefined,
    stateChange: {
      locationId: 'l',
      deviceId,
      alarmId: 'a',
      state: 'resolved',
      note: undefined,
      by: { id: 't', name: 'Token' },
      atMs: 0,
      groupIds: undefined,
      actor: { type: 'access-token', id: 't', address: null, requestId: null },
    },
  };
}

function supervisionOf(deviceId: string, n: number): NewEvent {
  const subject = {
    type: 'supervision',
    deviceId,
    state: 'silent',
    id: newId(),
    lastSeenAtMs: 0,
  } as const;
  const event = { level: 'supervision', members: '', placeText: '', atMs: 0, subject };
  return { ...numbered(n, deviceId), isNeverLate: true, event };
}

function waitingOfDevices() {
  const waiting = new WaitingItems<{ readonly item: AlarmLogItem }>();
  return {
    waiting,
    add: (device: string, n: number) => waiting.add({ item: alarmOf(device, n) }),
    addState: (device: string, n: number) => waiting.add({ item: stateOf(device, n) }),
    take: () => waiting.takeBatch().map(({ item }) => `${item.topic}${numberIn(item)}`),
  };
}

describe('items waiting to be stored', () => {
  it('keep their order if they are to be stored again, and share a batch with no other item about the same device', () => {
    const { waiting, take } = waitingOfDevices();
    const items = [alarmOf('a', 0), alarmOf('a', 1), alarmOf('b', 2)];
    const events = [supervisionOf('a', 3), supervisionOf('b', 4), supervisionOf('a', 5)];
    for (const item of [...items, ...events, alarmOf('a', 6)]) waiting.addBehind({ item });
    const batches = [take(), take(), take(), take(), take()];
    expect(batches).toEqual([['a0', 'a1', 'b2'], ['a3', 'b4'], ['a5'], ['a6'], []]);
  });

  it('let the first of a device pass a flood, even when it has sent before', () => {
    const { add, take } = waitingOfDevices();
    for (let n = 0; n < 600; n++) add('flood', n);
    add('fall', 1);
    expect(take().slice(0, 2)).toEqual(['flood0', 'fall1']);
    add('fall', 2);
    add('fall', 3);
    const batch = take();
    expect([batch.length, batch[0], batch[1]]).toEqual([250, 'fall2', 'flood249']);
    expect(take().at(-1)).toBe('fall3');
    expect(take()).toEqual([]);
  });

  it('are stored alone when they change a state, in the order of their device', () => {
    const { add, addState, take } = waitingOfDevices();
    for (const n of [1, 2]) add('bed', n);
    addState('bed', 3);
    add('bed', 4);
    addState('door', 1);
    const batches = [];
    for (let batch = take(); batch.length > 0; batch = take()) batches.push(batch);
    expect(batches).toEqual([['bed1'], ['door1'], ['bed2'], ['bed3'], ['bed4']]);
  });

  it('stay in the order of their device, whoever sends how much', () => {
    const step = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({ device: fc.constantFrom('a', 'b', 'c'), count: fc.nat(400) }),
      },
      { weight: 3, arbitrary: fc.constant('take' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { waiting, add } = waitingOfDevices();
        const sent = new Map<string, number>();
        const stored = new Map<string, number>();
        const take = () => {
          for (const { item } of waiting.takeBatch()) {
            const n = numberIn(item);
            expect(n).toBe((stored.get(item.topic) ?? 0) + 1);
            stored.set(item.topic, n);
          }
        };
        for (const one of steps) {
          if (one === 'take') take();
          else {
            for (let left = one.count; left > 0; left--) {
              const n = (sent.get(one.device) ?? 0) + 1;
              sent.set(one.device, n);
              add(one.device, n);
            }
          }
        }
        while (waiting.size > 0) take();
        expect(stored).toEqual(new Map([...sent].filter(([, n]) => n > 0)));
      }),
      { numRuns: 25 },
    );
  });
});
