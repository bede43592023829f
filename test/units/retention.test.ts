/** What is too old is looked for at each start and at an interval, whatever happened the last time. */
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { GatewayError } from '../../src/errors.js';
import { runRetention } from '../../src/releasers.js';

const HOUR_MS = 3_600_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('goes on after a failure, waits for a run that takes long, and stops when told', async () => {
  const logged: string[] = [];
  const log = pino({}, { write: (line: string) => logged.push(line) });
  const stoppings: AbortSignal[] = [];
  let answer: (removed: number) => void = () => undefined;
  const answers = [
    () => Promise.reject(new GatewayError('store-unavailable', 'The store does not answer.')),
    () => Promise.resolve(3),
    () =>
      new Promise<number>((resolve) => {
        answer = resolve;
      }),
  ];
  const removeOld = (stopping: AbortSignal) => {
    stoppings.push(stopping);
    return answers[stoppings.length - 1]?.() ?? Promise.resolve(0);
  };
  const stop = runRetention({ removeOld }, { what: 'recordings', intervalMs: HOUR_MS, log });
  await vi.advanceTimersByTimeAsync(0);
  expect(logged).toEqual([expect.stringContaining('failed to remove old recordings')]);
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  expect(logged[1]).toMatch(/"removed":3.*removed old recordings/);
  // The third waits for the store.
  await vi.advanceTimersByTimeAsync(5 * HOUR_MS);
  expect(stoppings).toHaveLength(3);
  answer(0);
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  expect(stoppings).toHaveLength(4);
  stop();
  expect(stoppings.every(({ aborted }) => aborted)).toBe(true);
  await vi.advanceTimersByTimeAsync(5 * HOUR_MS);
  expect(stoppings).toHaveLength(4);
  expect(logged).toHaveLength(2);
});
