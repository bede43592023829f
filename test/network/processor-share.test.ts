import { setImmediate as nextImmediate, setTimeout } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ProcessorShare, type ShareUser, shareFault } from '../../src/network/processor-share.js';
import { SiteModel } from '../../src/site/site-model.js';

/** Works for this long in each turn, this many times, and notes its name. */
function worker(turns: ProcessorShare, line: string, times: number, done: string[], workMs = 0) {
  const taker: ShareUser & { left: number } = {
    line,
    left: times,
    takeTurn() {
      done.push(line);
      const untilMs = performance.now() + workMs;
      while (performance.now() < untilMs);
      taker.left--;
      if (taker.left > 0) turns.want(taker);
    },
  };
  return taker;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setTimeout(1);
}

it('gives a network of one connection as many turns as one of a hundred', async () => {
  const turns = new ProcessorShare();
  const done: string[] = [];
  for (let index = 0; index < 100; index++) turns.want(worker(turns, '192.0.2.1', 5, done));
  turns.want(worker(turns, '192.0.2.2', 5, done));
  await until(() => done.length === 505);
  expect(done.slice(0, 10)).toEqual(Array(5).fill(['192.0.2.1', '192.0.2.2']).flat());
});

it('leaves half of the time to others on the event loop', async () => {
  const turns = new ProcessorShare();
  const done: string[] = [];
  for (let index = 0; index < 100; index++) turns.want(worker(turns, 'flood', 2, done, 1));
  const startedAtMs = performance.now();
  let mostAtOnce = 0;
  while (done.length < 200) {
    const before = done.length;
    await nextImmediate();
    mostAtOnce = Math.max(mostAtOnce, done.length - before);
  }
  expect(performance.now() - startedAtMs).toBeGreaterThan(350);
  expect(mostAtOnce).toBeLessThan(10);
});

it('counts the promises of a turn towards its time', async () => {
  const turns = new ProcessorShare();
  let rounds = 0;
  let handled = 0;
  for (let index = 0; index < 30; index++) {
    turns.want({
      line: 'flood',
      takeTurn: () => {
        void Promise.resolve().then(() => {
          const untilMs = performance.now() + 5;
          while (performance.now() < untilMs);
          handled++;
        });
      },
    });
  }
  while (handled < 30) {
    rounds++;
    await nextImmediate();
  }
  expect(rounds).toBeGreaterThanOrEqual(30);
});

it('lets four requests of a client wait for the store at a time, without delaying others', async () => {
  const turns = new ProcessorShare();
  const asked: string[] = [];
  const releases: (() => void)[] = [];
  const ask = (line: string) =>
    turns.want({
      line,
      takeTurn: () => {
        asked.push(line);
        releases.push(turns.hold(line));
      },
    });
  for (let index = 0; index < 6; index++) ask('slow');
  await until(() => asked.length === 4);
  for (let index = 0; index < 3; index++) ask('other');
  await until(() => asked.length === 7);
  expect(asked).toEqual([...Array(4).fill('slow'), ...Array(3).fill('other')]);
  const [first] = releases;
  // Ending it twice counts once; one that never ends counts for a quarter of a second.
  first?.();
  first?.();
  await until(() => asked.length === 8);
  expect(asked.at(-1)).toBe('slow');
  const startedAtMs = performance.now();
  await until(() => asked.length === 9);
  expect(performance.now() - startedAtMs).toBeGreaterThan(100);
});

it('forgets a user that leaves', async () => {
  const turns = new ProcessorShare();
  const done: string[] = [];
  const gone = worker(turns, 'gone', 1, done);
  turns.want(gone);
  turns.want(worker(turns, 'there', 1, done));
  turns.leave(gone);
  await until(() => done.length === 1);
  expect(done).toEqual(['there']);
});

it('reports who used how much', async () => {
  const turns = new ProcessorShare();
  const done: string[] = [];
  let nowMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  for (const [line, workMs] of [
    ['heavy', 3],
    ['light', 1],
  ] as const) {
    const user: ShareUser = {
      line,
      takeTurn() {
        done.push(line);
        nowMs += workMs;
        if (done.length < 20) turns.want(user);
      },
    };
    turns.want(user);
  }
  await until(() => done.length >= 20);
  await nextImmediate();
  const { pausedMs, usedMs } = turns.takeUsage();
  expect(Object.fromEntries(usedMs)).toEqual({ heavy: 30, light: 10 });
  expect(pausedMs).toBeGreaterThan(10);
  expect(turns.takeUsage().usedMs.size).toBe(0);
});

const usedMs = (tokenMs: number) =>
  new Map([
    ['address:192.0.2.1', 600],
    ['token:t-1', tokenMs],
  ]);

it.each([
  ['uses a quarter of the processor, though nobody waits', 1_300, 0],
  ['asks for most of it, when work had to pause', 700, 1_300],
])('names the client that %s', (_what, tokenMs, pausedMs) => {
  const takeUsage = () => ({ pausedMs, usedMs: usedMs(tokenMs) });
  const fault = shareFault({ takeUsage }, new SiteModel());
  expect(fault).toMatchObject({
    code: 'processor-busy',
    subject: { type: 'access-token', id: 't-1' },
  });
});

it('names nobody while there is enough for everybody', () => {
  const takeUsage = () => ({ pausedMs: 700, usedMs: usedMs(700) });
  expect(shareFault({ takeUsage }, new SiteModel())).toBeUndefined();
  expect(shareFault(new ProcessorShare(), new SiteModel())).toBeUndefined();
});
