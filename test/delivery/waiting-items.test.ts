import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NewStateChange } from '../../src/delivery/log/log-entry.js';
import { WaitingItems } from '../../src/delivery/log/waiting-items.js';
import { numbered, numberIn } from './running-delivery.js';

/** An item of a device, for the log of alarms. */
function itemOf(deviceId: string, n: number): NewStateChange {
  return {
    ...numbered(n, deviceId),
    onOutcome: () => undefined,
    stateChange: {
      ...{ locationId: 'l', deviceId, alarmId: 'a', state: 'resolved', note: undefined },
      ...{ by: { id: 't', name: 'Token' }, atMs: 0, groupIds: undefined },
      actor: { type: 'access-token', id: 't', address: null, requestId: null },
    },
  };
}

function waitingOfDevices() {
  const waiting = new WaitingItems<{ readonly item: NewStateChange }>();
  return {
    waiting,
    add: (device: string, n: number) => waiting.add({ item: itemOf(device, n) }),
    take: () => waiting.takeBatch().map(({ item }) => `${item.topic}${numberIn(item)}`),
  };
}

describe('items that wait to be stored', () => {
  it('let the first of a device pass a flood, also when it has sent before', () => {
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
