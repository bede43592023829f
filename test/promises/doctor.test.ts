/** What `doctor` finds before somebody else does (contract 6, doctor). */
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { Authority, type Certificate } from '../harness/certificates.js';
import { expect, type Gateway, type Own, test } from '../harness/index.js';
import { claimPort, Program } from '../harness/program.js';

const TIMEOUT = { timeout: 60_000 };
const CHECKS = 'configuration store disk clock certificate ports rights limits runtime'.split(' ');

/** Runs the built program's doctor on a data directory of its own, unless the variables name another. */
async function doctor(own: Own, env: Record<string, string | undefined> = {}) {
  const program = Program.run(process.execPath, ['dist/main.js', 'doctor'], {
    env: {
      PATH: process.env['PATH'],
      GATEWAY_DATA_DIR: own.directory(),
      GATEWAY_MQTT_PORT: '0',
      GATEWAY_HTTP_PORT: '0',
      ...env,
    },
  });
  const status = await program.exit();
  const { lines } = program;
  const failed = lines.filter((line) => line.startsWith('FAIL'));
  const advised = lines.filter(
    (line, at) => !line.startsWith('ok') && lines[at + 1]?.includes('->'),
  );
  return { status, lines, failed, advised };
}

const ofGateway = ({ variables }: Gateway) => variables;

test(
  'a healthy gateway has no FAIL, while it runs and while it is off',
  TIMEOUT,
  async ({ own }) => {
    const gateway = await own.gateway();
    for (const isRunning of [true, false]) {
      if (!isRunning) await gateway.stop();
      const { status, lines, failed } = await doctor(own, ofGateway(gateway));
      expect({ status, failed }).toEqual({ status: 0, failed: [] });
      const checked = lines.map((line) => /^(?:ok {2}|warn) {2}([a-z]+): /.exec(line)?.[1]);
      expect([...new Set(checked.filter(Boolean))]).toEqual(CHECKS);
      const port = isRunning ? 'The running gateway has them.' : 'They are free.';
      expect(lines).toContain(`ok    ports: ${port}`);
    }
  },
);

test(
  'a taken port, a readable secret, and what is missing are each a FAIL with advice',
  TIMEOUT,
  async ({ own }) => {
    const port = await claimPort();
    const server = createServer().listen(port, '127.0.0.1');
    own.onEnd(() => server.close());
    const dataDir = own.directory();
    writeFileSync(join(dataDir, 'admin.token'), 'a-token-of-the-administrator\n');
    chmodSync(join(dataDir, 'admin.token'), 0o644);
    const { status, failed, advised, lines } = await doctor(own, {
      PATH: '/nowhere',
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_MQTT_PORT: String(port),
    });
    expect(status).toBe(1);
    expect(failed).toEqual([
      'FAIL  store: Neither `redis-server` nor `valkey-server` is installed.',
      `FAIL  ports: Port ${port} cannot be opened (EADDRINUSE).`,
      'FAIL  rights: Other users may use the secret file admin.token.',
    ]);
    expect(advised).toHaveLength(lines.filter((line) => /^(?:warn|FAIL)/.test(line)).length);
  },
);

test('a certificate that has another key, or has ended, is a FAIL', TIMEOUT, async ({ own }) => {
  const authority = await Authority.create(own.directory());
  const ended = await authority.server('DNS:localhost', -1, 'ended');
  const good = await authority.server('DNS:localhost');
  const found = ({ certFile, keyFile }: Certificate) =>
    doctor(own, {
      GATEWAY_TLS_CERT_FILE: certFile,
      GATEWAY_TLS_KEY_FILE: keyFile,
      GATEWAY_MQTT_TLS_PORT: '0',
      GATEWAY_HTTP_TLS_PORT: '0',
    });
  const mixed = await found({ certFile: good.certFile, keyFile: ended.keyFile });
  expect(mixed.status).toBe(1);
  expect(mixed.failed).toEqual([
    expect.stringMatching(/^FAIL {2}configuration: .*tls\.keyFile: .*is not the key/),
  ]);
  const over = await found(ended);
  expect(over.status).toBe(1);
  expect(over.failed).toEqual(['FAIL  certificate: The TLS certificate has expired.']);
  // It has two days left.
  const ending = await found(good);
  expect(ending.status).toBe(0);
  expect(ending.lines).toContain('warn  certificate: The TLS certificate expires in 2 days.');
});

test('an unsafe store is a warning, and one that is away a FAIL', TIMEOUT, async ({ own }) => {
  const redis = await own.redis(['--appendonly', 'no']);
  const env = { GATEWAY_REDIS_URL: redis.url };
  const unsafe = await doctor(own, env);
  expect(unsafe.status).toBe(0);
  expect(unsafe.lines).toContainEqual(
    expect.stringMatching(/^warn {2}store: The store has appendonly off/),
  );
  await redis.remove();
  const away = await doctor(own, env);
  expect(away.status).toBe(1);
  expect(away.failed).toEqual([
    'FAIL  store: The store cannot be used: the store did not answer within 3000 ms.',
  ]);
});

test('GET /doctor has the same findings, in German too', async ({ home }) => {
  const schema = z.object({
    findings: z.array(z.object({ check: z.string(), state: z.string(), finding: z.string() })),
  });
  const found = async (language: string) => {
    const headers = { 'Accept-Language': language };
    const { json } = await home.must('GET', '/doctor', { headers });
    return schema.parse(json).findings;
  };
  const english = await found('en');
  expect(english.filter(({ state }) => state === 'fail')).toEqual([]);
  expect([...new Set(english.map(({ check }) => check))]).toEqual(CHECKS);
  expect(english).toContainEqual({
    check: 'store',
    state: 'ok',
    finding: 'It answers, and its settings are safe.',
  });
  expect(await found('de')).toContainEqual({
    check: 'ports',
    state: 'ok',
    finding: 'Das laufende Gateway hat sie.',
  });
});
