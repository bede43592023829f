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
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Api } from '../harness/api.js';
import { ADMIN_TOKEN, GatewayProcess } from '../harness/gateway-process.js';
import { Subscriber } from '../harness/mqtt-clients.js';
import { Store } from '../harness/store.js';

const RUN_TIMEOUT_MS = 15_000;
/** Nothing in the log can tell it where there is none. */
const HTTP_PORT = 18_080;

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gateway-process-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

function run(args: readonly string[], environment: Record<string, string> = {}) {
  const env = { PATH: process.env['PATH'] ?? '', ...environment };
  // Ended when it runs on, which vitest could not see.
  const options = { env, encoding: 'utf8', timeout: RUN_TIMEOUT_MS } as const;
  const result = spawnSync(process.execPath, ['dist/main.js', ...args], options);
  return { status: result.status, output: result.stdout + result.stderr };
}

describe('check-config', () => {
  it('says that the sample is valid', () => {
    const { status, output } = run(['check-config', '--config', 'config/gateway.yaml']);
    expect([status, output]).toEqual([0, 'the configuration is valid\n']);
  });

  it('reports all faults at once, each with its path, and exits with 2', () => {
    const file = join(directory, 'gateway.yaml');
    writeFileSync(file, 'mqtt:\n  port: 70000\n  host: 0.0.0.0\nadminTokn: secret-in-a-typo\n');
    const { status, output } = run(['check-config', '--config', file], {
      GATEWAY_LOG_LEVEL: 'loud',
    });
    expect(status).toBe(2);
    for (const path of ['mqtt.port', 'mqtt.host', 'adminTokn', 'log.level']) {
      expect(output).toContain(`  ${path}: `);
    }
    expect(output).not.toContain('secret-in-a-typo');
  });

  it('takes no unknown variable, command or option', () => {
    expect(run(['check-config'], { GATEWAY_MQTT_PROT: '1' })).toMatchObject({
      status: 2,
      output: expect.stringContaining('GATEWAY_MQTT_PROT'),
    });
    for (const args of [['chekc-config'], ['--cfg', 'x'], ['check-config', 'more']]) {
      expect(run(args)).toMatchObject({ status: 2, output: expect.stringContaining('usage:') });
    }
  });
});

/** Starts the built gateway by a command of which it is the last part; its log, and its end. */
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
    .poll(
      () =>
        fetch(`http://127.0.0.1:${HTTP_PORT}/readyz`).then(
          ({ status }) => status,
          () => 0,
        ),
      {
        timeout: RUN_TIMEOUT_MS,
      },
    )
    .toBe(200);
}

describe('whatever becomes of the log', () => {
  it('a full disk under it leaves the gateway at work, and it stops in order', async () => {
    const full = openSync('/dev/full', 'w');
    const gateway = startedBy(process.execPath, ['dist/main.js'], full);
    await untilReady();
    gateway.kill('SIGTERM');
    expect(await once(gateway, 'exit')).toEqual([0, null]);
    closeSync(full);
  });

  it('a terminal that is closed ends the gateway in order', async () => {
    const script = 'test/harness/closed-terminal.py';
    const terminal = startedBy('python3', [script, process.execPath, 'dist/main.js'], 'pipe');
    let output = '';
    terminal.stdout?.on('data', (part: Buffer) => {
      output += part.toString();
    });
    await untilReady();
    terminal.stdin?.write('close\n');
    await once(terminal, 'exit');
    // By the signal of the terminal; its store has ended before it.
    expect(output).toMatch(/status -1\n$/);
    expect(existsSync(join(directory, 'data', 'redis', 'redis.sock'))).toBe(false);
  });
});

describe('the gateway process', () => {
  it('makes the first administrator its token, for its own eyes only', async () => {
    const environment = { GATEWAY_LOG_LEVEL: 'trace', GATEWAY_ADMIN_TOKEN: undefined };
    const gateway = await GatewayProcess.start(environment);
    const file = join(gateway.dataDir, 'admin.token');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const token = readFileSync(file, 'utf8').trim();
    await new Api(gateway, token).createLocation();
    expect(gateway.lines.join('\n')).not.toContain(token);
    // Where it is does stand there, once.
    const named = () => gateway.lines.filter((line) => line.includes(`"file":"${file}"`));
    expect(named()).toHaveLength(1);
    await gateway.stop();
    await gateway.start();
    expect(named()).toHaveLength(1);
    await gateway.remove();
  });

  it('takes whatever token it is configured with, and warns of one that could be guessed', async () => {
    const gateway = await GatewayProcess.start({ GATEWAY_ADMIN_TOKEN: 'short' });
    await new Api(gateway, 'short').createLocation();
    await gateway.logged('it could be guessed');
    await gateway.remove();
  });

  it('ends with 0 on SIGTERM, its connections closed and its store with it', async () => {
    const gateway = await GatewayProcess.start({ GATEWAY_LOG_LEVEL: 'debug' });
    const admin = { id: 'admin', token: ADMIN_TOKEN };
    const nurse = await Subscriber.connect(gateway, admin);
    const closed = new Promise<void>((resolve) => nurse.client.once('close', () => resolve()));
    expect(await gateway.stop()).toBe(0);
    await closed;
    expect(gateway.lines.at(-1)).toContain('"msg":"gateway stopped"');
    expect(gateway.lines.join('\n')).toContain('ready to exit');
    await gateway.remove();
  });

  it('does not start beside another one on the same data', async () => {
    const gateway = await GatewayProcess.start();
    const other = run([], {
      GATEWAY_DATA_DIR: gateway.dataDir,
      GATEWAY_MQTT_PORT: '0',
      GATEWAY_HTTP_PORT: '0',
    });
    expect(other.status).toBe(1);
    expect(fatalLine(other.output)).toEqual({
      msg: `gateway not started: another gateway is running on ${gateway.dataDir}`,
    });
    await gateway.remove();
  });

  it.each([
    ['mqtt', 'GATEWAY_MQTT_PORT', 'broker'],
    ['http', 'GATEWAY_HTTP_PORT', 'server'],
  ] as const)('says in one line which port it cannot have: %s', async (name, variable, other) => {
    const gateway = await GatewayProcess.start();
    const { port } = gateway.addresses[name];
    const { status, output } = run([], {
      ...{ GATEWAY_DATA_DIR: directory, GATEWAY_MQTT_PORT: '0', GATEWAY_HTTP_PORT: '0' },
      [variable]: String(port),
    });
    expect(status).toBe(1);
    expect(fatalLine(output)).toEqual({
      msg:
        `gateway not started: port ${port} on 127.0.0.1 is in use (EADDRINUSE): ` +
        `is another ${other} running? End it, or set ${name}.port`,
    });
    await gateway.remove();
  });

  it('does not start on the data of a newer version', async () => {
    const gateway = await GatewayProcess.start();
    const store = await Store.of(gateway);
    await store.redis.set('{site}:layout', '3');
    store.close();
    await gateway.stop();
    const { status, output } = run([], {
      ...{ GATEWAY_DATA_DIR: gateway.dataDir, GATEWAY_MQTT_PORT: '0', GATEWAY_HTTP_PORT: '0' },
    });
    expect(status).toBe(1);
    expect(fatalLine(output)).toEqual({
      msg:
        'gateway not started: the store was written by a newer version of the gateway ' +
        '(layout 3, this version knows 2): install that version, or restore a backup from before it',
    });
    // The store was stopped again.
    rmSync(gateway.dataDir, { recursive: true });
  });

  it('says in one line that the data directory cannot be had', () => {
    const file = join(directory, 'a file');
    writeFileSync(file, '');
    const { status, output } = run([], { GATEWAY_DATA_DIR: file });
    expect(status).toBe(1);
    expect(fatalLine(output)).toEqual({
      reason: expect.stringContaining('EEXIST'),
      msg: `gateway not started: ${file} is to be a directory, but a file is in its place: set dataDir`,
    });
  });

  it('does not start with a certificate that cannot be read: a fault of the configuration', () => {
    const files = { GATEWAY_TLS_CERT_FILE: '/none/a.crt', GATEWAY_TLS_KEY_FILE: '/none/a.key' };
    for (const args of [[], ['check-config']]) {
      const { status, output } = run(args, { ...files, GATEWAY_DATA_DIR: directory });
      expect(status).toBe(2);
      expect(output).toContain('  tls.certFile: GATEWAY_TLS_CERT_FILE: cannot be read (ENOENT)\n');
      expect(output).toContain('  tls.keyFile: GATEWAY_TLS_KEY_FILE: cannot be read (ENOENT)\n');
    }
  });

  it('has help and a version', () => {
    const { version } = z
      .object({ version: z.string() })
      .parse(JSON.parse(readFileSync('package.json', 'utf8')));
    expect(run(['--version'])).toEqual({ status: 0, output: `${version}\n` });
    const { status, output } = run(['--help']);
    expect([status, output]).toEqual([0, expect.stringMatching(/^usage: node dist\/main\.js /)]);
  });
});

/** The one line of level fatal, without what every line has; it is not to have a stack. */
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
