/**
 * The commands of the pages, executed as written in one checkout beside one gateway. Commands that no test can run are
 * valid in bash, and name files and scripts that exist.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { claimPort } from '../harness/program.js';
import { Lines } from '../harness/wait.js';

const textOf = (path: string) => readFileSync(path, 'utf8');
const PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** The blocks of commands of a page. */
const blocksOf = (path: string) =>
  [...textOf(path).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);

/** The texts in backquotes. */
const codeIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

/** Blocks that no test can run, by their beginning, with the reason. */
const NOT_RUN: ReadonlyMap<string, string> = new Map([
  ['cd /opt/care-home-gateway\nnpm ci', 'needs root, and systemd'],
  ['node /opt/care-home-gateway/dist/main.js check-config', 'the same'],
  ['systemctl stop care-home-gateway\ncd', 'the same'],
  ['systemctl disable --now care-home-gateway', 'the same'],
  ['systemctl stop care-home-gateway\nfind', 'the same'],
  ['apt-get install --yes redis-server', 'needs three machines; test/pair starts the files'],
  ['install -o redis -g redis -m 640 config/pair/redis.conf', 'the same'],
  ['install -o redis -g redis -m 640 config/pair/sentinel.conf', 'the same'],
  ['install -d /etc/care-home-gateway', 'the same'],
  ['install -d -m 700 /var/lib/care-home-gateway', 'the same'],
  ['install -D -m 755 config/pair/gateway-serves.sh', 'the same'],
  ['apt-get update', 'the same'],
  ['REDISCLI_AUTH=SENTINEL redis-cli -p 26379 sentinel failover', 'the same'],
  [
    'install -o redis -g redis -m 640 config/many-homes',
    'needs six machines; test/pair starts the file',
  ],
  ['REDISCLI_AUTH=STORE\nredis-cli --cluster create', 'the same'],
  ['systemctl enable --now care-home-gateway@', 'needs root, and systemd'],
  ['redis-cli --cluster add-node', 'needs six machines; test/pair moves slots'],
  [
    'npm install -g care-home-gateway',
    'the same; test/recipes/packaging.test.ts installs a package',
  ],
  [
    'apt-get install ./care-home-gateway',
    'the same; test/recipes/debian.test.ts installs a package',
  ],
  ['care-home-gateway check-config', 'the same'],
  [
    'apt-get install --yes --no-install-recommends prometheus',
    'the same; test/recipes/monitoring.test.ts runs it',
  ],
  ['docker compose', 'needs Docker, and a registry'],
  ['npm run bench', 'takes many minutes'],
  [
    'npm run chaos -- --minutes',
    'takes many minutes; test/faults/chaos.long.test.ts is a short run',
  ],
  ['npm run chaos -- --pair', 'the same; test/faults/chaos.long.test.ts is a short run'],
  ['npm run hostile', 'takes many minutes; test/budgets/hostile.long.test.ts is a short run'],
]);

/** Commands that start a gateway. */
const STARTS = {
  fromCheckout: 'npm start\n',
  withFile: 'node dist/main.js --config config/gateway.yaml\n',
};

/** Whether a test runs the block. */
function isRun(block: string): boolean {
  return [...NOT_RUN.keys()].every((beginning) => !block.startsWith(beginning));
}

/** The commands of a page that a test runs, in order, except those that start a gateway. */
function commandsOf(path: string): string[] {
  const starts = Object.values(STARTS);
  return blocksOf(path).filter((block) => isRun(block) && !starts.includes(block));
}

const READY_TIMEOUT_MS = 60_000;
/** Less than a test has, so that the error says what was printed. */
const BLOCK_TIMEOUT_MS = 20_000;
/** The ports that the documents name. */
const HTTP_PORT = 8080;

/**
 * A checkout in which the commands of the documents run as written.
 *
 * The gateway has its own ports; the clients get them from their configuration files, so no command
 * has to change.
 */
class Checkout {
  readonly directory: string;
  readonly environment: NodeJS.ProcessEnv;
  #gateway: ChildProcess | undefined;

  private constructor(directory: string, environment: NodeJS.ProcessEnv) {
    this.directory = directory;
    this.environment = environment;
  }

  static async make(): Promise<Checkout> {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-docs-'));
    for (const name of await readdir('.')) {
      if (name !== 'data') await symlink(resolve(name), join(directory, name));
    }
    const [mqttPort, httpPort] = [await claimPort(), await claimPort()];
    await writeFile(join(directory, 'mosquitto_sub'), `-p ${mqttPort}\n`);
    await writeFile(join(directory, 'mosquitto_pub'), `-p ${mqttPort}\n`);
    const connectTo = `connect-to = "localhost:${HTTP_PORT}:127.0.0.1:${httpPort}"\n`;
    await writeFile(join(directory, '.curlrc'), connectTo);
    return new Checkout(directory, {
      PATH: process.env['PATH'],
      HOME: directory,
      CURL_HOME: directory,
      XDG_CONFIG_HOME: directory,
      GATEWAY_MQTT_PORT: String(mqttPort),
      GATEWAY_HTTP_PORT: String(httpPort),
      // It is already installed and built; a build would take `dist` away from the other tests.
      npm_config_ignore_scripts: 'true',
    });
  }

  /** Runs a command that starts the gateway, until it is ready. */
  async start(command: string): Promise<void> {
    const child = spawn('bash', ['-c', command], {
      cwd: this.directory,
      env: this.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its own process group, as in its own terminal.
      detached: true,
    });
    this.#gateway = child;
    const lines = new Lines();
    lines.read(child.stdout);
    lines.read(child.stderr);
    await lines.next('"msg":"gateway ready"', 0, READY_TIMEOUT_MS);
  }

  /** Presses Ctrl-C in the terminal of the gateway. Returns whether it ended cleanly. */
  async interrupt(): Promise<boolean> {
    const child = this.#gateway;
    if (child?.pid === undefined || child.exitCode !== null) return false;
    // Not `exit`, which is the exit of npm; the gateway shares its output.
    const ended = once(child, 'close');
    process.kill(-child.pid, 'SIGINT');
    await ended;
    return !existsSync(join(this.directory, 'data', 'redis', 'redis.pid'));
  }

  async remove(): Promise<void> {
    await this.interrupt();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** A second terminal: runs blocks of commands in sequence; a block fails at its first failed command. */
class Shell {
  readonly lines = new Lines();
  readonly #child: ChildProcess;
  readonly #directory: string;
  #blocks = 0;

  constructor({ directory, environment }: Checkout) {
    this.#directory = directory;
    // mosquitto_sub would hold back its lines when it writes to a pipe.
    this.#child = spawn('stdbuf', ['-oL', 'bash', '--norc', '-s'], {
      cwd: directory,
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    if (this.#child.stdout !== null) this.lines.read(this.#child.stdout);
    if (this.#child.stderr !== null) this.lines.read(this.#child.stderr);
    this.#child.once('exit', (status) => this.lines.add(`the shell ended with ${status}`));
    // Jobs as in a terminal: `kill %1`.
    this.#child.stdin?.write('set -em -o pipefail\n');
  }

  /** Runs a block as written; returns what was printed meanwhile. */
  async run(block: string): Promise<string> {
    const from = this.lines.all.length;
    const end = `end of block ${++this.#blocks}`;
    const file = join(this.#directory, `.block-${this.#blocks}`);
    await writeFile(file, block);
    // curl ends what it prints without a line break.
    this.#child.stdin?.write(`. ${file} </dev/null\necho; echo '${end}'\n`);
    const last = await this.lines.next(/^(?:end of block|the shell ended)/, from, BLOCK_TIMEOUT_MS);
    const printed = this.lines.all.slice(from).join('\n');
    if (last !== end) throw new Error(`${last}:\n${block}\n${printed}`);
    return printed;
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await ended;
  }
}

const FIRST_ALARM = 'docs/guide/first-alarm.md';
const [adminToken = '', home = '', token = '', subscribe = '', publish = '', ...later] =
  commandsOf(FIRST_ALARM);
const [comeBack = '', history = ''] = later;

/** How the documents send requests. */
const AS_ADMIN = 'curl -sS --oauth2-bearer $ADMIN';

let checkout: Checkout;
let shell: Shell;

beforeAll(async () => {
  checkout = await Checkout.make();
  await checkout.start(STARTS.fromCheckout);
});
afterEach(() => shell.end());
afterAll(() => checkout.remove());

it('README.md shows the demo', async () => {
  const [demo = '', ...others] = commandsOf('README.md');
  shell = new Shell(checkout);
  expect(await shell.run(`${demo.trim()} -- --alarms 3\n`)).toContain(
    '3 published, 3 forwarded, 0 lost',
  );
  expect(others).toEqual([]);
});

describe(FIRST_ALARM, () => {
  it('leads from nothing to a received alarm, and to one that was queued', async () => {
    shell = new Shell(checkout);
    for (const block of [adminToken, home, token, subscribe]) await shell.run(block);
    // A person who types is slower than mosquitto_sub.
    await expect.poll(hasSubscribed).toBe(true);
    await shell.run(publish);
    const line = await shell.lines.next(/\/alarms\/fall \{/, 0);
    const [, shown = ''] = /alarms\/fall (\{[\s\S]*?\})\n```/.exec(textOf(FIRST_ALARM)) ?? [];
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

/** Runs a page in a shell prepared like that of the first alarm; returns what each of its blocks printed. */
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

  it('docs/guide/works-with.md', async () => {
    const [mosquitto] = await run('docs/guide/works-with.md');
    expect(mosquitto).toMatch(/^acknowledged$[\s\S]*^lost$/m);
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
      textOf('docs/reference/http.md').split('The columns are')[1]?.split('\n\n')[0] ?? '',
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

  it('docs/operate/certificates.md', async () => {
    await run('docs/operate/certificates.md');
    const [authority, device] = ['devices-ca.crt', 'device.crt'].map(
      (name) => new X509Certificate(readFileSync(join(checkout.directory, name))),
    );
    expect(authority?.ca).toBe(true);
    expect(device?.verify(authority?.publicKey ?? device.publicKey)).toBe(true);
    expect(device?.subject).toMatch(/^CN=[0-9a-f-]{36}$/);
  });

  it('docs/operate/backup.md', async () => {
    const [made, restored] = await run('docs/operate/backup.md');
    expect(made).toContain('wrote and verified');
    expect(restored).toMatch(/is whole, [\s\S]*restored the backup/);
  });

  it('docs/operate/configuration.md', async () => {
    const valid = expect.stringContaining('the configuration is valid');
    expect(await run('docs/operate/configuration.md')).toEqual([valid, valid]);
  });
});

it('Ctrl-C ends the gateway cleanly; docs/operate/install.md starts it with a file', async () => {
  shell = new Shell(checkout);
  expect(await checkout.interrupt()).toBe(true);
  expect(blocksOf('docs/operate/install.md')).toContain(STARTS.withFile);
  await checkout.start(STARTS.withFile);
  expect(await shell.run('curl -sS localhost:8080/readyz')).toContain('"ready":true');
  expect(await checkout.interrupt()).toBe(true);
});

it('commands that no test runs are valid, and name existing files and scripts', () => {
  const scripts = Object.keys(
    z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(textOf('package.json'))).scripts,
  );
  for (const block of PAGES.flatMap(blocksOf).filter((one) => !isRun(one))) {
    const { stderr } = spawnSync('bash', ['-n'], { input: block, encoding: 'utf8' });
    const files = block.match(/(?<=\s)(?:systemd|config|test)\/[\w./-]+/g) ?? [];
    const named = [...block.matchAll(/npm run ([a-z]+)/g)].map(([, name = '']) => name);
    const missing = [
      ...files.filter((file) => !existsSync(file)),
      ...named.filter((name) => !scripts.includes(name)),
    ];
    expect([block, stderr, missing]).toEqual([block, '', []]);
  }
});

/** `get /care-homes/<location>` and so on, from the tables of docs/reference/http.md. */
function documentedRoutes(): string[] {
  const section = textOf('docs/reference/http.md').split(/^## /m);
  const table = section.find((part) => part.startsWith('Routes\n')) ?? '';
  const rows = (table.match(/^\|.*$/gm) ?? []).map((line) => line.split('|').slice(1));
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
