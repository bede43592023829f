/**
 * The gateway as a process: its commands and exit status, what it says in one line when it cannot start, and how it
 * ends on a signal. What the messages of a faulty configuration say is in test/units/config.test.ts.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ask, Client, expect, type Own, test, until } from '../harness/index.js';
import { claimPort } from '../harness/program.js';

const RUN_TIMEOUT_MS = 60_000;
const PATH = process.env['PATH'] ?? '';
const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')));

interface Run {
  readonly name: string;
  readonly args?: readonly string[];
  readonly env?: (own: Own) => Promise<Record<string, string>> | Record<string, string>;
  /** Its configuration file. */
  readonly yaml?: string;
  readonly status: number;
  /** What it prints, or texts that are in it. */
  readonly prints?: string;
  readonly has?: readonly string[];
  readonly hasNot?: string;
  /** Its only line of level fatal, without a stack. */
  readonly fatal?: RegExp;
}

const RUNS: readonly Run[] = [
  { name: 'prints its version', args: ['--version'], status: 0, prints: `${version}\n` },
  {
    name: 'accepts the sample',
    args: ['check-config', '--config', 'config/gateway.yaml'],
    status: 0,
    prints: 'the configuration is valid\n',
  },
  {
    name: 'reports all faults of a configuration together, and shows no secret',
    args: ['check-config', '--config'],
    yaml: `dataDir: /${'x'.repeat(90)}\nmqtt:\n  port: 70000\n  host: 0.0.0.0\nadminTokn: secret-in-a-typo\n`,
    env: () => ({ GATEWAY_LOG_LEVEL: 'loud', GATEWAY_MQTT_PROT: '1' }),
    status: 2,
    has: ['dataDir', 'mqtt.port', 'mqtt.host', 'adminTokn', 'log.level', 'GATEWAY_MQTT_PROT'].map(
      (path) => `  ${path}: `,
    ),
    hasNot: 'secret-in-a-typo',
  },
  {
    name: 'rejects a token that is easy to guess',
    args: ['check-config'],
    env: () => ({ GATEWAY_ADMIN_TOKEN: 'a'.repeat(15) }),
    status: 2,
    prints:
      'the configuration has one fault\n  adminToken: GATEWAY_ADMIN_TOKEN: must have at least 16 characters\n',
  },
  {
    name: 'rejects an unknown argument',
    args: ['check-config', 'more'],
    status: 2,
    has: ['usage:'],
  },
  {
    name: 'does not start with a certificate that it cannot read',
    env: () => ({ GATEWAY_TLS_CERT_FILE: '/none/a.crt', GATEWAY_TLS_KEY_FILE: '/none/a.key' }),
    status: 2,
    has: [
      '  tls.certFile: GATEWAY_TLS_CERT_FILE: cannot be read (ENOENT)\n',
      '  tls.keyFile: GATEWAY_TLS_KEY_FILE: cannot be read (ENOENT)\n',
    ],
  },
  {
    name: 'does not start when its data directory cannot be made',
    env: (own) => {
      const file = join(own.directory(), 'a file');
      writeFileSync(file, '');
      return { GATEWAY_DATA_DIR: file };
    },
    status: 1,
    fatal:
      /^failed to start the gateway: \S+a file is to be a directory, but a file is in its place: set dataDir$/,
  },
  {
    name: 'does not start on a store with another layout',
    env: async (own) => {
      const home = await own.home();
      // Nothing else tells a program that an older one wrote the store.
      await (await home.store()).redis.set('{site}:layout', '6');
      await home.close();
      await home.gateway.stop();
      return { GATEWAY_DATA_DIR: home.gateway.dataDir };
    },
    status: 1,
    fatal:
      /^failed to start the gateway: the store has layout 6, and this program has layout 2: install the version that wrote it, or move its data away as a backup and start with an empty store$/,
  },
  {
    name: 'does not start beside another gateway on the same data',
    env: async (own) => ({ GATEWAY_DATA_DIR: (await own.gateway()).dataDir }),
    status: 1,
    fatal: /^failed to start the gateway: another gateway is running on \S+$/,
  },
  {
    name: 'names the port that is in use',
    env: async (own) => ({ GATEWAY_MQTT_PORT: String((await own.gateway()).mqttPort) }),
    status: 1,
    fatal:
      /^failed to start the gateway: port \d+ on 127\.0\.0\.1 is in use \(EADDRINUSE\): is another broker running\? End it, or set mqtt\.port$/,
  },
];

for (const { name, args = [], env, yaml, status, prints, has = [], hasNot, fatal } of RUNS) {
  test(`the program ${name}`, { timeout: 60_000 }, async ({ own }) => {
    const directory = own.directory();
    const file = join(directory, 'gateway.yaml');
    if (yaml !== undefined) writeFileSync(file, yaml);
    const isCommand = args.length > 0;
    const ports = { GATEWAY_DATA_DIR: directory, GATEWAY_MQTT_PORT: '0', GATEWAY_HTTP_PORT: '0' };
    const all = ['dist/main.js', ...args, ...(yaml === undefined ? [] : [file])];
    // Kills a program that runs on, because vitest cannot.
    const run = spawnSync(process.execPath, all, {
      env: { PATH, ...(!isCommand && ports), ...(await env?.(own)) },
      encoding: 'utf8',
      timeout: RUN_TIMEOUT_MS,
    });
    const output = run.stdout + run.stderr;
    expect(`${run.status}: ${output}`).toMatch(new RegExp(`^${status}: `));
    if (prints !== undefined) expect(output).toBe(prints);
    for (const text of has) expect(output).toContain(text);
    if (hasNot !== undefined) expect(output).not.toContain(hasNot);
    if (fatal === undefined) return;
    const lines = output.split('\n').filter((line) => line.includes('"level":60'));
    expect(lines).toHaveLength(1);
    const line = z.looseObject({ msg: z.string() }).parse(JSON.parse(lines[0] ?? ''));
    expect(line.msg).toMatch(fatal);
    expect(line['err']).toBeUndefined();
  });
}

test('the first administrator’s token is made, readable by its own user, named in the log and never shown', async ({
  own,
}) => {
  const gateway = await own.gateway({
    env: { GATEWAY_LOG_LEVEL: 'trace', GATEWAY_ADMIN_TOKEN: undefined },
  });
  const file = join(gateway.dataDir, 'admin.token');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const token = readFileSync(file, 'utf8').trim();
  expect((await ask(gateway, 'GET', '/access-tokens', { token })).status).toBe(200);
  const named = () => gateway.lines.filter((line) => line.includes(`"file":"${file}"`));
  expect(named()).toHaveLength(1);
  await gateway.restart();
  expect(named()).toHaveLength(1);
  expect(gateway.lines.join('\n')).not.toContain(token);
});

test('SIGTERM closes the connections and the store, and the gateway ends with 0', {
  timeout: 60_000,
}, async ({ own }) => {
  const env = { GATEWAY_LOG_LEVEL: 'debug', GATEWAY_ADMIN_TOKEN: 'made-up-by-a-person' };
  const gateway = await own.gateway({ kind: 'process', env });
  const nurse = await Client.connect(gateway, {
    username: 'admin',
    password: 'made-up-by-a-person',
  });
  expect(await gateway.stop()).toBe(0);
  await nurse.closed();
  expect(gateway.lines.at(-1)).toContain('"msg":"gateway stopped"');
  expect(readFileSync(join(gateway.dataDir, 'redis/redis.log'), 'utf8')).toContain('ready to exit');
});

/** Runs a command in a terminal, closes the terminal at the first line of input, and prints the exit status. */
const TERMINAL = `
import os, pty, select, sys
process, terminal = pty.fork()
if process == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    ready, _, _ = select.select([terminal, 0], [], [])
    if 0 in ready:
        break
    os.read(terminal, 65536)
os.close(terminal)
_, status = os.waitpid(process, 0)
print("status", os.waitstatus_to_exitcode(status), flush=True)
`;

/** Starts the gateway by a command that ends with it, and resolves once it serves: a test without a log asks it. */
async function started(
  own: Own,
  [program, ...args]: readonly [string, ...string[]],
  output: number | 'pipe',
) {
  const directory = own.directory();
  const httpPort = await claimPort();
  const child = spawn(program, [...args, 'dist/main.js'], {
    env: {
      PATH,
      GATEWAY_DATA_DIR: directory,
      GATEWAY_MQTT_PORT: '0',
      GATEWAY_HTTP_PORT: String(httpPort),
    },
    stdio: ['pipe', output, 'inherit'],
  });
  own.onEnd(() => void child.kill('SIGKILL'));
  const isReady = () =>
    fetch(`http://127.0.0.1:${httpPort}/readyz`).then(
      (one) => one.ok,
      () => false,
    );
  await until(isReady, 'the gateway');
  return { child, directory };
}

test('a log on a full disk disturbs neither the gateway nor its end', { timeout: 60_000 }, async ({
  own,
}) => {
  const full = openSync('/dev/full', 'w');
  const { child } = await started(own, [process.execPath], full);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
  closeSync(full);
});

test('a closed terminal ends the gateway, after its store', { timeout: 60_000 }, async ({
  own,
}) => {
  const { child, directory } = await started(
    own,
    ['python3', '-c', TERMINAL, process.execPath],
    'pipe',
  );
  let output = '';
  child.stdout?.on('data', (part: Buffer) => {
    output += part.toString();
  });
  child.stdin?.write('close\n');
  await once(child, 'close');
  // The terminal's signal ended it.
  expect(output).toMatch(/status -1\n$/);
  expect(existsSync(join(directory, 'redis', 'redis.sock'))).toBe(false);
});
