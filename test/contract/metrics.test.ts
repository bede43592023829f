import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPacket, credentials, RawClient } from '../former/clients/raw-client.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { Home } from '../former/home.js';

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

interface Metric {
  readonly type: string;
  readonly help: string;
  readonly samples: ReadonlyMap<string, number>;
}

/** The metrics of the gateway at `/metrics`, by name. */
async function metricsOf(): Promise<ReadonlyMap<string, Metric>> {
  const text = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  const families = text.split(/^# HELP /m).slice(1);
  return new Map(
    families.flatMap((family): [string, Metric][] => {
      const [, name = '', help = '', type = '', lines = ''] =
        /^(\S+) (.*)\n# TYPE \S+ (\w+)\n([\s\S]*)$/.exec(family) ?? [];
      const samples = [...lines.matchAll(/^(\S.*) (\S+)$/gm)];
      const values = samples.map(([, id = '', value]): [string, number] => [id, Number(value)]);
      return name.startsWith('gateway_') ? [[name, { type, help, samples: new Map(values) }]] : [];
    }),
  );
}

async function listLocations(): Promise<void> {
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  const { status } = await fetch(`${home.gateway.httpUrl}/care-homes`, { headers });
  expect(status).toBe(200);
}

async function sampleOf(name: string, labels = ''): Promise<number | undefined> {
  const family = name.replace(/_(?:bucket|sum|count)$/, '');
  return (await metricsOf()).get(family)?.samples.get(`${name}${labels}`);
}

describe('the metrics follow the Prometheus conventions', () => {
  it('in their names: all counters, and only they, end in _total', async () => {
    const metrics = await metricsOf();
    expect(metrics.size).toBeGreaterThan(30);
    for (const [name, { type, help }] of metrics) {
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
      expect([name, name]).toEqual([name, expect.stringMatching(/^[a-z]+(_[a-z]+)+$/)]);
      expect([name, help]).toEqual([name, expect.stringMatching(/^[A-Z1]/)]);
      if (name.includes('timestamp')) expect(name).toMatch(/_timestamp_seconds$/);
    }
  });

  it('in their label values, which are in snake_case', async () => {
    const metrics = await metricsOf();
    for (const label of ['kind', 'log', 'method', 'quota', 'reason', 'state']) {
      const samples = [...metrics.values()].flatMap(({ samples }) => [...samples.keys()]);
      for (const [, value] of samples.join('\n').matchAll(new RegExp(`${label}="(.*?)"`, 'g'))) {
        expect(value).toMatch(/^[a-z]+(_[a-z]+)*$/);
      }
    }
    expect(
      metrics.get('gateway_alarms_total')?.samples.has('gateway_alarms_total{kind="out_of_bed"}'),
    ).toBe(true);
  });

  it('in their histograms, whose buckets add up', async () => {
    await listLocations();
    const histograms = [...(await metricsOf())].filter(([, { type }]) => type === 'histogram');
    expect(histograms.map(([name]) => name).toSorted()).toEqual([
      'gateway_alarm_first_delivery_duration_seconds',
      'gateway_alarm_record_duration_seconds',
      'gateway_http_request_duration_seconds',
    ]);
    for (const [name, { samples }] of histograms) {
      let [before, bound] = [0, 0];
      for (const [id, count] of samples) {
        const [, le] = /_bucket\{le="(.+?)"/.exec(id) ?? [];
        if (le === undefined) continue;
        const next = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
        // The next series begins.
        if (next < bound) [before, bound] = [0, 0];
        expect([name, count >= before, next > bound]).toEqual([name, true, true]);
        [before, bound] = [count, next];
        if (le === '+Inf') {
          const total = id
            .replace('_bucket{le="+Inf"', '_count{')
            .replace('{,', '{')
            .replace('{}', '');
          expect([name, samples.get(total)]).toEqual([name, count]);
        }
      }
    }
  });
});

it('an alarm is counted once by kind, on its record and on its first delivery', async () => {
  const device = await home.device();
  const topic = `devices/${device.id}/alarms`;
  const sensor = await RawClient.connect(home.gateway, device);
  const alarms = 'gateway_alarms_total';
  const recorded = 'gateway_alarm_record_duration_seconds_count';
  const delivered = 'gateway_alarm_first_delivery_duration_seconds_count';
  const counts = async () => [
    await sampleOf(alarms, '{kind="fall"}'),
    await sampleOf(alarms, '{kind="out_of_bed"}'),
    await sampleOf(recorded),
    await sampleOf(delivered),
  ];
  const [falls = 0, exits = 0, all = 0, sent = 0] = await counts();
  const id = '0b54ec3e-8d1b-4c7a-9e64-5b2f7d90c318';
  await sensor.publish(topic, `{"kind":"outOfBed","id":"${id}"}`, 1);
  // The same alarm, published again.
  await sensor.publish(topic, `{"kind":"outOfBed","id":"${id}"}`, 1);
  await sensor.publish(topic, '{"kind":"nap"}', 1);
  expect(await counts()).toEqual([falls, exits + 1, all + 1, sent]);
  for (const clientId of ['first', 'second']) {
    const nurse = await RawClient.open(home.gateway);
    nurse.send(connectPacket({ ...credentials(home.viewer), clientId, clean: true }));
    await nurse.next('connack');
    await nurse.subscribe([home.filter(device, 'alarms/#')]);
  }
  await sensor.publish(topic, '{"kind":"fall"}', 1);
  await expect.poll(counts).toEqual([falls + 1, exits + 1, all + 2, sent + 1]);
  expect(await sampleOf('gateway_alarm_record_duration_seconds_sum')).toBeGreaterThan(0);
});

it('HTTP requests are counted by method, route and status', async () => {
  const count = (labels: string) =>
    sampleOf('gateway_http_request_duration_seconds_count', `{${labels}}`);
  await listLocations();
  const listed = 'method="get",route="/care-homes",status="200"';
  const before = (await count(listed)) ?? 0;
  await listLocations();
  await fetch(`${home.gateway.httpUrl}/care-homes`);
  await fetch(`${home.gateway.httpUrl}/nowhere`);
  expect(await count(listed)).toBe(before + 1);
  expect(await count('method="get",route="/care-homes",status="401"')).toBe(1);
  expect(await count('method="get",route="/*",status="404"')).toBe(1);
  for (const [path, route, status] of [
    ['/asyncapi.json', '/asyncapi.json', 200],
    ['/docs', '/docs', 200],
    ['/', '/', 200],
    ['/mqtt', '/mqtt', 426],
    ['/footage/a/video/b', '/footage/:deviceId/:type/:file', 403],
  ] as const) {
    await fetch(`${home.gateway.httpUrl}${path}`);
    expect([path, await count(`method="get",route="${route}",status="${status}"`)]).toEqual([
      path,
      1,
    ]);
  }
});
