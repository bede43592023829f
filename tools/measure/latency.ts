import { CONTESTANTS } from './contestants.js';
import {
  type Figure,
  isLevel,
  type Measure,
  planOf,
  receivedBySlowest,
  reportWhen,
  withLoad,
} from './measure.js';

const RATES = [100, 1_000] as const;
/** More than are under way at any rate, so that no device waits for an acknowledgement. */
const UNLIMITED_WINDOW = 1_000;
/** Messages that are sent together delay each other. */
const TICK_MS = 1;
const LEVEL_WITHIN_MS = 2_000;

/** From PUBLISH to one durable subscriber. */
export const LATENCY: Measure = {
  name: 'latency',
  title: 'From PUBLISH to one durable subscriber, QoS 1',
  contestants: CONTESTANTS,
  runs: [
    (broker, { seconds }) =>
      withLoad(planOf(broker), async (load) => {
        const figures: Figure[] = [];
        const durationMs = seconds * 1_000;
        await load.offer({
          perSecond: 1_000,
          window: UNLIMITED_WINDOW,
          durationMs: durationMs / 4,
        });
        for (const perSecond of RATES) {
          const before = await reportWhen(load, isLevel, LEVEL_WITHIN_MS);
          await load.offer({ perSecond, window: UNLIMITED_WINDOW, durationMs, tickMs: TICK_MS });
          const report = await reportWhen(load, isLevel, LEVEL_WITHIN_MS);
          const { p50 = Number.NaN, p99 = Number.NaN } = report.readers[0]?.latencyMs ?? {};
          const missing =
            report.sent - before.sent - (receivedBySlowest(report) - receivedBySlowest(before));
          const title = `${perSecond} a second`;
          figures.push(
            { title: `${title}, p99`, value: p99, unit: 'ms', better: 'less' },
            { title: `${title}, p50`, value: p50, unit: 'ms', better: 'less' },
          );
          if (missing > 0) {
            figures.push({ title: `${title}, missing`, value: missing, unit: '', better: 'less' });
          }
        }
        return figures;
      }),
  ],
};
