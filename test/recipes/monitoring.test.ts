/**
 * `config/monitoring`: the alert rules do what their tests say and know every fault, and a real Prometheus that reads a
 * gateway under load has an answer to every query of the dashboard.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { FAULT_CODES, FAULTS } from '../../src/domain/faults.js';
import { Gateway } from '../harness/gateway.js';
import { Home } from '../harness/home.js';
import { expect, test } from '../harness/index.js';
import { claimPort, Program } from '../harness/program.js';
import { until } from '../harness/wait.js';

const DIRECTORY = 'config/monitoring';
/** One more than a device may have. */
const RETAINED = 501;
const rulesSchema = z.object({
  groups: z.tuple([
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          labels: z.object({ severity: z.enum(['critical', 'warning']) }),
        }),
      ),
    }),
  ]),
});
const { rules } = rulesSchema.parse(parse(readFileSync(`${DIRECTORY}/alerts.yaml`, 'utf8')))
  .groups[0];

/** The faults that an expression is about: `code="…"`, `code=~"…"`, `code!~"…"`. */
function codesOf(expression: string): readonly string[] {
  const conditions = [...expression.matchAll(/code(=|=~|!~)"([^"]+)"/g)];
  return FAULT_CODES.filter((code) =>
    conditions.some(([, operator, pattern = '']) =>
      operator === '!~' ? !isMatch(pattern, code) : isMatch(pattern, code),
    ),
  );
}

/** As Prometheus matches: the whole value. */
function isMatch(pattern: string, value: string): boolean {
  return new RegExp(`^(?:${pattern})$`).test(value);
}

test('the alert rules pass their tests', () => {
  const run = (...args: string[]) =>
    execFileSync('promtool', args, { cwd: DIRECTORY, encoding: 'utf8', stdio: 'pipe' });
  expect(run('check', 'config', 'prometheus.yaml')).toContain(`${rules.length} rules found`);
  expect(run('test', 'rules', 'alerts.test.yaml')).toContain('SUCCESS');
  const tests = readFileSync(`${DIRECTORY}/alerts.test.yaml`, 'utf8');
  for (const { alert } of rules) {
    expect(tests).toContain(`alertname: ${alert}\n        exp_alerts:\n`);
  }
});

test('each fault raises one alert, and one that stops the gateway a critical one', () => {
  for (const code of FAULT_CODES) {
    const raised = rules.filter(({ expr }) => codesOf(expr).includes(code));
    // A gateway of a pair that stands by has nothing wrong.
    expect([code, raised.length]).toEqual([code, code === 'standing-by' ? 0 : 1]);
    const stops = Object.values(FAULTS).some((fault) => fault.code === code && fault.stops);
    if (stops) expect(raised.every(({ labels }) => labels.severity === 'critical')).toBe(true);
  }
});

const dashboardSchema = z.object({
  panels: z.array(
    z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).min(1) }),
  ),
});

test('a Prometheus that reads a gateway under load answers every query of the dashboard', async () => {
  // Nobody listens there.
  const bridges = [{ name: 'nurse-call', url: `mqtt://127.0.0.1:${await claimPort()}` }];
  const gateway = await Gateway.start({ config: { bridges } });
  onTestFinished(() => gateway.remove());
  const prometheus = await startPrometheus(gateway.httpPort);
  const home = await Home.at(gateway);
  onTestFinished(() => home.close());
  await home.nurse({ isDurable: true });
  const sensor = await home.sensor();
  await home.publish(sensor.device, 'alarms', 'no alarm');
  const values = Array.from({ length: RETAINED }, (_, n) => `value-${n}`);
  await Promise.all(values.map((rest) => sensor.publish(rest, '1', { retain: true })));
  const { panels } = dashboardSchema.parse(
    JSON.parse(readFileSync(`${DIRECTORY}/grafana.json`, 'utf8')),
  );
  const waiting = new Map(
    panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [expr, title])),
  );
  await until(
    async () => {
      await sensor.raise(10);
      for (const expr of waiting.keys()) {
        if (await prometheus.hasAnswer(asFilledIn(expr))) waiting.delete(expr);
      }
      return waiting.size === 0;
    },
    () => `answers to ${[...waiting].map(([expr, title]) => `${title}: ${expr}`).join('; ')}`,
  );
  expect(await prometheus.alerts()).toEqual(
    expect.objectContaining({ CareHomeBridgeDown: 'pending', CareHomeGatewayDown: 'inactive' }),
  );
});

/** A query as Grafana sends it, with the choice of all gateways. */
function asFilledIn(expr: string): string {
  return expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m');
}

const resultSchema = z.object({
  status: z.literal('success'),
  data: z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) }),
});
const alertsSchema = z.object({
  data: z.object({
    groups: z.array(
      z.object({
        rules: z.array(z.object({ name: z.string(), state: z.string(), health: z.string() })),
      }),
    ),
  }),
});

/** Starts a Prometheus with our configuration, which asks the gateway every second. */
async function startPrometheus(gatewayPort: number) {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-prometheus-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'prometheus.yaml');
  const configuration = readFileSync(`${DIRECTORY}/prometheus.yaml`, 'utf8')
    .replaceAll('15s', '1s')
    .replace('127.0.0.1:8080', `127.0.0.1:${gatewayPort}`);
  writeFileSync(file, stringify(parse(configuration)));
  cpSync(`${DIRECTORY}/alerts.yaml`, join(directory, 'alerts.yaml'));
  const address = `127.0.0.1:${await claimPort()}`;
  const program = new Program({ env: process.env });
  onTestFinished(() => program.kill());
  await program.ready('Server is ready to receive web requests', 'prometheus', [
    `--config.file=${file}`,
    `--storage.tsdb.path=${directory}`,
    `--web.listen-address=${address}`,
  ]);
  const ask = async (path: string) => (await fetch(`http://${address}/api/v1/${path}`)).json();
  return {
    /** Whether there is a value that is a number: an empty histogram has none. */
    hasAnswer: async (query: string) => {
      const { data } = resultSchema.parse(await ask(`query?query=${encodeURIComponent(query)}`));
      return data.result.some(({ value: [, text] }) => !Number.isNaN(Number(text)));
    },
    /** The state of each alert; each can be evaluated. */
    alerts: async () => {
      const { data } = alertsSchema.parse(await ask('rules'));
      const all = data.groups.flatMap((group) => group.rules);
      expect(all.map(({ name, health }) => [name, health])).toEqual(
        all.map(({ name }) => [name, 'ok']),
      );
      return Object.fromEntries(all.map(({ name, state }) => [name, state]));
    },
  };
}
