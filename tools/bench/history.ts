import { z } from 'zod';
import type { Api } from '../../test/former/clients/api.js';
import { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import { HistorySite, middleOf } from './history-site.js';
import { milliseconds, quantile, table, times } from './report.js';

const SIZES = [1_000, 1_000_000] as const;
const PAGES = 300;
/** The page size of a device, which has five alarms in the smaller history. */
const DEVICE_LIMIT = 2;
const LOCATION_LIMIT = 25;
const MAX_BYTES = 700;
/** How much two identical runs may differ. */
const MAX_RATIO = 1.5;

const pageSchema = z.object({ nextCursor: z.string().nullable(), events: z.array(z.unknown()) });
const half = Symbol('the moment by which half of the alarms had been detected');

/** A way to read pages: the resource, the query, and whether to follow cursors. */
interface Reading {
  readonly name: string;
  readonly of: 'device' | 'location' | 'group';
  readonly query: Readonly<Record<string, string | typeof half>>;
  readonly isFollowed: boolean;
}

const READINGS: readonly Reading[] = [
  { name: 'device, first page', of: 'device', query: {}, isFollowed: false },
  { name: 'device, from the middle on', of: 'device', query: { before: half }, isFollowed: true },
  { name: 'location, first page', of: 'location', query: {}, isFollowed: false },
  {
    name: 'location, first page of 100',
    of: 'location',
    query: { limit: '100' },
    isFollowed: false,
  },
  {
    name: 'location, from the middle on',
    of: 'location',
    query: { before: half },
    isFollowed: true,
  },
  { name: 'location, oldest first', of: 'location', query: { order: 'asc' }, isFollowed: true },
  { name: 'location, one kind of 8', of: 'location', query: { kinds: 'fall' }, isFollowed: false },
  { name: 'one group of 4', of: 'group', query: {}, isFollowed: false },
];

/** Reads page after page of one site in one way. */
class Reader {
  readonly durations: number[] = [];
  rows = 0;
  scripts = { calls: 0, ms: 0 };
  readonly #site: HistorySite;
  readonly #reading: Reading;
  readonly #api: Api;
  readonly #middle: string;
  readonly #paths: readonly string[];
  #path = 0;
  #cursor: string | null = null;

  private constructor(site: HistorySite, reading: Reading, api: Api, middle: string) {
    const { contexts } = site;
    this.#site = site;
    this.#reading = reading;
    this.#api = api;
    this.#middle = middle;
    const ofLocation = contexts.map(({ location }) => `/care-homes/${location.id}/alarms`);
    const paths = contexts.map(({ device, location }) =>
      reading.of === 'device'
        ? `/care-homes/${location.id}/devices/${device.id}/alarms`
        : `/care-homes/${location.id}/alarms`,
    );
    this.#paths = reading.of === 'group' ? ofLocation.slice(0, 1) : [...new Set(paths)];
  }

  static async create(site: HistorySite, reading: Reading, middle: string): Promise<Reader> {
    const [first] = site.contexts;
    if (reading.of !== 'group') return new Reader(site, reading, site.api, middle);
    const grant = { location: first?.location.id, group: first?.group?.id, role: 'viewer' };
    const { token } = await site.api.createToken([grant]);
    return new Reader(site, reading, site.apiWith(token), middle);
  }

  /** Reads the next page; at the end or without following, the first page of another listing. */
  async readPage(): Promise<void> {
    const limit = this.#reading.of === 'device' ? DEVICE_LIMIT : LOCATION_LIMIT;
    const query = new URLSearchParams({ limit: String(limit) });
    for (const [name, value] of Object.entries(this.#reading.query)) {
      query.set(name, value === half ? this.#middle : value);
    }
    if (this.#cursor !== null) query.set('cursor', this.#cursor);
    const before = await this.#site.scripts();
    const begunMs = performance.now();
    const page = await this.#api.json('GET', `${this.#paths[this.#path]}?${query}`);
    this.durations.push(performance.now() - begunMs);
    const after = await this.#site.scripts();
    this.scripts.calls += after.calls - before.calls;
    this.scripts.ms += after.ms - before.ms;
    const { events, nextCursor } = pageSchema.parse(page);
    this.rows += events.length;
    this.#cursor = this.#reading.isFollowed ? nextCursor : null;
    if (this.#cursor === null) this.#path = (this.#path + 1) % this.#paths.length;
  }
}

interface Measured {
  readonly name: string;
  readonly small: Reader;
  readonly large: Reader;
}

/** Measures the cost of a page of the history, and of an alarm in it, with few alarms and with many. */
export async function history(): Promise<void> {
  const facts: string[][] = [['alarms', 'recorded a second', 'bytes of store per alarm']];
  const filled = async (size: number) => {
    // All settings have their defaults.
    const site = await HistorySite.open(await GatewayProcess.start());
    const emptyBytes = await site.usedBytes();
    const rate = await site.fill(size);
    const bytes = ((await site.usedBytes()) - emptyBytes) / size;
    facts.push([size.toLocaleString('en'), rate.toFixed(0), bytes.toFixed(0)]);
    return { site, bytes, middle: middleOf(size) };
  };
  const [small, large] = [await filled(SIZES[0]), await filled(SIZES[1])];
  const measured: Measured[] = [];
  for (const reading of READINGS) {
    const readers = {
      small: await Reader.create(small.site, reading, small.middle),
      large: await Reader.create(large.site, reading, large.middle),
    };
    // In turns, so that other load on the machine affects both.
    for (let page = 0; page < PAGES; page++) {
      await readers.small.readPage();
      await readers.large.readPage();
    }
    measured.push({ name: reading.name, ...readers });
  }
  table('The alarm history, filled through the record path, every write fsynced', facts);
  report(measured);
  verdict(`at most ${MAX_BYTES} bytes per alarm`, large.bytes <= MAX_BYTES);
  await small.site.close();
  await large.site.close();
}

function report(measured: readonly Measured[]): void {
  const sizes = SIZES.map((size) => size.toLocaleString('en')).join(' / ');
  const both = ({ small, large }: Measured, shown: (reader: Reader) => string) =>
    `${shown(small)} / ${shown(large)}`;
  table(`A page over HTTP, at ${sizes} alarms`, [
    ['', 'alarms on it', 'median', 'p99', 'in the store', 'medians', 'round trips'],
    ...measured.map((one) => [
      one.name,
      both(one, ({ rows }) => (rows / PAGES).toFixed(1)),
      both(one, ({ durations }) => milliseconds(quantile(durations, 0.5))),
      both(one, ({ durations }) => milliseconds(quantile(durations, 0.99))),
      both(one, ({ scripts }) => milliseconds(scripts.ms / PAGES)),
      times(ratioOf(one)),
      (one.large.scripts.calls / PAGES).toFixed(2),
    ]),
  ]);
  const isSame = measured.every((one) => ratioOf(one) <= MAX_RATIO);
  verdict(`a page costs the same, at most ${times(MAX_RATIO)}`, isSame);
  const isOne = measured.every(({ large }) => large.scripts.calls === PAGES);
  verdict('one round trip to the store for a page', isOne);
}

function ratioOf({ small, large }: Measured): number {
  return quantile(large.durations, 0.5) / quantile(small.durations, 0.5);
}

function verdict(target: string, isMet: boolean): void {
  console.log(`  target: ${target}: ${isMet ? 'met' : 'MISSED'}`);
}
