/** The log: what a line holds and hides, how a repeated one is held back, and that a slow reader of it loses nothing unseen. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLog, LogSink, RepeatedLines } from '../../src/logging/log.js';

/** The lines that the call logs. */
function written(write: (log: ReturnType<typeof createLog>) => void, level = 'info'): string[] {
  const lines: string[] = [];
  write(createLog(level, { write: (line) => lines.push(line) }));
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
    const log = createLog(level, { write }, repeated);
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
  const log = createLog('info', { write }, repeated);
  for (let time = 1; time <= 3; time++) log.error({ err: new Error('x') }, 'failed');
  expect(lines).toHaveLength(3);
});

const MINUTE_MS = 60_000;

/** Lines held back by a clock that the test moves, and the lines written. */
class Repeating {
  readonly written: string[] = [];
  readonly lines = new RepeatedLines(() => this.nowMs);
  nowMs = 1_000;

  /** Logs a line; it is written immediately, or later with the number of lines held back. */
  log(subject: string, message = 'denied', text = message): void {
    const write = (repeated: number) => this.written.push(`${text} ${subject} +${repeated}`);
    if (!this.lines.holdsBack(message, subject, write)) this.written.push(`${text} ${subject}`);
  }

  pass(ms: number): string[] {
    this.nowMs += ms;
    this.lines.sweep();
    return this.written.splice(0);
  }
}

describe('a repeated line', () => {
  test('is written immediately, then once a minute as its last repetition, with their number', () => {
    const repeating = new Repeating();
    for (let time = 1; time <= 5; time++) repeating.log('a', 'denied', `denied ${time}`);
    expect(repeating.pass(MINUTE_MS - 1)).toEqual(['denied 1 a']);
    expect(repeating.pass(1)).toEqual(['denied 5 a +4']);
    repeating.log('a');
    expect(repeating.pass(MINUTE_MS - 1)).toEqual([]);
    expect(repeating.pass(1)).toEqual(['denied a +1']);
  });

  test('is written immediately again after a quiet minute', () => {
    const repeating = new Repeating();
    repeating.log('a');
    expect(repeating.pass(MINUTE_MS)).toEqual(['denied a']);
    repeating.log('a');
    expect(repeating.written).toEqual(['denied a']);
  });

  test('is separate for each subject and each message', () => {
    const repeating = new Repeating();
    for (const subject of ['a', 'b', 'a', 'b']) {
      for (const message of ['denied', 'invalid']) repeating.log(subject, message);
    }
    expect(repeating.written).toEqual(['denied a', 'invalid a', 'denied b', 'invalid b']);
  });

  test('is remembered for a bounded number of subjects, and for the others together', () => {
    const repeating = new Repeating();
    for (let number = 1; number <= 50_000; number++) repeating.log(`address ${number}`);
    repeating.log('device', 'invalid');
    const written = repeating.written.splice(0);
    expect(written).toHaveLength(1_002);
    expect(written.slice(-2)).toEqual(['denied address 1001', 'invalid device']);
    expect(repeating.pass(MINUTE_MS)).toEqual(['denied address 50000 +48999']);
    expect(repeating.pass(MINUTE_MS)).toEqual([]);
    repeating.log('address 1001');
    expect(repeating.written).toEqual(['denied address 1001']);
  });

  test('is written at the stop if it was held back', () => {
    const repeating = new Repeating();
    repeating.lines.start();
    for (const subject of ['a', 'b', 'b', 'b']) repeating.log(subject);
    repeating.lines.stop();
    expect(repeating.written).toEqual(['denied a', 'denied b', 'denied b +2']);
    repeating.lines.stop();
    expect(repeating.written).toHaveLength(3);
  });
});

const LINE = `${'x'.repeat(1023)}\n`;
const WAIT_MS = 30_000;
const SHORT_MS = 300;

let directory: string;
const open: number[] = [];

describe('a sink of log lines', () => {
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'gateway-log-'));
  });

  afterEach(() => {
    for (const descriptor of open.splice(0)) closeSync(descriptor);
    rmSync(directory, { recursive: true });
  });

  function opened(path: string, flags: number): number {
    const descriptor = openSync(path, flags);
    open.push(descriptor);
    return descriptor;
  }

  /** Opens both ends of a non-blocking pipe. */
  function pipe(): number {
    const path = join(directory, 'pipe');
    execFileSync('mkfifo', [path]);
    return opened(path, constants.O_RDWR | constants.O_NONBLOCK);
  }

  /** Reads until the sink has written everything. */
  async function readAll(descriptor: number, sink: LogSink): Promise<string> {
    const parts: Buffer[] = [];
    const buffer = Buffer.alloc(1 << 20);
    let isDrained = false;
    const drained = sink.drain(WAIT_MS).then(() => {
      isDrained = true;
    });
    for (;;) {
      try {
        const count = readSync(descriptor, buffer);
        parts.push(Buffer.from(buffer.subarray(0, count)));
      } catch {
        // The pipe is empty.
        if (isDrained) break;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    await drained;
    return Buffer.concat(parts).toString();
  }

  test('sends every line in order to a slow reader', async () => {
    const descriptor = pipe();
    const sink = new LogSink(descriptor);
    for (let n = 0; n < 1_000; n++) sink.write(`${n} ${LINE}`);
    const lines = (await readAll(descriptor, sink)).trimEnd().split('\n');
    expect(lines.map((line) => Number(line.split(' ')[0]))).toEqual(
      Array.from({ length: 1_000 }, (_, n) => n),
    );
  });

  test('takes bounded memory and counts lost lines when the reader has stopped', async () => {
    const descriptor = pipe();
    const sink = new LogSink(descriptor);
    for (let n = 0; n < 10_000; n++) sink.write(LINE);
    const text = await readAll(descriptor, sink);
    const kept = text.split(LINE).length - 1;
    const { count, msg } = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '');
    expect(kept).toBeGreaterThan(1_000);
    expect([kept + count, msg]).toEqual([10_000, 'failed to write log lines, they are lost']);
  });

  test('keeps unwritable lines, and writes them once it can', async () => {
    const path = join(directory, 'pipe');
    execFileSync('mkfifo', [path]);
    const gone = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const sink = new LogSink(opened(path, constants.O_WRONLY));
    closeSync(gone);
    for (let n = 0; n < 100; n++) sink.write(LINE);
    await sink.drain(SHORT_MS);
    // A sink that could never write would try its descriptor for ever, even after another file gets it.
    const text = await readAll(opened(path, constants.O_RDONLY | constants.O_NONBLOCK), sink);
    expect(text).toBe(LINE.repeat(100));
  });
});
