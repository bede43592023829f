import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { newRecording, type Recording } from '../../src/domain/footage.js';
import { DiskReserve } from '../../src/footage/disk-reserve.js';
import { FolderFootageStore } from '../../src/footage/folder-footage-store.js';
import { FootageFolder } from '../../src/footage/footage-folder.js';
import { quotaOf } from './quota.js';

async function* chunks(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(1024);
}

function recordingsOf(deviceId: string): [Recording, Recording, Recording] {
  const next = () => newRecording(deviceId, 'video', 'video/mp4');
  return [next(), next(), next()];
}

it('keeps nothing of a device that was deleted before the upload had its directory', async () => {
  const root = mkdtempSync(join(tmpdir(), 'gateway-footage-quota-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const directory = join(root, 'footage');
  const folder = new FootageFolder({
    directory,
    quota: quotaOf(directory),
    isKnown: () => false,
    store: new FolderFootageStore(Buffer.from('key'), Date.now),
    reserve: new DiskReserve(root, 0),
    maxUploadBytes: 1024 * 1024,
    steadyNow: Date.now,
  });
  const recording = newRecording(randomUUID(), 'video', 'video/mp4');
  const upload = { recording, announcedBytes: 1024, chunks: chunks() };
  await expect(folder.receive(upload)).rejects.toMatchObject({ code: 'footage-not-found' });
  expect(existsSync(join(directory, recording.deviceId))).toBe(false);
});

it('counts an upload once when recordings are recounted before it has ended', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-footage-quota-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const quota = quotaOf(directory, 300);
  const [one, other, third] = recordingsOf(randomUUID());
  const taken = await quota.begin(one, 100);
  taken.take(100);
  mkdirSync(dirname(join(directory, one.key)), { recursive: true });
  writeFileSync(join(directory, one.key), new Uint8Array(100));
  quota.forget(one.deviceId);
  const meanwhile = await quota.begin(other, 0);
  taken.end(true);
  meanwhile.end(false);
  const last = await quota.begin(third, 200);
  expect(() => last.take(201)).toThrow(expect.objectContaining({ code: 'insufficient-storage' }));
});
