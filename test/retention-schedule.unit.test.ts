import { pino } from 'pino';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../src/errors.js';
import { type Retention, runRetention } from '../src/retention-schedule.js';

const HOUR_MS = 3_600_000;
const log = pino({}, { write: (line: string) => logged.push(line) });

let logged: string[];
beforeEach(() => {
  logged = [];
});

function start(removeOld: Retention['removeOld'], intervalMs: number): () => void {
  const stop = runRetention({ removeOld }, { what: 'recordings', intervalMs, log });
  onTestFinished(stop);
  return stop;
}

it('runs the retention immediately, and logs the number removed', async () => {
  start(async () => 3, HOUR_MS);
  await expect.poll(() => logged.join('')).toContain('removed old recordings');
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('"removed":3');
});

it('logs a failure and retries', async () => {
  let calls = 0;
  const removeOld = async () => {
    calls++;
    if (calls === 1) throw new GatewayError('store-unavailable', 'The store does not answer.');
    return calls === 2 ? 1 : 0;
  };
  start(removeOld, 10);
  await expect.poll(() => logged.length).toBe(2);
  expect(logged[0]).toContain('failed to remove old recordings');
  expect(logged[1]).toContain('"removed":1');
});

it('aborts the current run, and starts no other, when stopped', async () => {
  const signals: AbortSignal[] = [];
  const removeOld = async (stopping: AbortSignal) => {
    signals.push(stopping);
    return 0;
  };
  const stop = start(removeOld, 10);
  await expect.poll(() => signals.length).toBeGreaterThan(1);
  stop();
  const calls = signals.length;
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
  let laterCalls = 0;
  start(async () => laterCalls++, 10);
  await expect.poll(() => laterCalls).toBeGreaterThan(3);
  expect(signals).toHaveLength(calls);
});

it('starts no second run while one waits for the store', async () => {
  let calls = 0;
  let answer: () => void = () => undefined;
  const removeOld = () => {
    calls++;
    return new Promise<number>((resolve) => {
      answer = () => resolve(0);
    });
  };
  start(removeOld, 10);
  let ticks = 0;
  start(async () => ticks++, 10);
  await expect.poll(() => ticks).toBeGreaterThan(5);
  expect(calls).toBe(1);
  answer();
  await expect.poll(() => calls).toBe(2);
});
