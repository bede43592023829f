import { join } from 'node:path';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { Keys } from '../../src/store/keys.js';
import { LogStore } from '../../src/store/log-store.js';
import { Api } from '../harness/api.js';
import { GatewayProcess } from '../harness/gateway-process.js';
import { HistorySite } from './history-site.js';
import { milliseconds, quantile, table, times } from './report.js';

const SIZES = [1_000, 100_000] as const;
const PAGES = 300;
/** As many as each device has in the smaller history: then both answer with pages of one size. */
const DEVICE_LIMIT = 2;
const LOCATION_LIMIT = 25;
const MAX_BYTES = 400;
/** What two runs of the same may differ by. */
const MAX_RATIO = 1.5;

const pageSchema = z.object({ nextCursor: z.string().nullable(), events: z.array(z.unknown()) });

/** One kind of page: the paths to read it from by turns, and what is asked. */
interface Reading {
  readonly name: string;
  readonly token: string | undefined;
  readonly paths: readonly string[];
  readonly query: (site: HistorySite) => Readonly<Record<string, string>>;
  /** Whether to follow the cursors, instead of reading first pages. */
  readonly isFollowed: boolean;
}

interface Measured {
  readonly durations: readonly number[];
  readonly rows: number;
  readonly roundTrips: number;
}

/** What a page of the alarm history costs, and an alarm in it, as the history grows. */
export async function history(): Promise<void> {
  const gateway = await GatewayProcess.start({ GATEWAY_HISTORY_RETENTION_DAYS: '3650' });
  const redis = new Redis(join(gateway.dataDir, 'redis', 'redis.sock'));
  const api = new Api(gateway);
  const logs = new LogStore(redis, redis, new Keys('site'));
  const site = await HistorySite.create(api, logs, SIZES[1]);
  const readings = await readingsOf(api, site);
  const emptyBytes = await usedBytes(redis);
  const results: Measured[][] = [];
  const facts: string[][] = [['alarms', 'recorded a second', 'bytes of store per alarm']];
  for (const size of SIZES) {
    const rate = await site.fillUpTo(size);
    const bytes = ((await usedBytes(redis)) - emptyBytes) / size;
    facts.push([size.toLocaleString('en'), rate.toFixed(0), bytes.toFixed(0)]);
    const measured: Measured[] = [];
    for (const reading of readings) measured.push(await measure(gateway, redis, site, reading));
    results.push(measured);
  }
  table('The alarm history, filled through the record path, every write fsynced', facts);
  report(readings, results);
  verdict(`at most ${MAX_BYTES} bytes per alarm`, Number(facts.at(-1)?.at(-1)) <= MAX_BYTES);
  redis.disconnect();
  await gateway.remove();
}

async function readingsOf(api: Api, { contexts }: HistorySite): Promise<Reading[]> {
  const [first] = contexts;
  if (first === undefined) throw new Error('there are no devices');
  const locations = [
    ...new Set(contexts.map(({ location }) => `/care-homes/${location.id}/alarms`)),
  ];
  const devices = contexts.map(
    ({ device, location }) => `/care-homes/${location.id}/devices/${device.id}/alarms`,
  );
  const grant = { location: first.location.id, group: first.group?.id, role: 'viewer' };
  const { token } = await api.createToken([grant]);
  const ofDevice = { token: undefined, paths: devices };
  const ofLocation = { token: undefined, paths: locations };
  const device = { limit: String(DEVICE_LIMIT) };
  const location = { limit: String(LOCATION_LIMIT) };
  const from = (site: HistorySite) => ({ before: site.middle });
  return [
    { name: 'device, first page', ...ofDevice, query: () => device, isFollowed: false },
    {
      ...{ name: 'device, from the middle on', ...ofDevice, isFollowed: true },
      query: (site) => ({ ...device, ...from(site) }),
    },
    { name: 'location, first page', ...ofLocation, query: () => location, isFollowed: false },
    {
      ...{ name: 'location, from the middle on', ...ofLocation, isFollowed: true },
      query: (site) => ({ ...location, ...from(site) }),
    },
    {
      ...{ name: 'location, oldest first', ...ofLocation, isFollowed: true },
      query: () => ({ ...location, order: 'asc' }),
    },
    {
      ...{ name: 'location, one kind of eight', ...ofLocation, isFollowed: false },
      query: () => ({ ...location, kinds: 'fall' }),
    },
    {
      ...{ name: 'location, one group of four', isFollowed: false, token },
      paths: locations.slice(0, 1),
      query: () => location,
    },
  ];
}

async function measure(
  gateway: GatewayProcess,
  redis: Redis,
  site: HistorySite,
  reading: Reading,
): Promise<Measured> {
  const { paths, isFollowed, token } = reading;
  const api = new Api(gateway, token);
  const durations: number[] = [];
  let rows = 0;
  const scripts = await scriptCalls(redis);
  for (let turn = 0, cursor: string | null = null; turn < PAGES; ) {
    const path = paths[turn % paths.length] ?? '';
    // A listing that has come to its end is begun anew.
    do {
      const query = new URLSearchParams(reading.query(site));
      if (cursor !== null) query.set('cursor', cursor);
      const begunMs = performance.now();
      const page = pageSchema.parse(await api.json('GET', `${path}?${query}`));
      durations.push(performance.now() - begunMs);
      rows += page.events.length;
      cursor = page.nextCursor;
      turn++;
    } while (isFollowed && cursor !== null && turn < PAGES);
    cursor = null;
  }
  const roundTrips = ((await scriptCalls(redis)) - scripts) / durations.length;
  return { durations, rows: rows / durations.length, roundTrips };
}

function report(readings: readonly Reading[], [small = [], large = []]: readonly Measured[][]) {
  const row = ({ name }: Reading, at: number) => {
    const [one, other] = [small[at], large[at]];
    if (one === undefined || other === undefined) throw new Error(`${name} was not measured`);
    return [
      name,
      `${one.rows.toFixed(1)} / ${other.rows.toFixed(1)}`,
      ...[0.5, 0.99].map((part) =>
        [one, other].map((all) => milliseconds(quantile(all.durations, part))).join(' / '),
      ),
      times(quantile(other.durations, 0.5) / quantile(one.durations, 0.5)),
      other.roundTrips.toFixed(2),
    ];
  };
  const sizes = SIZES.map((size) => size.toLocaleString('en')).join(' / ');
  table(`A page over HTTP, at ${sizes} alarms`, [
    ['', 'alarms on it', 'median', 'p99', 'ratio of medians', 'round trips'],
    ...readings.map(row),
  ]);
  const medians = (all: readonly Measured[]) => all.map((one) => quantile(one.durations, 0.5));
  const ratios = medians(large).map((median, at) => median / (medians(small)[at] ?? 0));
  verdict(`each page the same, within ${times(MAX_RATIO)}`, Math.max(...ratios) <= MAX_RATIO);
  verdict(
    'one round trip a page',
    large.every(({ roundTrips }) => roundTrips === 1),
  );
}

function verdict(target: string, isMet: boolean): void {
  console.log(`  target: ${target}: ${isMet ? 'met' : 'MISSED'}`);
}

/** Once the append-only file is no longer being rewritten, which takes memory of its own. */
async function usedBytes(redis: Redis): Promise<number> {
  for (;;) {
    const persistence = await redis.info('persistence');
    if (/^aof_rewrite_in_progress:0/m.test(persistence)) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
}

async function scriptCalls(redis: Redis): Promise<number> {
  const stats = await redis.info('commandstats');
  return Number(/^cmdstat_eval:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
}
