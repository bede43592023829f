import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, expect, it } from 'vitest';
import { BackPressure, UnstoredPublishes } from '../../../src/broker/budgets/unstored-publishes.js';

const MIB = 1024 * 1024;

let acknowledged: number[];
let isEnded: boolean;
let unstored: UnstoredPublishes;

beforeEach(() => {
  acknowledged = [];
  isEnded = false;
  const backPressure = new BackPressure(() => 0);
  unstored = new UnstoredPublishes({
    backPressure,
    share: backPressure.shareOf('device:1'),
    writer: { acknowledge: (_type, identifier) => acknowledged.push(identifier) },
    end: () => {
      isEnded = true;
    },
  });
});

function take(packetIdentifier: number): (isStored: boolean) => void {
  return unstored.take({ bytes: 100, acknowledgement: 'puback', packetIdentifier });
}

it('acknowledges publishes in order even when they are stored out of order', () => {
  const [first, second, third] = [take(1), take(2), take(3)];
  second(true);
  expect(acknowledged).toEqual([]);
  first(true);
  expect(acknowledged).toEqual([1, 2]);
  third(true);
  take(4)(true);
  expect(acknowledged).toEqual([1, 2, 3, 4]);
});

it('ends the connection when a publish is not stored', () => {
  take(1)(false);
  expect([isEnded, acknowledged]).toEqual([true, []]);
});

it('takes no more memory as a client keeps publishing without a pause', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const heapBytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  let previous = take(0);
  const before = heapBytes();
  for (let count = 1; count <= 200_000; count++) {
    const next = take(count % 65_535);
    previous(true);
    previous = next;
    acknowledged.length = 0;
  }
  expect(heapBytes() - before).toBeLessThan(2 * MIB);
});
