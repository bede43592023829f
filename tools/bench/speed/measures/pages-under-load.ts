import { quantile } from '../../report.js';
import { GATEWAY } from '../contestants/gateway.js';
import { DEVICES, openLoad } from '../loads.js';
import type { Measure, Outcome, Trial } from '../measure.js';
import { Pages } from '../pages.js';
import type { Scale } from '../scale.js';
import { duration } from '../show.js';

const ALARMS_PER_SECOND = 1_000;
const UNLIMITED_WINDOW = 1_000;
const TICK_MS = 1;
const PAGE_LIMIT = 25;
export const LOADED_CASE = '1,000 alarms a second';

export const PAGES_UNDER_LOAD: Measure = {
  name: 'pages-under-load',
  title: `Pages of ${PAGE_LIMIT} alarms over HTTP, one after the other`,
  metrics: [
    { key: 'p99Ms', title: 'p99', better: 'less', show: duration },
    { key: 'p50Ms', title: 'p50', better: 'less', show: duration },
  ],
  trials: (scale) => [trial(scale)],
};

function trial({ warmUpMs, measuredMs, pages }: Scale): Trial {
  return {
    contestant: GATEWAY.name,
    run: async (cleanups) => {
      const broker = await GATEWAY.start(DEVICES, cleanups);
      const options = { kind: 'falls', qos: 1, isClean: false, readers: 1 } as const;
      const load = await openLoad(broker, options, cleanups);
      const offered = { perSecond: ALARMS_PER_SECOND, window: UNLIMITED_WINDOW, tickMs: TICK_MS };
      await load.offer({ ...offered, durationMs: warmUpMs });
      const open = () => {
        const query = { limit: String(PAGE_LIMIT) };
        return new Pages(broker.gateway.httpUrl, broker.locationId, query);
      };
      const warmUp = open();
      for (let page = 0; page < pages; page++) await warmUp.read();
      const quiet = open();
      for (let page = 0; page < pages; page++) await quiet.read();
      const loaded = open();
      let isOver = false;
      const offer = load.offer({ ...offered, durationMs: 2 * measuredMs }).finally(() => {
        isOver = true;
      });
      while (!isOver) await loaded.read();
      await offer;
      return [outcome('no alarms', quiet), outcome(LOADED_CASE, loaded)];
    },
  };
}

function outcome(name: string, { durationsMs }: Pages): Outcome {
  const values = { p50Ms: quantile(durationsMs, 0.5), p99Ms: quantile(durationsMs, 0.99) };
  return { case: name, values };
}
