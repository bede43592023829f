import { PerformanceObserver } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { RawClient } from '../former/clients/raw-client.js';
import { Home } from '../former/home.js';

const FAMILY = /^# HELP (gateway_\w+) (.*)\n# TYPE \1 (\w+)\n((?:gateway_.*\n)*)/gm;
/** Labels whose values are the gateway's own codes, not names from outside. */
const CODE = /(?:reason|kind|quota|state|log)="([^"]*)"/g;
const NOT_BASE_UNIT = /_(ms|milliseconds|minutes|hours|kb|kilobytes|megabytes)(_|$)/;

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

async function metrics(): Promise<string> {
  return (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
}

/** The rules of promtool's linter, and those naming conventions that it does not check. */
it('follows the naming conventions of Prometheus when every kind of metric has a value', async () => {
  const device = await home.device();
  const sensor = await RawClient.connect(home.gateway, device);
  await sensor.publish(`devices/${device.id}/alarms`, 'no JSON', 1);
  sensor.vanish();
  const text = await metrics();
  const families = [...text.matchAll(FAMILY)].map(
    ([, name = '', help = '', type = '', samples = '']) => {
      return { name, help, type, samples };
    },
  );
  expect(families.length).toBeGreaterThan(20);
  for (const { name, help, type, samples } of families) {
    expect(name).toMatch(/^gateway(_[a-z]+)+$/);
    expect([name, help]).toEqual([name, expect.stringMatching(/^[A-Z1].+[^.]$/)]);
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    if (type !== 'histogram') expect(name).not.toMatch(/_(bucket|count|sum)$/);
    expect(name).not.toMatch(NOT_BASE_UNIT);
    expect(name).not.toMatch(/_(gauge|counter|histogram|summary)(_|$)/);
    expect([name, help.startsWith('Unix time')]).toEqual([
      name,
      name.endsWith('_timestamp_seconds'),
    ]);
    for (const [, code] of samples.matchAll(CODE)) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  }
});

it('shows the version and the number of devices online', async () => {
  const online = async () => Number(/^gateway_devices_online (\d+)$/m.exec(await metrics())?.[1]);
  expect(await metrics()).toMatch(
    /^gateway_build_info\{version="\d+\.\d+\.\d+",node_version="v\d+\.\d+\.\d+"\} 1$/m,
  );
  await expect.poll(online).toBeLessThan(2);
  const before = await online();
  const sensor = await RawClient.connect(home.gateway, await home.device());
  await expect.poll(online).toBe(before + 1);
  sensor.vanish();
  await expect.poll(online).toBe(before);
});

it('observes the process once, however often a gateway starts serving in it', async () => {
  const observe = vi.spyOn(PerformanceObserver.prototype, 'observe');
  onTestFinished(() => observe.mockRestore());
  await home.gateway.stop();
  await home.gateway.start();
  expect(await metrics()).toContain('nodejs_gc_duration_seconds');
  expect(observe).not.toHaveBeenCalled();
});
