import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BRIDGE, type Peer, Run } from './model.js';
import { ArrayLogs } from './world.js';

const DEVICES = ['both', 'one', 'two'];
const BACKLOG = 30;

type Step = (run: Run, bridge: Peer) => void | Promise<void>;

/** A run of a bridge that was away while the devices published in turn, and is back. */
async function behind(backlog: number): Promise<{ run: Run; logs: ArrayLogs; bridge: Peer }> {
  const logs = new ArrayLogs();
  const run = new Run(logs, [BRIDGE]);
  await run.begin();
  const [bridge] = run.peers;
  if (bridge === undefined) throw new Error('no bridge');
  for (let n = 0; n < backlog; n++) await run.append('alarms', topicOf(n));
  run.world.forgetTails();
  run.connect(bridge);
  return { run, logs, bridge };
}

function topicOf(n: number): string {
  return `${DEVICES[n % DEVICES.length]}/alarms`;
}

const device = fc.constantFrom(...DEVICES);
const steps: fc.Arbitrary<Step>[] = [
  device.map(
    (name): Step =>
      (run) =>
        run.append('alarms', `${name}/alarms`),
  ),
  fc.nat({ max: 3 }).map(
    (which): Step =>
      (run, bridge) => {
        run.acknowledge(bridge, which);
      },
  ),
  fc.nat({ max: 3 }).map(
    (which): Step =>
      (run, bridge) => {
        for (let left = 4; left > 0; left--) run.acknowledge(bridge, which);
      },
  ),
  fc.boolean().map(
    (succeeds): Step =>
      (run) => {
        run.answer(succeeds);
        if (!succeeds) run.world.router.wakeAll();
      },
  ),
  fc.constant<Step>((run) => {
    run.answer(true);
  }),
  fc.constantFrom<Step>(
    (run, bridge) => run.connect(bridge),
    (run, bridge) => run.disconnect(bridge),
    (run) => run.world.save(),
    (run) => run.world.keeper.keep(),
    (run) => run.world.forgetTails(),
    (run) => run.restart(true),
    (run) => run.restart(false),
  ),
];

describe('a bridge that was away', () => {
  it('guarantee 3: a new alarm goes past what waits of others, behind what waits of its device', async () => {
    const { run, logs, bridge } = await behind(BACKLOG);
    const isNew = BACKLOG + 1;
    await run.append('alarms', topicOf(0));
    const seen: number[] = [];
    while (!seen.includes(isNew)) {
      const isAnswered = run.answer(true);
      await logs.idle();
      run.check();
      const sent = bridge.connection?.sent ?? [];
      for (const { payload } of sent.slice(seen.length))
        seen.push(JSON.parse(payload.toString()).n);
      if (!isAnswered && !run.acknowledge(bridge, 0)) break;
    }
    const ofDevice = (n: number) => n % DEVICES.length === 1;
    expect(seen.filter(ofDevice)).toEqual([1, 4, 7, 10, 13, 16, 19, 22, 25, 28, isNew]);
    // Whatever else had gone before there was a new alarm; far from all of it.
    expect(seen.filter((n) => !ofDevice(n)).length).toBeLessThan(8);
    await run.drain();
  });

  it('is sent everything, in order of each device, through every kind of interruption', async () => {
    const schedule = fc.array(fc.oneof(...steps), { maxLength: 60, size: 'max' });
    const property = fc.asyncProperty(schedule, async (taken) => {
      const { run, logs, bridge } = await behind(BACKLOG);
      for (const take of taken) {
        await take(run, bridge);
        await logs.idle();
        run.check();
      }
      await run.drain();
    });
    await fc.assert(property, { numRuns: 400 });
  });
});
