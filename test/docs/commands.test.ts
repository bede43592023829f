import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Checkout, Shell } from './checkout.js';
import { commandsOf, STARTS } from './commands.js';
import { codeIn, Page, rowsOf } from './page.js';

const [demo = '', adminToken = '', home = '', token = '', subscribe = '', publish = '', ...later] =
  commandsOf('README.md');
const [comeBack = '', history = ''] = later;

/** How the documents send requests. */
const AS_ADMIN = 'curl -sS --oauth2-bearer $ADMIN';

let checkout: Checkout;
let shell: Shell;

beforeAll(async () => {
  checkout = await Checkout.make();
  await checkout.start(STARTS.fromReadme);
});
afterEach(() => shell.end());
afterAll(() => checkout.remove());

describe('README.md', () => {
  it('shows the demo', async () => {
    shell = new Shell(checkout);
    expect(await shell.run(`${demo.trim()} -- --alarms 3\n`)).toContain(
      '3 published, 3 forwarded, 0 lost',
    );
  });

  it('leads from nothing to a received alarm, and to one that was queued', async () => {
    shell = new Shell(checkout);
    for (const block of [adminToken, home, token, subscribe]) await shell.run(block);
    // A person who types is slower than mosquitto_sub.
    await expect.poll(hasSubscribed).toBe(true);
    await shell.run(publish);
    const line = await shell.lines.next(/\/alarms\/fall \{/, 0);
    const [, shown = ''] =
      /alarms\/fall (\{[\s\S]*?\})\n```/.exec(new Page('README.md').text) ?? [];
    expect(shapeOf(JSON.parse(line.slice(line.indexOf('{'))))).toEqual(shapeOf(JSON.parse(shown)));
    expect(await shell.run(comeBack)).toMatch(
      /\/alarms\/helpCall \{.*"customData":\{"nurseCallId":"7a"/,
    );
    const { events } = historySchema.parse(
      JSON.parse(lineWith(await shell.run(history), 'events')),
    );
    expect(events.map(({ kind }) => kind)).toEqual(['helpCall', 'fall']);
    expect(later).toHaveLength(2);
  });
});

/** Whether the subscriber already gets published messages. */
async function hasSubscribed(): Promise<boolean> {
  await shell.run(publish.replace('"kind":"fall"', '"kind":"noise"'));
  return shell.lines.all.some((line) => line.includes('/alarms/noise {'));
}

const historySchema = z.object({ events: z.array(z.object({ kind: z.string() })) });

/** The shape of a value: the same for two values that differ only in numbers and texts. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]));
}

function lineWith(printed: string, text: string): string {
  return printed.split('\n').find((line) => line.includes(text)) ?? '';
}

/** Runs a page in a shell prepared like that of the README; returns what each of its blocks printed. */
async function run(path: string, asTested = (block: string) => block): Promise<string[]> {
  shell = new Shell(checkout);
  for (const block of [adminToken, home, token]) await shell.run(block);
  const printed: string[] = [];
  for (const block of commandsOf(path)) printed.push(await shell.run(asTested(block)));
  return printed;
}

describe('the commands of', () => {
  it('docs/reference/mqtt.md', async () => {
    const [published, received, command] = await run('docs/reference/mqtt.md');
    expect(published).not.toContain('rror');
    expect(received).toMatch(/\/battery \{"receivedAt":.*"data":\{"percent":81\}/);
    expect(received).toMatch(/^gateway\/status \{"online":true,.*"faults":\[/m);
    expect(command).toMatch(/^devices\/\S+\/commands\/led on$/m);
    const rejected = () => shell.run(`${AS_ADMIN} localhost:8080/care-homes/$LOCATION/rejected`);
    await expect.poll(rejected).toContain('"reason":"unknown-kind"');
    const acknowledged = `${AS_ADMIN} "localhost:8080/care-homes/$LOCATION/alarms?state=acknowledged"`;
    expect(await shell.run(acknowledged)).toContain('"note":"on my way"');
  });

  it('docs/guide/sensors.md', async () => {
    const printed = await run('docs/guide/sensors.md');
    expect(printed.at(-1)).toMatch(/"kind":"helpCall".*"kind":"helpCall"/);
  });

  it('docs/guide/nurse-call.md', async () => {
    const [, , received] = await run('docs/guide/nurse-call.md');
    expect(received).toMatch(/\/alarms\/fall \{/);
    const acknowledged = `${AS_ADMIN} "localhost:8080/care-homes/$LOCATION/alarms?state=acknowledged"`;
    await expect.poll(() => shell.run(acknowledged)).toContain('"note":"on my way"');
  });

  it('docs/guide/clients.md', async () => {
    const { GATEWAY_MQTT_PORT: mqttPort, GATEWAY_HTTP_PORT: httpPort } = checkout.environment;
    const [, python, nurse] = await run('docs/guide/clients.md', (block) =>
      block
        // The Python of the machine, which has paho.
        .replace(/^python3/, '/usr/bin/python3')
        .replace('"localhost", 1883', `"localhost", ${mqttPort}`)
        .replace('ws://localhost:8080', `ws://localhost:${httpPort}`),
    );
    expect(python).toContain('safe: True');
    expect(nurse).toContain('listening');
    const alarms = await shell.run(
      `${AS_ADMIN} "localhost:8080/care-homes/$LOCATION/alarms?limit=2"`,
    );
    for (const kind of ['fall', 'noise']) expect(alarms).toContain(`"kind":"${kind}"`);
  });

  it('docs/reference/http.md, which has every route', async () => {
    const [listed, , merged, , page, counts, drills, states, , , ready, metrics] =
      await run('docs/reference/http.md');
    expect(listed).toContain('"name":"Haus am See"');
    expect(merged).toContain('{"nurseCallId":"7a","bed":2}');
    expect(page).toContain('{"nextCursor":null,"events":[]}');
    expect(counts).toMatch(/^\{"buckets":\[\{"start":"[^}]*"counts":\{/);
    expect(drills).toContain('"state":"running"');
    expect(states).toMatch(/"state":"acknowledged".*"note":"on my way"\}$/m);
    expect(states).toMatch(/"state":"resolved"/);
    expect(ready).toContain('"ready":true');
    expect(metrics).toMatch(/^gateway_consumer_accepted_total\{consumer=".+",log="alarms"\}/m);
    const csv = readFileSync(join(checkout.directory, 'alarms.csv'), 'utf8');
    const columns = codeIn(
      new Page('docs/reference/http.md').text.split('The columns are')[1]?.split('\n\n')[0] ?? '',
    );
    expect(csv.split('\r\n')[0]).toBe(columns.join(','));
    const document = readFileSync(join(checkout.directory, 'openapi.json'), 'utf8');
    expect(documentedRoutes()).toEqual(routesIn(JSON.parse(document)));
  });

  it('docs/reference/http.md that show events', async () => {
    shell = new Shell(checkout);
    await shell.run(adminToken);
    const stream = commandsOf('docs/reference/http.md').find((block) => block.includes('/events'));
    await shell.run(stream ?? '');
    await expect.poll(() => shell.lines.all).toContain('event: open');
    await shell.run('kill %1');
  });

  it('docs/operate/roles.md', async () => {
    const [listed] = await run('docs/operate/roles.md');
    expect(listed).toContain('"name":"temporary staff"');
    expect(await shell.run(`${AS_ADMIN} localhost:8080/access-tokens`)).not.toContain(
      'temporary staff',
    );
  });

  it('docs/operate/footage.md', async () => {
    const [walk] = await run('docs/operate/footage.md');
    expect(walk).toMatch(/^100$/m);
  });

  it('docs/operate/audit.md', async () => {
    const [records] = await run('docs/operate/audit.md');
    expect(records).toMatch(
      /"action":"device.created","actor":\{"type":"access-token","id":"admin"/,
    );
  });

  it('docs/operate/bridges.md', async () => {
    expect(await run('docs/operate/bridges.md')).toEqual([expect.stringMatching(/^\[\]/)]);
  });

  it('docs/reference/guarantees.md', async () => {
    expect(await run('docs/reference/guarantees.md')).toEqual([
      expect.stringContaining('fault-not-found'),
    ]);
  });

  it('docs/operate/install.md', async () => {
    await run('docs/operate/install.md');
    const file = readFileSync(join(checkout.directory, 'tls.crt'));
    const { publicKey } = new X509Certificate(file);
    expect(publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
  });

  it('docs/operate/configuration.md', async () => {
    const valid = expect.stringContaining('the configuration is valid');
    expect(await run('docs/operate/configuration.md')).toEqual([valid, valid]);
  });
});

it('Ctrl-C ends the gateway cleanly; docs/operate/install.md starts it with a file', async () => {
  shell = new Shell(checkout);
  expect(await checkout.interrupt()).toBe(true);
  expect(new Page('docs/operate/install.md').blocks('sh')).toContain(STARTS.withFile);
  await checkout.start(STARTS.withFile);
  expect(await shell.run('curl -sS localhost:8080/readyz')).toContain('"ready":true');
  expect(await checkout.interrupt()).toBe(true);
});

/** `get /care-homes/<location>` and so on, from the tables of docs/reference/http.md. */
function documentedRoutes(): string[] {
  const rows = rowsOf(new Page('docs/reference/http.md').section('Resources'));
  const routes = rows.flatMap(([methods = '', paths = '']) =>
    codeIn(methods).flatMap((method) =>
      codeIn(paths).map((path) => `${method.toLowerCase()} ${path}`),
    ),
  );
  // MQTT over WebSocket is not an HTTP exchange, and not in the OpenAPI document.
  return routes.filter((route) => route !== 'get /mqtt').toSorted();
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

function routesIn(document: unknown): string[] {
  const { paths } = z
    .object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })
    .parse(document);
  const routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => METHODS.includes(method))
      .map((method) => `${method} ${path.replaceAll(/\{(\w+?)(?:Id)?\}/g, '<$1>')}`),
  );
  return routes.toSorted();
}
