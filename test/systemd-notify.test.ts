import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { notifySystemd } from '../src/systemd-notify.js';

/** A program that listens like systemd: prints what arrives on a datagram socket, a line each. */
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

// A machine without systemd lacks its program, too.
test.skipIf(!existsSync('/usr/bin/systemd-notify'))('notifies systemd', async () => {
  const socketPath = temporarySocket();
  const receiver = spawn('/usr/bin/python3', ['-c', RECEIVER, socketPath]);
  onTestFinished(() => void receiver.kill());
  const lines = createInterface({ input: receiver.stdout });
  await once(lines, 'line');
  const told = once(lines, 'line');
  await notifySystemd('READY=1', socketPath);
  expect(await told).toEqual(['READY=1']);
});

test('does nothing without systemd', async () => {
  await expect(notifySystemd('READY=1', undefined)).resolves.toBeUndefined();
  await expect(notifySystemd('READY=1', '')).resolves.toBeUndefined();
});

test('fails when nobody listens', async () => {
  await expect(notifySystemd('READY=1', temporarySocket())).rejects.toThrow();
});
