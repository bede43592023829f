import type { Plan } from '../../test/harness/load/plan.js';
import { CONTESTANTS } from './contestants.js';
import {
  DEVICES,
  isLevel,
  type Measure,
  planOf,
  receivedBySlowest,
  reportWhen,
  withLoad,
} from './measure.js';

const BACKLOG = 20_000;
const FILL_WINDOW = 100;
const FILLED_WITHIN_MS = 120_000;
const STALLED_AFTER_MS = 10_000;

/** From the CONNECT of a durable subscriber to the last alarm that waited for it. */
export const DRAIN: Measure = {
  name: 'drain',
  title: `A backlog of ${BACKLOG.toLocaleString('en')} alarms to one durable subscriber`,
  contestants: CONTESTANTS,
  runs: [
    async (broker) => {
      const plan = planOf(broker);
      const absent: Plan = { ...plan, devices: [] };
      await withLoad(absent, (load) => load.end());
      await withLoad({ ...plan, readers: [] }, async (load) => {
        await load.offer({ window: FILL_WINDOW, maxEach: BACKLOG / DEVICES });
        const { acknowledged } = await reportWhen(load, isLevel, FILLED_WITHIN_MS);
        if (acknowledged < BACKLOG) throw new Error(`only ${acknowledged} were taken`);
        await load.end();
      });
      return withLoad({ ...absent, filter: '' }, async (load) => {
        let [received, newestMs] = [0, performance.now()];
        const report = await reportWhen(
          load,
          (now) => {
            if (receivedBySlowest(now) > received) newestMs = performance.now();
            received = receivedBySlowest(now);
            return received >= BACKLOG || performance.now() - newestMs > STALLED_AFTER_MS;
          },
          FILLED_WITHIN_MS,
        );
        const tookMs = report.readers[0]?.newestAfterMs ?? Number.NaN;
        const missing = BACKLOG - received;
        return [
          { title: 'alarms', value: (received * 1_000) / tookMs, unit: '/s', better: 'more' },
          { title: 'never came', value: missing, unit: '', better: 'less' },
        ];
      });
    },
  ],
};
