import { z } from 'zod';
import type { LoadProcess } from '../../../../test/former/load-process.js';
import { RedisServer } from '../../../../test/former/servers/redis-server.js';
import { FSYNC_ALWAYS } from '../contestants/aedes.js';
import { CONTESTANTS } from '../contestants/all.js';
import type { Contestant } from '../contestants/contestant.js';
import { GATEWAY } from '../contestants/gateway.js';
import { DEVICES, isLevel, openLoad, receivedBySlowest, reportWhen } from '../loads.js';
import type { Measure, Outcome, Trial } from '../measure.js';
import { Program } from '../program.js';
import type { Scale } from '../scale.js';
import { count, duration } from '../show.js';

/** More than are under way at any rate, so that no device waits for an acknowledgement. */
const UNLIMITED_WINDOW = 1_000;
const TICK_MS = 1;
const LEVEL_WITHIN_MS = 1_000;
const SECOND_MS = 1_000;
/** The bare store's name among the contestants. */
export const BARE_SET = 'a bare SET';

const quantilesSchema = z.object({ p50Ms: z.number(), p99Ms: z.number() });

/** The name of the case with this rate. */
export function caseOf(perSecond: number): string {
  return `${count(perSecond)} a second`;
}

export const LATENCY: Measure = {
  name: 'latency',
  title: 'From PUBLISH to one durable subscriber, beside a bare SET',
  metrics: [
    { key: 'p99Ms', title: 'p99', better: 'less', show: duration },
    { key: 'p50Ms', title: 'p50', better: 'less', show: duration },
  ],
  trials: (scale) => [
    setTrial(scale),
    ...(scale.isQuick ? [GATEWAY] : CONTESTANTS).map((one) => trial(one, scale)),
  ],
};

function trial(contestant: Contestant, scale: Scale): Trial {
  return {
    contestant: contestant.name,
    run: async (cleanups) => {
      const broker = await contestant.start(DEVICES, cleanups);
      const options = { kind: 'falls', qos: 1, isClean: false, readers: 1 } as const;
      const load = await openLoad(broker, options, cleanups);
      const outcomes: Outcome[] = [];
      await atRate(load, Math.max(...scale.rates), scale.warmUpMs);
      for (const perSecond of scale.rates) {
        outcomes.push({
          case: caseOf(perSecond),
          ...(await atRate(load, perSecond, scale.measuredMs)),
        });
      }
      return outcomes;
    },
  };
}

async function atRate(load: LoadProcess, perSecond: number, durationMs: number) {
  const before = receivedBySlowest(await load.report());
  await load.offer({ perSecond, window: UNLIMITED_WINDOW, durationMs, tickMs: TICK_MS });
  const report = await reportWhen(load, isLevel, LEVEL_WITHIN_MS);
  const { p50 = Number.NaN, p99 = Number.NaN } = report.readers[0]?.latencyMs ?? {};
  const received = receivedBySlowest(report) - before;
  const missing = (perSecond * durationMs) / SECOND_MS - received;
  const note = `${count(missing)} had not come ${LEVEL_WITHIN_MS / SECOND_MS} s after the end`;
  return {
    values: { p50Ms: p50, p99Ms: p99 },
    notes: missing > 0 ? [note] : [],
  };
}

/** The physical limit: how long storing alone takes, over one Unix socket connection. */
function setTrial({ rates, warmUpMs, measuredMs }: Scale): Trial {
  return {
    contestant: BARE_SET,
    run: async (cleanups) => {
      const redis = await RedisServer.start(...FSYNC_ALWAYS);
      cleanups.onEnd(() => redis.remove());
      const outcomes: Outcome[] = [];
      for (const perSecond of rates) {
        const program = Program.start('programs/set-load.js', cleanups);
        const { socketPath } = redis;
        const question = { socketPath, perSecond, warmUpMs, durationMs: measuredMs };
        const values = await program.ask(question, quantilesSchema);
        await program.kill();
        outcomes.push({ case: caseOf(perSecond), values });
      }
      return outcomes;
    },
  };
}
