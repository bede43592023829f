import { describe, expect, test } from 'vitest';
import { createLog } from '../../src/logging/log.js';
import { RepeatedLines } from '../../src/logging/repeated-lines.js';

/** The lines that the call logs. */
function written(write: (log: ReturnType<typeof createLog>) => void, level = 'info'): string[] {
  const lines: string[] = [];
  write(createLog({ level, destination: { write: (line) => lines.push(line) } }));
  return lines;
}

test('writes a line as JSON with an ISO time, without process and host', () => {
  const [line = ''] = written((log) => log.info({ port: 1 }, 'gateway ready'));
  const entry: unknown = JSON.parse(line);
  expect(entry).toEqual({
    level: 30,
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    port: 1,
    msg: 'gateway ready',
  });
});

test('respects the level', () => {
  expect(written((log) => log.info('a'), 'warn')).toEqual([]);
  expect(written((log) => log.fatal('a'), 'silent')).toEqual([]);
});

test.each([
  'authorization',
  'Authorization',
  'password',
  'token',
  'secret',
  'adminToken',
  'customData',
  'footage',
  'url',
  'uploadUrl',
  'secretAccessKey',
])('hides %s at any usual depth', (name) => {
  const secret = { [name]: 'hunter2' };
  const lines = written((log) => {
    log.info(secret);
    log.info({ request: secret });
    log.info({ request: { headers: secret } });
    log.info({ a: { request: { headers: secret } } });
    log.child({ request: secret }).info('child');
  });
  expect(lines).toHaveLength(5);
  for (const line of lines) {
    expect(line).not.toContain('hunter2');
    expect(line).toContain('[redacted]');
  }
});

test('shows an error with code and causes, without the properties that libraries add', () => {
  const inner = Object.assign(new Error('inner'), { command: { name: 'set', args: ['hunter2'] } });
  const outer = Object.assign(new Error('outer', { cause: inner }), { code: 'ECONNREFUSED' });
  const [line = ''] = written((log) => log.error({ err: outer }, 'failed'));
  expect(line).not.toContain('hunter2');
  expect(JSON.parse(line)).toMatchObject({
    err: {
      type: 'Error',
      message: 'outer',
      code: 'ECONNREFUSED',
      stack: expect.stringContaining('outer'),
      cause: { message: 'inner' },
    },
  });
});

test('shows an error whose cause is itself', () => {
  const error = new Error('circle');
  error.cause = error;
  expect(written((log) => log.error({ err: error }))).toHaveLength(1);
});

test('omits a write refused because another gateway has the lease', () => {
  const refused = new Error('FENCED another gateway holds the lease');
  const cause = new Error('The store does not answer.', { cause: refused });
  expect(written((log) => log.error({ err: refused }, 'failed'))).toEqual([]);
  expect(written((log) => log.warn({ err: cause }, 'failed'))).toEqual([]);
});

describe('a line that names its subject', () => {
  /** The fields and messages written for the same call, made three times. */
  function thrice(call: (log: ReturnType<typeof createLog>) => void, level = 'info'): unknown[] {
    const lines: string[] = [];
    const repeated = new RepeatedLines(() => 0);
    const write = (line: string) => lines.push(line);
    const log = createLog({ level, destination: { write }, repeated });
    for (let time = 1; time <= 3; time++) call(log);
    repeated.stop();
    return lines.map((line) => {
      const { time, ...rest } = JSON.parse(line);
      return rest;
    });
  }

  test.each(['principal', 'deviceId', 'bridge', 'address', 'session', 'clientId', 'log', 'part'])(
    'is held back when it repeats: %s',
    (name) => {
      const line = { level: 40, [name]: 'x', reason: 'y', msg: 'denied' };
      const logged = thrice((log) => log.warn({ [name]: 'x', reason: 'y' }, 'denied'));
      expect(logged).toEqual([line, { ...line, repeated: 2 }]);
    },
  );

  test('is held back when its log belongs to the subject', () => {
    const line = { level: 30, bridge: 'region', msg: 'bridge connected' };
    const logged = thrice((log) => log.child({ bridge: 'region' }).info('bridge connected'));
    expect(logged).toEqual([line, { ...line, repeated: 2 }]);
  });

  test('is identified by the principal rather than by its choice of client id', () => {
    let count = 0;
    const logged = thrice((log) => log.info({ clientId: `${count++}`, principal: 'x' }, 'denied'));
    expect(logged).toMatchObject([{ clientId: '0' }, { clientId: '2', repeated: 2 }]);
  });

  test('is identified by the /64 network of an IPv6 address, which gives a stranger 2^64 addresses', () => {
    let count = 0;
    const logged = thrice((log) => log.info({ address: `2001:db8::${++count}` }, 'denied'));
    expect(logged).toMatchObject([
      { address: '2001:db8::1' },
      { address: '2001:db8::3', repeated: 2 },
    ]);
  });

  test('is written each time at debug level, with repetitions marked', () => {
    const logged = thrice((log) => log.info({ address: 'x' }, 'denied'), 'debug');
    expect(logged).toMatchObject([{ level: 30 }, { level: 20 }, { level: 20 }, { repeated: 2 }]);
  });

  test('truncates texts chosen by a stranger', () => {
    const topic = 'x'.repeat(1_000);
    const [line] = thrice((log) => log.info({ deviceId: 'x', topic }, 'invalid publish'));
    expect(line).toMatchObject({ topic: topic.slice(0, 256) });
  });

  test('hides secrets, even in the repetition', () => {
    const logged = thrice((log) => log.info({ address: 'x', password: 'hunter2' }, 'denied'));
    expect(logged).toMatchObject([{ password: '[redacted]' }, { password: '[redacted]' }]);
  });
});

test('a line without a subject is written each time', () => {
  const lines: string[] = [];
  const write = (line: string) => lines.push(line);
  const repeated = new RepeatedLines(() => 0);
  const log = createLog({ level: 'info', destination: { write }, repeated });
  for (let time = 1; time <= 3; time++) log.error({ err: new Error('x') }, 'failed');
  expect(lines).toHaveLength(3);
});
