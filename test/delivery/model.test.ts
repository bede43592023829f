import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it, vi } from 'vitest';
import { LOG_NAMES } from '../../src/delivery/log/log-entry.js';
import { RedisServer } from '../harness/redis-server.js';
import { ArrayLogs, type TestLogs } from './array-logs.js';
import { BRIDGE, DEVICES, filterOf, PEERS, type PeerOptions, Run, SLOW_BRIDGE } from './model.js';
import { RedisLogs } from './redis-logs.js';

interface Step {
  readonly text: string;
  readonly run: (run: Run) => unknown;
  /** The step's text in a counterexample. */
  readonly [fc.toStringMethod]: () => string;
}

function step(text: string, run: Step['run']): Step {
  return { text, run, [fc.toStringMethod]: () => text };
}

/** Saves until the store goes away. */
async function saveSome(run: Run, writes: number): Promise<void> {
  run.store.writesLeft = writes;
  await run.delivery.sessions.saveAll().catch(() => undefined);
  run.store.writesLeft = Number.POSITIVE_INFINITY;
}

const RUNS = Number(process.env['MODEL_RUNS'] ?? 50);
/** Backlog of a slow bridge, before it connects. */
const BACKLOG = 30;
const RUNS_OVER_REDIS = 8;

const log = fc.constantFrom(...LOG_NAMES, 'alarms' as const);
const device = fc.constantFrom(...DEVICES, 'both', 'none');
const small = fc.integer({ min: 1, max: 7 });
const bytes = fc.constantFrom(0, 0, 0, 40, 300);

function stepsFor(peers: readonly PeerOptions[]) {
  const name = fc.constantFrom(...peers.map((peer) => peer.name));
  const filter = fc.constantFrom(...DEVICES.map(filterOf));
  const appends = fc
    .tuple(log, device, small, bytes)
    .map(([to, of, count, size]) =>
      step(`append ${count} of ${of} to ${to}, ${size} bytes`, (run) =>
        run.append(to, of, count, size),
      ),
    );
  const connects = name.map((who) => step(`${who} connects`, (run) => run.connect(run.peer(who))));
  const acknowledges = fc.tuple(name, fc.nat({ max: 9 }), small).map(([who, which, count]) =>
    step(`${who} acknowledges ${count}, by ${which}`, (run) => {
      for (let left = count; left > 0; left--) run.acknowledge(run.peer(who), which);
    }),
  );
  const disconnects = name.map((who) =>
    step(`${who} disconnects`, (run) => run.disconnect(run.peer(who))),
  );
  const common = [
    appends,
    appends,
    connects,
    acknowledges,
    acknowledges,
    disconnects,
    fc
      .tuple(name, fc.boolean())
      .map(([who, can]) =>
        step(`${who} is ${can ? '' : 'not '}writable`, (run) =>
          run.setWritable(run.peer(who), can),
        ),
      ),
    fc.constant(step('read', (run) => run.answer(true))),
    small.map((pages) =>
      step(`read ${pages} pages`, async (run) => {
        for (let left = pages; left > 0; left--) {
          run.answer(true);
          await run.logs.idle();
        }
      }),
    ),
    fc.constant(
      step('fail to read', (run) => {
        run.answer(false);
        run.keepBounds();
      }),
    ),
    fc.constant(step('keep', (run) => run.delivery.keep())),
    fc.constant(step('compact', (run) => run.compact())),
    fc.constant(step('save what moved', (run) => run.delivery.sessions.saveCursors())),
    fc.nat({ max: 4 }).map((writes) => step(`save ${writes}`, (run) => saveSome(run, writes))),
    fc.constant(step('tails are forgotten', (run) => run.delivery.forgetTails())),
    fc.constant(step('mark', (run) => run.mark())),
    fc
      .tuple(fc.boolean(), fc.boolean())
      .map(([isKill, marks]) =>
        step(`${isKill ? 'kill' : 'stop'}${marks ? ', mark' : ''}`, (run) =>
          run.restart(isKill, marks),
        ),
      ),
  ];
  const subscribes = fc
    .tuple(name, filter, fc.constantFrom(0 as const, 1 as const, 1 as const))
    .map(([who, to, qos]) =>
      step(`${who} subscribes to ${to}, ${qos}`, (run) => run.subscribe(run.peer(who), to, qos)),
    );
  const unsubscribes = fc
    .tuple(name, filter)
    .map(([who, from]) =>
      step(`${who} unsubscribes from ${from}`, (run) => run.unsubscribe(run.peer(who), from)),
    );
  const ages = fc
    .integer({ min: 1, max: 700 })
    .map((ms) => step(`${ms} ms pass`, (run) => run.age(ms)));
  return { common, changes: [subscribes, unsubscribes], ages };
}

async function runAll(
  logs: TestLogs,
  peers: readonly PeerOptions[],
  schedule: readonly Step[],
): Promise<void> {
  const run = await Run.begin(logs, peers);
  if (peers.includes(SLOW_BRIDGE)) await run.buildBacklog(BACKLOG);
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

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each([
  ['subscribers', PEERS],
  ['a bridge and a subscriber', [BRIDGE, ...PEERS.slice(0, 1)]],
  ['a bridge with a slow pace', [SLOW_BRIDGE]],
])('%s, against a model', (_who, peers) => {
  const { common, changes, ages } = stepsFor(peers);
  const kinds = [
    ['with nothing ageing', common],
    ['with changing subscriptions and everything ageing', [...common, ...changes, ages]],
  ] as const;

  it.each(kinds)('account for every entry, in order: %s', async (_what, from) => {
    const property = fc.asyncProperty(schedules(from), (schedule) =>
      runAll(new ArrayLogs(), peers, schedule),
    );
    await fc.assert(property, { numRuns: RUNS });
  });

  it('account for every entry, in order: with a store that loses its newest', async () => {
    const logs: { current: ArrayLogs } = { current: new ArrayLogs() };
    const loses = fc
      .tuple(log, small, device, fc.option(fc.boolean()))
      .map(([of, count, from, isKill]) =>
        step(
          `lose ${count} of ${of}, ${isKill === null ? `append of ${from}` : isKill ? 'kill' : 'stop'}`,
          (run) =>
            run.lose(
              ...([of, count] as const),
              (last) => logs.current.lose(of, last),
              () => (isKill === null ? run.append(of, from) : run.restart(isKill, true)),
            ),
        ),
      );
    const from = [...common, ...changes, ages, loses];
    const property = fc.asyncProperty(schedules(from), (schedule) => {
      logs.current = new ArrayLogs();
      return runAll(logs.current, peers, schedule);
    });
    await fc.assert(property, { numRuns: RUNS });
  });

  describe('over the log in Redis', () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await RedisServer.start();
    });
    afterAll(() => server.remove());

    it.each(kinds)('account for every entry, in order: %s', async (_what, from) => {
      const property = fc.asyncProperty(schedules(from), (schedule) =>
        runAll(new RedisLogs(server.redis), peers, schedule),
      );
      await fc.assert(property, { numRuns: RUNS_OVER_REDIS });
    });
  });
});
