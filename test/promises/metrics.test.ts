/** `/metrics` (contract 4.6): names as Prometheus wants them, and what the figures mean. */
import { randomUUID } from 'node:crypto';
import { PerformanceObserver } from 'node:perf_hooks';
import { expect, type Home, NO_LIMITS, testWith, vi } from '../harness/index.js';

const test = testWith({ env: NO_LIMITS });

interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: ReadonlyMap<string, number>;
}

const NOT_BASE_UNIT = /_(ms|milliseconds|minutes|hours|kb|kilobytes|megabytes)(_|$)/;
/** Labels whose values are the gateway's own codes, not names from outside. */
const CODE = /(?:kind|log|method|quota|reason|state)="(.*?)"/g;

/** The gateway's own metrics. */
async function families(home: Home): Promise<Family[]> {
  const { text } = await home.must('GET', '/metrics');
  return text
    .split(/^# HELP /m)
    .filter((family) => family.startsWith('gateway_'))
    .map((family) => {
      const [, name = '', help = '', type = '', lines = ''] =
        /^(\S+) (.*)\n# TYPE \S+ (\w+)\n([\s\S]*)$/.exec(family) ?? [];
      const samples = [...lines.matchAll(/^(\S.*) (\S+)$/gm)];
      const values = samples.map(([, id = '', value]): [string, number] => [id, Number(value)]);
      return { name, help, type, samples: new Map(values) };
    });
}

/** The values of these samples; undefined for those that are not there. */
async function figures(home: Home, ...ids: readonly string[]): Promise<(number | undefined)[]> {
  const samples = new Map((await families(home)).flatMap((family) => [...family.samples]));
  return ids.map((id) => samples.get(id));
}

test('names, help and labels follow the conventions of Prometheus', async ({ home }) => {
  const device = await home.device();
  await home.publish(device, 'alarms', ['no JSON', '{"kind":"outOfBed"}']);
  const all = await families(home);
  expect(all.length).toBeGreaterThan(30);
  for (const { name, help, type, samples } of all) {
    expect(name).toMatch(/^gateway(_[a-z]+)+$/);
    expect([name, help]).toEqual([name, expect.stringMatching(/^[A-Z1].+[^.]$/)]);
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    if (type !== 'histogram') expect(name).not.toMatch(/_(bucket|count|sum)$/);
    expect(name).not.toMatch(NOT_BASE_UNIT);
    expect(name).not.toMatch(/_(gauge|counter|histogram|summary)(_|$)/);
    const isTime = [name.includes('timestamp'), help.startsWith('Unix time')];
    expect([name, ...isTime]).toEqual([
      name,
      ...Array(2).fill(name.endsWith('_timestamp_seconds')),
    ]);
    const codes = [...[...samples.keys()].join('\n').matchAll(CODE)];
    for (const [, code] of codes)
      expect([name, code]).toEqual([name, expect.stringMatching(/^[a-z]+(_[a-z]+)*$/)]);
  }
  const [exits] = await figures(home, 'gateway_alarms_total{kind="out_of_bed"}');
  expect(exits).toBe(1);
});

test('the buckets of each histogram add up', async ({ home }) => {
  await home.must('GET', '/care-homes');
  const histograms = (await families(home)).filter(({ type }) => type === 'histogram');
  expect(histograms.map(({ name }) => name).toSorted()).toEqual([
    'gateway_alarm_first_delivery_duration_seconds',
    'gateway_alarm_record_duration_seconds',
    'gateway_http_request_duration_seconds',
  ]);
  for (const { name, samples } of histograms) {
    let [before, bound] = [0, 0];
    for (const [id, count] of samples) {
      const [, le] = /_bucket\{le="(.+?)"/.exec(id) ?? [];
      if (le === undefined) continue;
      const next = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
      // The next series begins.
      if (next < bound) [before, bound] = [0, 0];
      expect([name, count >= before, next > bound]).toEqual([name, true, true]);
      [before, bound] = [count, next];
      if (le !== '+Inf') continue;
      const total = id.replace('_bucket{le="+Inf"', '_count{').replace('{,', '{').replace('{}', '');
      expect([name, samples.get(total)]).toEqual([name, count]);
    }
  }
});

test('an alarm is counted once by its kind, on its record, and on its first delivery', async ({
  home,
}) => {
  const device = await home.device();
  const counts = () =>
    figures(
      home,
      'gateway_alarms_total{kind="noise"}',
      'gateway_alarm_record_duration_seconds_count',
      'gateway_alarm_first_delivery_duration_seconds_count',
    );
  const [noises = 0, recorded = 0, delivered = 0] = await counts();
  const alarm = `{"kind":"noise","id":"${randomUUID()}"}`;
  // The same alarm again, and one of no kind.
  await home.publish(device, 'alarms', [alarm, alarm, '{"kind":"nap"}']);
  expect(await counts()).toEqual([noises + 1, recorded + 1, delivered]);
  await home.nurse();
  await home.nurse();
  await home.publish(device, 'alarms', '{"kind":"noise"}');
  await expect.poll(counts).toEqual([noises + 2, recorded + 2, delivered + 1]);
  const [sum] = await figures(home, 'gateway_alarm_record_duration_seconds_sum');
  expect(sum).toBeGreaterThan(0);
});

const REQUESTS: readonly (readonly [path: string, route: string, status: number])[] = [
  ['/care-homes', '/care-homes', 200],
  ['/care-homes', '/care-homes', 401],
  ['/nowhere', '/*', 404],
  ['/asyncapi.json', '/asyncapi.json', 200],
  ['/docs', '/docs', 200],
  ['/', '/', 200],
  ['/mqtt', '/mqtt', 426],
  ['/footage/a/video/b', '/footage/:deviceId/:type/:file', 403],
];

test('HTTP requests are counted by method, route and status', async ({ home }) => {
  const name = 'gateway_http_request_duration_seconds_count';
  for (const [path, route, status] of REQUESTS) {
    const id = `${name}{method="get",route="${route}",status="${status}"}`;
    const [before = 0] = await figures(home, id);
    const answer = await home.ask('GET', path, status === 401 ? { token: null } : {});
    expect([path, answer.status, ...(await figures(home, id))]).toEqual([path, status, before + 1]);
  }
});

test('devices online, the version and the process are shown', async ({ home, gateway }) => {
  const online = async () => (await figures(home, 'gateway_devices_online'))[0];
  await expect.poll(online).toBe(0);
  const sensor = await home.sensor({ reconnects: false });
  await expect.poll(online).toBe(1);
  sensor.vanish();
  await expect.poll(online).toBe(0);
  expect((await home.must('GET', '/metrics')).text).toMatch(
    /^gateway_build_info\{version="\d+\.\d+\.\d+",node_version="v\d+\.\d+\.\d+"\} 1$/m,
  );
  // The process is observed once, however often a gateway starts in it.
  const observe = vi.spyOn(PerformanceObserver.prototype, 'observe');
  try {
    await gateway.restart();
    expect((await home.must('GET', '/metrics')).text).toContain('nodejs_gc_duration_seconds');
    expect(observe).not.toHaveBeenCalled();
  } finally {
    observe.mockRestore();
  }
});
