/** What the gateway tells systemd. */
import { spawn } from 'node:child_process';
import { on } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { notifySystemd, watchdogTimeoutMs } from '../../src/systemd-notify.js';
import { describe, expect, test } from '../harness/index.js';

/** A program that listens like systemd: prints what arrives on a datagram socket, one line each. */
const RECEIVER = `
import socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print('bound', flush=True)
while True:
    print(receiver.recv(4096).decode().strip(), flush=True)
`;

function temporarySocket(): string {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-notify-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return join(directory, 'notify');
}

/** Listens on a socket like systemd; `next` resolves to the next message. */
async function listening(): Promise<{ socketPath: string; next: () => Promise<string> }> {
  const socketPath = temporarySocket();
  const receiver = spawn('/usr/bin/python3', ['-c', RECEIVER, socketPath]);
  onTestFinished(() => void receiver.kill());
  const lines = on(createInterface({ input: receiver.stdout }), 'line');
  const next = async (): Promise<string> => {
    const line = String((await lines.next()).value);
    // The program only waits for this message to be read.
    return line === 'BARRIER=1' ? next() : line;
  };
  expect(await next()).toBe('bound');
  return { socketPath, next };
}

// A machine without systemd also lacks its program.
describe.skipIf(!existsSync('/usr/bin/systemd-notify'))('with systemd', () => {
  test('notifies it', async () => {
    const { socketPath, next } = await listening();
    await notifySystemd('READY=1', socketPath);
    expect(await next()).toBe('READY=1');
  });

  test('the gateway reports that it is ready, repeatedly that it is alive, and that it stops', async ({
    own,
  }) => {
    const { socketPath, next } = await listening();
    const env = { NOTIFY_SOCKET: socketPath, WATCHDOG_USEC: '600000' };
    const gateway = await own.gateway({ kind: 'process', env });
    expect(await next()).toBe('READY=1');
    for (let count = 0; count < 3; count++) expect(await next()).toBe('WATCHDOG=1');
    await gateway.stop();
    let last = await next();
    while (last === 'WATCHDOG=1') last = await next();
    expect(last).toBe('STOPPING=1');
  });
});

test('knows how often systemd expects a sign of life from this process', () => {
  expect(watchdogTimeoutMs({ WATCHDOG_USEC: '60000000' }, 7)).toBe(60_000);
  expect(watchdogTimeoutMs({ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '7' }, 7)).toBe(60_000);
  expect(watchdogTimeoutMs({ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '8' }, 7)).toBeUndefined();
  expect(watchdogTimeoutMs({ WATCHDOG_USEC: 'x' }, 7)).toBeUndefined();
  expect(watchdogTimeoutMs({}, 7)).toBeUndefined();
});

test('does nothing without systemd', async () => {
  await expect(notifySystemd('READY=1', undefined)).resolves.toBeUndefined();
  await expect(notifySystemd('READY=1', '')).resolves.toBeUndefined();
});

test('fails when nobody is listening', async () => {
  await expect(notifySystemd('READY=1', temporarySocket())).rejects.toThrow();
});
