import fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { LOG_NAMES } from '../../src/delivery/log-entry.js';
import { RedisServer } from '../harness/redis-server.js';
import { PEERS, type Peer, Run } from './model.js';
import { RedisLogs } from './redis-logs.js';
import { ArrayLogs, type TestLogs } from './world.js';

interface Step {
  readonly text: string;
  readonly run: (run: Run) => void | Promise<void>;
  /** For the counterexample. */
  readonly [fc.toStringMethod]: () => string;
}

function step(text: string, run: Step['run']): Step {
  return { text, run, [fc.toStringMethod]: () => text };
}

function peerOf(run: Run, name: string): Peer {
  const peer = run.peers.find((one) => one.name === name);
  if (peer === undefined) throw new Error(name);
  return peer;
}

const log = fc.constantFrom(...LOG_NAMES, 'alarms' as const);
const name = fc.constantFrom(...PEERS.map(({ name }) => name));
const steps: fc.Arbitrary<Step>[] = [
  fc
    .tuple(
      log,
      fc.constantFrom('both', 'both', 'one', 'two', 'none'),
      fc.integer({ min: 1, max: 7 }),
    )
    .map(([log, first, count]) =>
      step(`append ${count} ${first}/${log}`, async (run) => {
        for (let left = count; left > 0; left--) await run.append(log, `${first}/${log}`);
      }),
    ),
  fc.tuple(name, fc.nat({ max: 9 }), fc.integer({ min: 1, max: 4 })).map(([name, which, count]) =>
    step(`${name} acknowledges ${count}, by ${which}`, (run) => {
      for (let left = count; left > 0; left--) run.acknowledge(peerOf(run, name), which);
    }),
  ),
  name.map((name) => step(`${name} connects`, (run) => run.connect(peerOf(run, name)))),
  name.map((name) => step(`${name} disconnects`, (run) => run.disconnect(peerOf(run, name)))),
  fc.tuple(name, fc.boolean()).map(([name, isWritable]) =>
    step(`${name} is ${isWritable ? '' : 'not '}writable`, (run) => {
      run.setWritable(peerOf(run, name), isWritable);
    }),
  ),
  fc.constant(
    step('read', (run) => {
      run.answer(true);
    }),
  ),
  fc.constant(
    step('fail to read', (run) => {
      run.answer(false);
      run.world.router.wakeAll();
    }),
  ),
  fc.integer({ min: 0, max: 700 }).map((ms) => step(`${ms} ms pass`, (run) => run.age(ms))),
  fc.constant(step('sweep and trim', (run) => run.world.keeper.keep())),
  fc.constant(step('save', (run) => run.world.save())),
  fc.constant(step('tails are forgotten', (run) => run.world.forgetTails())),
  fc.boolean().map((isKill) => step(isKill ? 'kill' : 'stop', (run) => run.restart(isKill))),
];

const NOTHING_AGES = steps.filter((_, index) => index !== 7);

async function runAll(logs: TestLogs, schedule: readonly Step[]): Promise<void> {
  const run = new Run(logs);
  await run.begin();
  for (const { run: take } of schedule) {
    await take(run);
    await logs.idle();
    run.check();
  }
  await run.drain();
}

function schedules(from: readonly fc.Arbitrary<Step>[]): fc.Arbitrary<Step[]> {
  return fc.array(fc.oneof(...from), { maxLength: 60, size: 'max' });
}

const KINDS = [
  ['with nothing ageing', NOTHING_AGES],
  ['with everything', steps],
] as const;

describe('destinations over a log in memory, against a model', () => {
  it.each(KINDS)('account for every entry, in order: %s', async (_what, from) => {
    const property = fc.asyncProperty(schedules(from), (schedule) =>
      runAll(new ArrayLogs(), schedule),
    );
    await fc.assert(property, { numRuns: 600 });
  });
});

describe('destinations over the log in Redis, against the same model', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.remove());

  it.each(KINDS)('account for every entry, in order: %s', async (_what, from) => {
    const property = fc.asyncProperty(schedules(from), (schedule) =>
      runAll(new RedisLogs(server.redis), schedule),
    );
    await fc.assert(property, { numRuns: 60 });
  });
});
