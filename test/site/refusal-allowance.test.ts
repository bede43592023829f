import { expect, it } from 'vitest';
import { RefusalAllowance } from '../../src/site/refusal-allowance.js';

function start() {
  const clock = { nowMs: 1_000, perLookMs: 0 };
  const allowance = new RefusalAllowance(() => {
    clock.nowMs += clock.perLookMs;
    return clock.nowMs;
  });
  return { clock, allowance };
}

it('is a thousand at once, then ten a second, never more than a thousand', () => {
  const { clock, allowance } = start();
  expect(allowance.take('a', 999)).toBeUndefined();
  expect(allowance.take('a', 1)).toBeUndefined();
  expect(allowance.take('a', 1)).toMatchObject({ waitMs: 100 });
  clock.nowMs += 99;
  expect(allowance.take('a', 1)).toBeDefined();
  clock.nowMs += 1;
  expect(allowance.take('a', 1)).toBeUndefined();
  clock.nowMs += 3_600_000;
  expect(allowance.take('a', 1_000)).toBeUndefined();
  expect(allowance.take('a', 1)).toBeDefined();
});

it('is counted by a clock that goes on between two looks at it', () => {
  const { clock, allowance } = start();
  clock.perLookMs = 0.001;
  expect(allowance.take('a', 1_000)).toBeUndefined();
  expect(allowance.take('a', 1)).toBeDefined();
});

it('is taken as a whole or not at all, and is there when the wait is over', () => {
  const { clock, allowance } = start();
  allowance.take('a', 700);
  const excess = allowance.take('a', 500);
  expect(excess).toMatchObject({ waitMs: 20_000 });
  expect(allowance.take('a', 300)).toBeUndefined();
  clock.nowMs += 50_000;
  expect(allowance.take('a', 500)).toBeUndefined();
});

it('is of each principal alone', () => {
  const { allowance } = start();
  allowance.take('a', 1_000);
  expect(allowance.take('b', 1_000)).toBeUndefined();
  expect(allowance.take('a', 1)).toBeDefined();
});

it('is to be said once a minute that somebody has none left', () => {
  const { clock, allowance } = start();
  allowance.take('a', 1_000);
  const news = () => allowance.take('a', 1_000)?.isNews;
  expect([news(), news()]).toEqual([true, false]);
  clock.nowMs += 59_999;
  expect(news()).toBe(false);
  clock.nowMs += 1;
  expect([news(), news()]).toEqual([true, false]);
});

it('is not remembered of whoever has regained it', () => {
  const { clock, allowance } = start();
  for (let count = 0; count < 50; count++) allowance.take(`${count}`, 10);
  expect(allowance.size).toBe(50);
  clock.nowMs += 999;
  allowance.take('a', 1);
  expect(allowance.size).toBe(51);
  clock.nowMs += 1;
  allowance.take('a', 1);
  expect(allowance.size).toBe(1);
});

it('is remembered of ten thousand: beyond that who was refused last is not forgotten', () => {
  const { allowance } = start();
  allowance.take('first', 1_000);
  allowance.take('second', 1_000);
  allowance.take('first', 1);
  for (let count = 0; count < 9_999; count++) allowance.take(`${count}`, 1);
  expect(allowance.size).toBe(10_000);
  expect(allowance.take('first', 1)).toBeDefined();
  expect(allowance.take('second', 1)).toBeUndefined();
});
