import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LogSink } from '../../src/logging/log-sink.js';

const LINE = `${'x'.repeat(1023)}\n`;
const WAIT_MS = 30_000;
const SHORT_MS = 300;

let directory: string;
const open: number[] = [];

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

it('sends every line in order to a slow reader', async () => {
  const descriptor = pipe();
  const sink = new LogSink(descriptor, () => 'lost\n');
  for (let n = 0; n < 1_000; n++) sink.write(`${n} ${LINE}`);
  const lines = (await readAll(descriptor, sink)).trimEnd().split('\n');
  expect(lines.map((line) => Number(line.split(' ')[0]))).toEqual(
    Array.from({ length: 1_000 }, (_, n) => n),
  );
});

it('takes bounded memory and counts lost lines when the reader has stopped', async () => {
  const descriptor = pipe();
  const sink = new LogSink(descriptor, (count) => `lost ${count}\n`);
  for (let n = 0; n < 10_000; n++) sink.write(LINE);
  const text = await readAll(descriptor, sink);
  const kept = text.split(LINE).length - 1;
  const [, lost] = /lost (\d+)\n/.exec(text) ?? [];
  expect(kept).toBeGreaterThan(1_000);
  expect(kept + Number(lost)).toBe(10_000);
  expect(text.endsWith(`lost ${lost}\n`)).toBe(true);
});

it('counts unwritable lines, and continues once they can be written', async () => {
  const path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  const gone = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const sink = new LogSink(opened(path, constants.O_WRONLY), (count) => `lost ${count}\n`);
  closeSync(gone);
  for (let n = 0; n < 100; n++) sink.write(LINE);
  await sink.drain(SHORT_MS);
  // A sink that could never write would try its descriptor for ever, even after another file gets it.
  const text = await readAll(opened(path, constants.O_RDONLY | constants.O_NONBLOCK), sink);
  const [, lost] = /lost (\d+)\n/.exec(text) ?? [];
  expect(Number(lost)).toBeGreaterThan(0);
  expect(text.split(LINE).length - 1 + Number(lost)).toBe(100);
});
