import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ArrayLogs } from './array-logs.js';
import { BRIDGE, DEVICES, Run } from './model.js';
import { numberIn } from './running-delivery.js';

const BACKLOG = 30;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function deviceOf(n: number): string {
  return DEVICES[n % DEVICES.length] ?? '';
}

/** A bridge that was away while the devices published in turn, and has reconnected. */
async function withBacklog(logs: ArrayLogs) {
  const run = await Run.begin(logs, [BRIDGE]);
  await run.buildBacklog(BACKLOG);
  return { run, bridge: run.peer(BRIDGE.name) };
}

it('guarantee 3: a new alarm goes ahead of other devices’ backlog, after that of its own device', async () => {
  const logs = new ArrayLogs();
  const { run, bridge } = await withBacklog(logs);
  const isNew = BACKLOG + 1;
  await run.append('alarms', deviceOf(0));
  const seen: number[] = [];
  while (!seen.includes(isNew)) {
    const isAnswered = run.answer(true);
    await logs.idle();
    run.check();
    const sent = bridge.connection?.sent ?? [];
    seen.push(...sent.slice(seen.length).map(numberIn));
    if (!isAnswered && !run.acknowledge(bridge, 0)) break;
  }
  const ofDevice = (n: number) => n % DEVICES.length === 1;
  expect(seen.filter(ofDevice)).toEqual([1, 4, 7, 10, 13, 16, 19, 22, 25, 28, isNew]);
  // Other alarms went before there was a new one; far from all of them.
  expect(seen.filter((n) => !ofDevice(n)).length).toBeLessThan(8);
  await run.drain();
});

it('guarantee 3: one device’s alarms stay in order when the line is cut again and again while they are replayed', async () => {
  const logs = new ArrayLogs();
  const { run, bridge } = await withBacklog(logs);
  for (let cut = 0; cut < 20; cut++) {
    for (let turn = 0; turn < 4; turn++) {
      await run.append('alarms', deviceOf(cut));
      run.answer(true);
      await logs.idle();
      for (let left = 0; left < 3; left++) run.acknowledge(bridge, 0);
      run.check();
    }
    run.disconnect(bridge);
    await run.append('alarms', deviceOf(cut), 2);
    run.connect(bridge);
    run.check();
  }
  await run.drain();
});
