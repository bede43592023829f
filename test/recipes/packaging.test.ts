/** The npm package (`debian.test.ts` has the other one), the container and the systemd units, as they are installed. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadConfig } from '../../src/config/load.js';
import { Lines } from '../harness/wait.js';

const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')));

const START_TIMEOUT_MS = 20_000;
const readyLine = z.object({
  addresses: z.object({ http: z.object({ port: z.number() }) }),
  console: z.string(),
  docs: z.string(),
});

const billSchema = z.object({
  bomFormat: z.literal('CycloneDX'),
  metadata: z.object({ component: z.object({ name: z.string(), version: z.string() }) }),
  components: z.array(z.object({ name: z.string(), version: z.string(), purl: z.string() })),
});

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'gateway-packaging-'));
});

afterAll(() => {
  rmSync(directory, { recursive: true });
});

async function textAt(url: string): Promise<string> {
  const answer = await fetch(url);
  expect([url, answer.status]).toEqual([url, 200]);
  return answer.text();
}

/** The environment without the variables that npm and vitest add. */
const environment = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' };

describe('the npm package', () => {
  const prefix = () => join(directory, 'prefix');
  const installed = () => join(prefix(), 'lib/node_modules/care-home-gateway');
  const command = () => join(prefix(), 'bin/care-home-gateway');
  let saidByNpm = '';

  beforeAll(() => {
    // Packed from the build for the tests.
    const packed = execFileSync(process.execPath, ['scripts/package.mjs', directory]).toString();
    const [npmPackage = ''] = packed.split('\n');
    const install = ['install', '--global', '--offline', '--prefix', prefix()];
    const run = spawnSync('npm', [...install, join(directory, npmPackage)], {
      // A user's npm settings are not part of the package.
      env: { ...environment, npm_config_userconfig: '/dev/null' },
      encoding: 'utf8',
    });
    saidByNpm = run.stdout + run.stderr;
  }, 180_000);

  it('installs without another package, a network, or a warning', () => {
    expect(saidByNpm.trim()).toMatch(/^added 1 package in \S+$/);
    expect(existsSync(join(installed(), 'node_modules'))).toBe(false);
  });

  it('contains the licence of each bundled package', () => {
    const text = readFileSync(join(installed(), 'dist/third-party-licenses.txt'), 'utf8');
    const packages = text.match(/^# \S+ \d+\.\d+\.\d+ \([\w.-]+\)$/gm) ?? [];
    expect(packages).toEqual(expect.arrayContaining([expect.stringMatching(/^# aedes /)]));
    expect(packages).toEqual(expect.arrayContaining([expect.stringMatching(/^# preact /)]));
    expect(text.match(/^Copyright /gim)?.length).toBeGreaterThan(packages.length / 2);
  });

  it('lists what runs, as CycloneDX', () => {
    const text = readFileSync(join(installed(), 'dist/sbom.cdx.json'), 'utf8');
    const bill = billSchema.parse(JSON.parse(text));
    expect(bill.metadata.component).toEqual({ name: 'care-home-gateway', version });
    const names = bill.components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['aedes', 'ioredis', 'mqtt', 'preact', 'zod']));
    expect(names).not.toContain('vitest');
  });

  it('has its own command', () => {
    const run = (...args: string[]) =>
      spawnSync(command(), args, { cwd: directory, env: environment, encoding: 'utf8' });
    expect(run('--version')).toMatchObject({ status: 0, stdout: `${version}\n` });
    expect(run('check-config')).toMatchObject({
      status: 0,
      stdout: 'the configuration is valid\n',
    });
  });

  it('starts, names the addresses of its console and documentation, serves them, and stops', async () => {
    const env = {
      ...environment,
      GATEWAY_DATA_DIR: join(directory, 'data'),
      GATEWAY_MQTT_PORT: '0',
      GATEWAY_HTTP_PORT: '0',
    };
    const gateway = spawn(command(), [], {
      cwd: directory,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void gateway.kill('SIGKILL'));
    const lines = new Lines();
    lines.read(gateway.stdout);
    const ready = await lines.next('"msg":"gateway ready"', 0, START_TIMEOUT_MS);
    const { addresses, console: page, docs } = readyLine.parse(JSON.parse(ready));
    expect(docs).toBe(`http://127.0.0.1:${addresses.http.port}/docs`);
    expect(page).toBe(`http://127.0.0.1:${addresses.http.port}/`);
    const [, script = ''] = /src="\.\/(console\/[^"]+\.js)"/.exec(await textAt(page)) ?? [];
    expect(await textAt(page + script)).not.toBe('');
    for (const url of [docs, `${docs}/swagger-ui.css`]) expect((await fetch(url)).status).toBe(200);
    gateway.kill('SIGTERM');
    expect(await once(gateway, 'exit')).toEqual([0, null]);
  });

  it('contains the documents and the service, but neither tests nor sources', () => {
    for (const name of ['README.md', 'LICENSE', 'CHANGELOG.md', 'docs/operate/install.md']) {
      expect(existsSync(join(installed(), name)), name).toBe(true);
    }
    expect(statSync(join(installed(), 'systemd/install.sh')).mode & 0o111).toBe(0o111);
    for (const name of ['test', 'src', 'scripts', 'dist/main.js.map']) {
      expect(existsSync(join(installed(), name)), name).toBe(false);
    }
  });
});

describe('the container', () => {
  const dockerfile = readFileSync('Dockerfile', 'utf8').replaceAll('\\\n', ' ');
  const instructions = (name: string) =>
    [...dockerfile.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(([, text = '']) => text);
  const variables = Object.fromEntries(
    instructions('ENV').flatMap((text) =>
      text
        .trim()
        .split(/\s+/)
        .map((pair) => pair.split('=')),
    ),
  );

  it('runs on Node.js 24, as its own user', () => {
    expect(instructions('FROM').every((image) => image.startsWith('node:24-'))).toBe(true);
    expect(instructions('USER')).toEqual(['care-home-gateway']);
  });

  it('identifies itself, with the version of the package', () => {
    const [labels = ''] = instructions('LABEL');
    const names = [...labels.matchAll(/org\.opencontainers\.image\.([a-z.]+)=/g)];
    expect(names.map(([, name]) => name)).toEqual(
      expect.arrayContaining(['title', 'description', 'licenses', 'version', 'revision']),
    );
    expect(instructions('ARG')).toContain(`VERSION=${version}`);
  });

  it('binds nothing but TLS to addresses other than loopback', () => {
    const config = loadConfig({ programDir: directory, cwd: directory, env: variables });
    expect(config.mqtt.host).toBe('127.0.0.1');
    expect(config.http.host).toBe('127.0.0.1');
    expect(config.allowPlaintext).toBe(false);
    expect(instructions('EXPOSE')).toEqual(['8883 8443']);
  });

  it('composes a service that publishes TLS only and may write only its data', () => {
    const compose = z
      .object({
        services: z.object({
          gateway: z.object({
            ports: z.array(z.string()),
            environment: z.record(z.string(), z.string()),
            volumes: z.array(z.string()),
            read_only: z.literal(true),
            cap_drop: z.tuple([z.literal('ALL')]),
            security_opt: z.tuple([z.literal('no-new-privileges:true')]),
            stop_grace_period: z.literal('15s'),
          }),
        }),
      })
      .parse(parse(readFileSync('compose.yaml', 'utf8')));
    const { ports, environment: set, volumes } = compose.services.gateway;
    expect(ports).toEqual(['8883:8883', '8443:8443']);
    expect(Object.keys(set)).toEqual(['GATEWAY_TLS_CERT_FILE', 'GATEWAY_TLS_KEY_FILE']);
    expect(volumes).toContain(`data:${variables['GATEWAY_DATA_DIR']}`);
  });
});

it('compose.demo.yaml runs the demo of a copy of the checkout, without a certificate', () => {
  const text = readFileSync('compose.demo.yaml', 'utf8');
  const { demo } = z
    .object({
      services: z.object({
        demo: z.object({
          image: z.string(),
          network_mode: z.literal('host'),
          volumes: z.tuple([z.literal('.:/checkout:ro')]),
          command: z.string(),
        }),
      }),
    })
    .parse(parse(text)).services;
  expect(demo.image).toMatch(/^node:24-/);
  const [, copy = '', script = ''] =
    /^sh -c "(.*) && exec npm run (\w+)"$/.exec(demo.command) ?? [];
  const to = join(directory, 'demo');
  mkdirSync(to);
  const here = copy.replace('/checkout', process.cwd());
  expect(spawnSync('bash', ['-o', 'pipefail', '-c', here], { cwd: to }).status).toBe(0);
  for (const name of ['node_modules', 'dist', '.git'])
    expect(existsSync(join(to, name))).toBe(false);
  const { scripts } = JSON.parse(readFileSync(join(to, 'package.json'), 'utf8'));
  const [, file = ''] = /exec node (\S+)/.exec(scripts[script]) ?? [];
  expect(existsSync(join(to, file))).toBe(true);
});

it('a tag makes a release with the package, both images and the bill of materials', () => {
  const step = z.object({ run: z.string().optional(), uses: z.string().optional() });
  const job = z.object({ steps: z.array(step), strategy: z.unknown().optional() });
  const { on, jobs } = z
    .object({
      on: z.object({ push: z.object({ tags: z.tuple([z.literal('v*')]) }) }),
      jobs: z.object({ package: job, image: job, release: job }),
    })
    .parse(parse(readFileSync('.github/workflows/release.yml', 'utf8')));
  expect(on.push.tags).toEqual(['v*']);
  const commands = Object.values(jobs).flatMap(({ steps }) => steps.map(({ run = '' }) => run));
  for (const command of commands) {
    expect([command, spawnSync('bash', ['-n'], { input: command }).status]).toEqual([command, 0]);
  }
  const all = commands.join('\n');
  for (const part of [
    'npm run package -- release',
    'dist/sbom.cdx.json',
    'docker build',
    'SHA256SUMS',
  ]) {
    expect(all).toContain(part);
  }
  expect(JSON.stringify(jobs.image.strategy)).toMatch(/amd64.*arm64/);
});

const ANALYZE = '/usr/bin/systemd-analyze';

describe('the systemd service', () => {
  const UNIT = 'etc/systemd/system/care-home-gateway.service';
  const TEMPLATE = 'etc/systemd/system/care-home-gateway@.service';
  const CONFIGURATION = 'etc/care-home-gateway/gateway.yaml';

  /** Installs a program's service below a directory. */
  function install(program: string, root: string) {
    const env = { ...environment, DESTDIR: root };
    return spawnSync(join(program, 'systemd/install.sh'), { env, encoding: 'utf8' });
  }

  function destination(name: string): string {
    const root = join(directory, name);
    mkdirSync(root);
    return root;
  }

  it('is installed by one command, with its paths, and keeps an existing configuration', () => {
    const root = destination('image');
    expect(install('.', root)).toMatchObject({ status: 0, stderr: '' });
    const unit = readFileSync(join(root, UNIT), 'utf8');
    expect(unit).toMatch(
      `${process.cwd()}/dist/main.js --config /etc/care-home-gateway/gateway.yaml`,
    );
    const template = readFileSync(join(root, TEMPLATE), 'utf8');
    expect(template).toMatch(
      `${process.cwd()}/dist/main.js --config /etc/care-home-gateway/%i.yaml`,
    );
    const [, node = ''] = /^ExecStart=(\S+) /m.exec(unit) ?? [];
    expect(existsSync(node)).toBe(true);
    expect(existsSync(join(root, 'usr/lib/sysusers.d/care-home-gateway.conf'))).toBe(true);
    const sample = readFileSync('config/gateway.yaml', 'utf8');
    expect(readFileSync(join(root, CONFIGURATION), 'utf8')).toBe(sample);
    writeFileSync(join(root, CONFIGURATION), 'site: mine\n');
    expect(install('.', root).status).toBe(0);
    expect(readFileSync(join(root, CONFIGURATION), 'utf8')).toBe('site: mine\n');
  });

  it('is not installed from an unbuilt program', () => {
    const program = destination('unbuilt');
    mkdirSync(join(program, 'systemd'));
    const script = readFileSync('systemd/install.sh');
    writeFileSync(join(program, 'systemd/install.sh'), script, { mode: 0o755 });
    const { status, stderr } = install(program, destination('nothing'));
    expect(status).toBe(1);
    expect(stderr).toBe(`install: ${program} is not built: npm ci && npm run build\n`);
  });

  it('confines the gateway of each of many homes like a single one', () => {
    const rules = (name: string) =>
      readFileSync(`systemd/${name}.service`, 'utf8')
        .split('\n')
        .filter((line) => !line.startsWith('#'));
    const [one, each] = [rules('care-home-gateway'), rules('care-home-gateway@')];
    // Each has its own configuration and data, and counts among all homes of the server.
    expect(each.filter((line) => !one.includes(line))).toEqual([
      'Description=Care-home gateway of %i',
      'Documentation=file:///opt/care-home-gateway/docs/operate/many-homes.md',
      'Slice=care-home-gateway.slice',
      'StateDirectory=care-home-gateway/%i',
      'Environment=GATEWAY_DATA_DIR=/var/lib/care-home-gateway/%i',
      'ExecStart=/usr/bin/node /opt/care-home-gateway/dist/main.js --config /etc/care-home-gateway/%i.yaml',
    ]);
    expect(one.filter((line) => !each.includes(line))).toHaveLength(5);
  });

  it.skipIf(!existsSync(ANALYZE))('is a valid unit for each of many homes', () => {
    const root = destination('units');
    expect(install('.', root).status).toBe(0);
    const instance = join(directory, 'care-home-gateway@haus-am-see.service');
    copyFileSync(join(root, TEMPLATE), instance);
    const { stderr } = spawnSync(ANALYZE, ['verify', instance], { encoding: 'utf8' });
    expect(stderr.split('\n').filter((line) => line.includes('care-home-gateway@'))).toEqual([]);
  });

  it
    .skipIf(!existsSync(ANALYZE))
    .each(['systemd/care-home-gateway.service', 'systemd/care-home-gateway@.service'])(
    'has an exposure of at most 1.5: %s',
    (unit) => {
      const { status, stdout } = spawnSync(
        ANALYZE,
        ['security', '--offline=true', '--threshold=15', '--no-pager', unit],
        { encoding: 'utf8' },
      );
      expect(stdout).toMatch(/Overall exposure level/);
      expect(status).toBe(0);
    },
  );
});
