import { expect, test } from 'vitest';
import { createLog } from '../src/log.js';

/** What the log writes for the call. */
function written(write: (log: ReturnType<typeof createLog>) => void, level = 'info'): string[] {
  const lines: string[] = [];
  write(createLog({ level, destination: { write: (line) => lines.push(line) } }));
  return lines;
}

test('a line is JSON with an ISO time, and names neither process nor host', () => {
  const [line = ''] = written((log) => log.info({ port: 1 }, 'gateway ready'));
  const entry: unknown = JSON.parse(line);
  expect(entry).toEqual({
    level: 30,
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    port: 1,
    msg: 'gateway ready',
  });
});

test('the level holds', () => {
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
])('%s is not shown, at any usual depth', (name) => {
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

test('an error is shown with code and causes, without the properties libraries put on it', () => {
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

test('an error that causes itself ends', () => {
  const error = new Error('circle');
  error.cause = error;
  expect(written((log) => log.error({ err: error }))).toHaveLength(1);
});
