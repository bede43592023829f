import { expect, test } from 'vitest';
import { createLog } from '../src/log.js';

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

test('shows an error that causes itself', () => {
  const error = new Error('circle');
  error.cause = error;
  expect(written((log) => log.error({ err: error }))).toHaveLength(1);
});
