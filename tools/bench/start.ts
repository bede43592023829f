import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import { ENDINGS, type StartTimes, timedStart } from '../../test/former/gateway/start-times.js';
import { LargeSite, type SiteSize } from '../../test/former/large-site.js';
import { seconds, table } from './report.js';

const TARGET_MS = 5_000;
/** Long enough to measure a gateway that takes minutes to start. */
const START_TIMEOUT_MS = 10 * 60_000;
/** Measures the start of a gateway with a large store, from spawn to ready line. */
export async function start(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      alarms: { type: 'string', default: '1000000' },
      devices: { type: 'string', default: '20000' },
      sessions: { type: 'string', default: '200' },
      queued: { type: 'string', default: '10000' },
      // To test full backlogs, pass more than a session keeps: each then drops some.
      values: { type: 'string', default: '0' },
      data: { type: 'string' },
      json: { type: 'string' },
    },
  });
  const size = {
    alarms: Number(values.alarms),
    devices: Number(values.devices),
    sessions: Number(values.sessions),
    queued: Number(values.queued),
    values: Number(values.values),
  };
  const directory = await mkdtemp(join(tmpdir(), 'start-bench-'));
  const dataDir = values.data ?? join(directory, 'made');
  await makeUnlessThere(dataDir, size);
  const durations = new Map<string, StartTimes>();
  for (const name of ENDINGS.keys()) durations.set(name, await measure(directory, dataDir, name));
  await rm(directory, { recursive: true, force: true });
  const shown = Object.entries(size).map(
    ([name, count]) => `${count.toLocaleString('en')} ${name}`,
  );
  table(`From the spawn to the ready line, with ${shown.join(', ')}`, [
    ['after', 'ready', 'processor time of the gateway'],
    ...[...durations].map(([name, { readyMs, processorMs }]) => [
      name,
      seconds(readyMs),
      seconds(processorMs),
    ]),
  ]);
  const isMet = [...durations.values()].every(({ readyMs }) => readyMs <= TARGET_MS);
  console.log(`  target: at most ${seconds(TARGET_MS)} after each: ${isMet ? 'met' : 'MISSED'}`);
  if (values.json === undefined) return;
  await writeFile(
    values.json,
    JSON.stringify({ size, times: Object.fromEntries(durations) }, null, 2),
  );
}

/** Makes the data unless it exists from an earlier run: a million alarms take minutes. */
async function makeUnlessThere(dataDir: string, size: SiteSize): Promise<void> {
  const siteFile = `${dataDir}.site.json`;
  if (await isThere(siteFile)) return;
  await mkdir(dataDir, { recursive: true });
  const gateway = GatewayProcess.on(dataDir, {
    GATEWAY_LIMITS_TOTAL_PERSISTENT_SESSIONS: String(size.sessions),
  });
  await gateway.start();
  const begunMs = performance.now();
  const site = await LargeSite.make(gateway, size);
  console.log(`  made in ${seconds(performance.now() - begunMs)}`);
  await gateway.stop();
  await writeFile(siteFile, site.text);
}

function isThere(file: string): Promise<boolean> {
  return readFile(file).then(
    () => true,
    () => false,
  );
}

/** Measures on a copy, so that no run affects the next. */
async function measure(directory: string, dataDir: string, ending: string): Promise<StartTimes> {
  const copy = join(directory, 'copy');
  await cp(dataDir, copy, { recursive: true });
  const gateway = GatewayProcess.on(copy);
  await gateway.start(START_TIMEOUT_MS);
  await ENDINGS.get(ending)?.(gateway);
  const measured = await timedStart(gateway, START_TIMEOUT_MS);
  await gateway.remove();
  return measured;
}
