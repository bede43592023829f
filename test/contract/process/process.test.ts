import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Api } from '../../former/clients/api.js';
import { Subscriber } from '../../former/clients/mqtt-clients.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { Authority } from '../../former/servers/certificates.js';
import { unusedPort } from '../../former/servers/unused-port.js';
import { Store } from '../../former/stored/store.js';

const RUN_TIMEOUT_MS = 60_000;
/** Chosen in advance, because a test without a log cannot read it there. */
const HTTP_PORT = await unusedPort();

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gateway-process-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

function run(args: readonly string[], environment: Record<string, string> = {}) {
  const env = { PATH: process.env['PATH'] ?? '', ...environment };
  // Kills a program that runs on, because vitest cannot.
  const options = { env, encoding: 'utf8', timeout: RUN_TIMEOUT_MS } as const;
  const result = spawnSync(process.execPath, ['dist/main.js', ...args], options);
  return { status: result.status, output: result.stdout + result.stderr };
}

describe('check-config', () => {
  it('accepts the sample', () => {
    const { status, output } = run(['check-config', '--config', 'config/gateway.yaml']);
    expect([status, output]).toEqual([0, 'the configuration is valid\n']);
  });

  it('reports all faults together, each with its path, and exits with 2', () => {
    const file = join(directory, 'gateway.yaml');
    const tooLong = `dataDir: /${'x'.repeat(90)}\n`;
    const mqtt = 'mqtt:\n  port: 70000\n  host: 0.0.0.0\n';
    writeFileSync(file, `${tooLong}${mqtt}adminTokn: secret-in-a-typo\n`);
    const { status, output } = run(['check-config', '--config', file], {
      GATEWAY_LOG_LEVEL: 'loud',
      GATEWAY_MQTT_PROT: '1',
    });
    expect(status).toBe(2);
    for (const path of ['dataDir', 'mqtt.port', 'mqtt.host', 'adminTokn', 'log.level']) {
      expect(output).toContain(`  ${path}: `);
    }
    expect(output).toContain('GATEWAY_MQTT_PROT');
    expect(output).not.toContain('secret-in-a-typo');
  });

  it('S16: warns of a token that is easy to guess, but accepts it', () => {
    const warning = 'warning: adminToken has less than 16 characters: it could be guessed\n';
    expect(run(['check-config'], { GATEWAY_ADMIN_TOKEN: 'a'.repeat(15) })).toEqual({
      status: 0,
      output: `the configuration is valid\n${warning}`,
    });
  });

  it('warns of a certificate that expires within 30 days, and refuses an expired one', async () => {
    const authority = await Authority.create(directory);
    const check = async (days: number) => {
      const { certFile, keyFile } = await authority.server('DNS:localhost', days);
      const files = { GATEWAY_TLS_CERT_FILE: certFile, GATEWAY_TLS_KEY_FILE: keyFile };
      return run(['check-config'], files);
    };
    const valid = 'the configuration is valid\n';
    const warning = 'warning: tls.certFile: The TLS certificate expires in 30 days.\n';
    expect(await check(32)).toEqual({ status: 0, output: valid });
    expect(await check(30)).toEqual({ status: 0, output: valid + warning });
    expect(await check(-1)).toEqual({
      status: 2,
      output: 'the configuration has one fault\n  tls.certFile: the certificate has ended\n',
    });
  });

  it('rejects an unknown command or option', () => {
    for (const args of [
      ['check-config', 'more'],
      ['--cfg', 'x'],
    ]) {
      expect(run(args)).toMatchObject({ status: 2, output: expect.stringContaining('usage:') });
    }
  });
});

/** Starts the built gateway by a command that ends with it; returns its log and its end. */
function startedBy(command: string, args: readonly string[], output: number | 'pipe') {
  const env = {
    PATH: process.env['PATH'] ?? '',
    GATEWAY_DATA_DIR: join(directory, 'data'),
    GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
    GATEWAY_MQTT_PORT: '0',
    GATEWAY_HTTP_PORT: String(HTTP_PORT),
  };
  return spawn(command, args, { env, stdio: ['pipe', output, 'inherit'] });
}

async function untilReady(): Promise<void> {
  await expect
    .poll(() =>
      fetch(`http://127.0.0.1:${HTTP_PORT}/readyz`).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200);
}

describe('a log that cannot be written', () => {
  it('does not disturb the gateway when the disk is full, nor its clean stop', async () => {
    const full = openSync('/dev/full', 'w');
    const gateway = startedBy(process.execPath, ['dist/main.js'], full);
    await untilReady();
    gateway.kill('SIGTERM');
    expect(await once(gateway, 'exit')).toEqual([0, null]);
    closeSync(full);
  });

  it('ends the gateway cleanly when the terminal is closed', async () => {
    const script = 'test/former/gateway/closed-terminal.py';
    const terminal = startedBy('python3', [script, process.execPath, 'dist/main.js'], 'pipe');
    let output = '';
    terminal.stdout?.on('data', (part: Buffer) => {
      output += part.toString();
    });
    await untilReady();
    terminal.stdin?.write('close\n');
    await once(terminal, 'exit');
    // The terminal's signal ended the gateway, after its store.
    expect(output).toMatch(/status -1\n$/);
    expect(existsSync(join(directory, 'data', 'redis', 'redis.sock'))).toBe(false);
  });
});

describe('the gateway process', () => {
  it('generates the first administrator’s token, readable only by its own user', async () => {
    const environment = { GATEWAY_LOG_LEVEL: 'trace', GATEWAY_ADMIN_TOKEN: undefined };
    const gateway = await GatewayHere.start(environment);
    const file = join(gateway.dataDir, 'admin.token');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const token = readFileSync(file, 'utf8').trim();
    await new Api(gateway, token).createLocation();
    expect(gateway.lines.join('\n')).not.toContain(token);
    // The log names the file, once.
    const named = () => gateway.lines.filter((line) => line.includes(`"file":"${file}"`));
    expect(named()).toHaveLength(1);
    await gateway.stop();
    await gateway.start();
    expect(named()).toHaveLength(1);
    await gateway.remove();
  });

  it('warns of a token that is easy to guess, and exits with 0 on SIGTERM, after closing its connections and its store', async () => {
    const environment = { GATEWAY_LOG_LEVEL: 'debug', GATEWAY_ADMIN_TOKEN: 'short' };
    const gateway = await GatewayProcess.start(environment);
    await gateway.logged('it could be guessed');
    const admin = { id: 'admin', token: 'short' };
    const nurse = await Subscriber.connect(gateway, admin);
    const closed = new Promise<void>((resolve) => nurse.client.once('close', () => resolve()));
    expect(await gateway.stop()).toBe(0);
    await closed;
    expect(gateway.lines.at(-1)).toContain('"msg":"gateway stopped"');
    const output = readFileSync(join(gateway.dataDir, 'redis/redis.log'), 'utf8');
    expect(output).toContain('ready to exit');
    await gateway.remove();
  });

  it('does not start on a store with another layout', async () => {
    const gateway = await GatewayHere.start();
    const store = await Store.of(gateway);
    await store.redis.set('{site}:layout', '6');
    store.close();
    await gateway.stop();
    const { status, output } = run([], {
      GATEWAY_DATA_DIR: gateway.dataDir,
      GATEWAY_MQTT_PORT: '0',
      GATEWAY_HTTP_PORT: '0',
    });
    expect(status).toBe(1);
    expect(fatalLine(output)).toEqual({
      msg:
        'failed to start the gateway: the store has layout 6, and this program has layout 1: install ' +
        'the version that wrote it, or move its data away as a backup and start with an empty store',
    });
    // The directory can be removed because the store was stopped again.
    rmSync(gateway.dataDir, { recursive: true });
  });

  it('reports in one line that the data directory cannot be created', () => {
    const file = join(directory, 'a file');
    writeFileSync(file, '');
    const { status, output } = run([], { GATEWAY_DATA_DIR: file });
    expect(status).toBe(1);
    expect(fatalLine(output)).toEqual({
      reason: expect.stringContaining('EEXIST'),
      msg: `failed to start the gateway: ${file} is to be a directory, but a file is in its place: set dataDir`,
    });
  });

  it('reports an unreadable certificate as a fault of the configuration', () => {
    const files = { GATEWAY_TLS_CERT_FILE: '/none/a.crt', GATEWAY_TLS_KEY_FILE: '/none/a.key' };
    const { status, output } = run([], { ...files, GATEWAY_DATA_DIR: directory });
    expect(status).toBe(2);
    expect(output).toContain('  tls.certFile: GATEWAY_TLS_CERT_FILE: cannot be read (ENOENT)\n');
    expect(output).toContain('  tls.keyFile: GATEWAY_TLS_KEY_FILE: cannot be read (ENOENT)\n');
  });

  it('prints its version', () => {
    const { version } = z
      .object({ version: z.string() })
      .parse(JSON.parse(readFileSync('package.json', 'utf8')));
    expect(run(['--version'])).toEqual({ status: 0, output: `${version}\n` });
  });
});

describe('a second gateway', () => {
  let first: GatewayHere;

  beforeAll(async () => {
    first = await GatewayHere.start();
  });

  afterAll(() => first.remove());

  function started(environment: Record<string, string>) {
    return run([], { GATEWAY_MQTT_PORT: '0', GATEWAY_HTTP_PORT: '0', ...environment });
  }

  it('does not start alongside another on the same data', () => {
    const { status, output } = started({ GATEWAY_DATA_DIR: first.dataDir });
    expect(status).toBe(1);
    expect(fatalLine(output)).toEqual({
      msg: `failed to start the gateway: another gateway is running on ${first.dataDir}`,
    });
  });

  it('reports in one line which port is in use', () => {
    const { port } = first.addresses.mqtt;
    const { status, output } = started({
      GATEWAY_DATA_DIR: directory,
      GATEWAY_MQTT_PORT: String(port),
    });
    expect(status).toBe(1);
    expect(fatalLine(output)).toEqual({
      msg:
        `failed to start the gateway: port ${port} on 127.0.0.1 is in use (EADDRINUSE): ` +
        'is another broker running? End it, or set mqtt.port',
    });
  });
});

/** The only line of level fatal, without the fields that every line has; it must have no stack. */
function fatalLine(output: string): Record<string, unknown> {
  const lines = output.split('\n').filter((line) => line.includes('"level":60'));
  expect(lines).toHaveLength(1);
  const {
    level: _level,
    time: _time,
    ...rest
  } = z.looseObject({}).parse(JSON.parse(lines[0] ?? ''));
  return rest;
}
