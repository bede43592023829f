import { GatewayProcess } from '../../../../test/former/gateway/gateway-process.js';
import { HistorySite, middleOf } from '../../history-site.js';
import { quantile } from '../../report.js';
import type { Cleanups } from '../cleanups.js';
import { GATEWAY } from '../contestants/gateway.js';
import type { Measure, Outcome } from '../measure.js';
import { Pages } from '../pages.js';
import type { Scale } from '../scale.js';
import { bytes, count, duration } from '../show.js';

const PAGE_LIMIT = 25;

/** The name of the case with this many alarms. */
export function caseOf(alarms: number): string {
  return `${count(alarms)} alarms`;
}

/** The short version: `npm run bench -- history` and `start` tell more. */
export const HISTORY: Measure = {
  name: 'history',
  title: `Pages of ${PAGE_LIMIT} from the middle of the history`,
  maxRounds: 1,
  metrics: [
    { key: 'pageP50Ms', title: 'page p50', better: 'less', show: duration },
    { key: 'pageP99Ms', title: 'p99', better: 'less', show: duration },
    { key: 'bytesEach', title: 'store each', better: 'less', show: bytes },
    { key: 'readyMs', title: 'start-up', better: 'less', show: duration },
  ],
  trials: (scale) => [{ contestant: GATEWAY.name, run: (cleanups) => run(scale, cleanups) }],
};

interface Filled {
  readonly alarms: number;
  readonly site: HistorySite;
  readonly pages: Pages;
  readonly bytesEach: number;
}

async function run({ historySizes, pages }: Scale, cleanups: Cleanups): Promise<Outcome[]> {
  const filled: Filled[] = [];
  for (const alarms of historySizes) filled.push(await fill(alarms, cleanups));
  // In turns, so that other load on the machine affects all.
  for (let page = 0; page < pages; page++) {
    for (const one of filled) await one.pages.read();
  }
  const outcomes: Outcome[] = [];
  for (const { alarms, site, pages, bytesEach } of filled) {
    const { readyMs } = await site.restart();
    const [pageP50Ms, pageP99Ms] = [0.5, 0.99].map((part) => quantile(pages.durationsMs, part));
    outcomes.push({
      case: caseOf(alarms),
      values: { pageP50Ms: pageP50Ms ?? 0, pageP99Ms: pageP99Ms ?? 0, bytesEach, readyMs },
    });
  }
  return outcomes;
}

async function fill(alarms: number, cleanups: Cleanups): Promise<Filled> {
  const gateway = await GatewayProcess.create();
  cleanups.onEnd(() => gateway.remove());
  await gateway.start();
  const site = await HistorySite.open(gateway);
  cleanups.onEnd(async () => site.disconnect());
  const emptyBytes = await site.usedBytes();
  await site.fill(alarms);
  const bytesEach = ((await site.usedBytes()) - emptyBytes) / alarms;
  const [first] = site.contexts;
  const query = { limit: String(PAGE_LIMIT), before: middleOf(alarms) };
  const pages = new Pages(site.httpUrl, first?.location.id ?? '', query);
  return { alarms, site, pages, bytesEach };
}
