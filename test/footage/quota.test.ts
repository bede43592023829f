import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { newRecording } from '../../src/domain/footage.js';
import { DiskReserve } from '../../src/footage/disk-reserve.js';
import { FootageFolder } from '../../src/footage/footage-folder.js';
import { UrlSignatures } from '../../src/footage/url-signatures.js';
import { quotaOf } from './quota.js';

async function* chunks(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(1024);
}

it('keeps nothing of a device that was deleted before the upload had its directory', async () => {
  const root = mkdtempSync(join(tmpdir(), 'gateway-footage-quota-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const directory = join(root, 'footage');
  const folder = new FootageFolder({
    ...{ directory, quota: quotaOf(directory), isKnown: () => false },
    signatures: new UrlSignatures(Buffer.from('key'), Date.now),
    reserve: new DiskReserve(root, 0),
    maxUploadBytes: 1024 * 1024,
    steadyNow: Date.now,
  });
  const recording = newRecording(randomUUID(), 'video', 'video/mp4');
  const upload = { recording, announcedBytes: 1024, chunks: chunks() };
  await expect(folder.receive(upload)).rejects.toMatchObject({ code: 'footage-not-found' });
  expect(existsSync(join(directory, recording.deviceId))).toBe(false);
});
