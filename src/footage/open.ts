/** Opens the recordings: an S3-compatible server, or a folder in the data directory. */
import { join } from 'node:path';
import { loadSecret } from '../files.js';
import type { Foundation } from '../foundation.js';
import { runRetention } from '../releasers.js';
import type { AuditTrail } from '../site/audit-trail.js';
import { Footage } from '../site/footage.js';
import type { SiteParts } from '../site/open.js';
import { FootageFolder } from './folder.js';
import { Room } from './room.js';
import { S3FootageStore } from './s3.js';
import { SignedUrls } from './signed-urls.js';

const DAY_MS = 24 * 3_600_000;

/** The parts that handle alarm footage; `footageFiles` only where the gateway serves the recordings itself. */
export type FootageParts = Awaited<ReturnType<typeof openFootage>>;

/** Opens the configured S3-compatible server, or a folder in the data directory. */
export async function openFootage(
  { config, log, releasers, steady, now }: Foundation,
  audit: AuditTrail,
  { model, changes, watch, limits }: SiteParts,
) {
  const { dataDir } = config;
  const { s3, maxUploadBytes, minFreeBytes } = config.footage;
  if (s3 !== undefined) {
    const store = new S3FootageStore(s3);
    return {
      footage: new Footage(store, audit, now),
      footageFiles: undefined,
      removeRecording: (key: string) => store.remove(key, now()),
      origins: [store.origin],
    };
  }
  // Its file lets URLs outlive a restart; deleting it ends them all at the next start.
  const key = await loadSecret(join(dataDir, 'footage.key'), log);
  const urls = new SignedUrls(Buffer.from(key.text), now);
  const directory = join(dataDir, 'footage');
  const maxBytesOf = () => limits.device.footageBytes;
  const footageFiles = new FootageFolder({
    directory,
    urls,
    room: new Room({ directory, dataDir, minFreeBytes, maxBytesOf, watch }),
    isKnown: (deviceId) => model.device(deviceId) !== undefined,
    maxUploadBytes,
    maxAgeMs: config.history.retentionDays * DAY_MS,
    steadyNow: steady.now,
    log,
  });
  // Alarms matter more than footage: they are forwarded even without its folder.
  await footageFiles.prepare().catch((error: unknown) => {
    log.error({ err: error }, 'failed to prepare the folder for recordings');
  });
  releasers.add(runRetention(footageFiles, { what: 'recordings', intervalMs: DAY_MS, log }));
  changes.on('deviceDeleted', ({ id }) => {
    footageFiles.removeAllOf(id).catch((error: unknown) => {
      log.warn({ deviceId: id, err: error }, 'failed to remove the recordings of a device');
    });
  });
  const { publicUrl } = config.http;
  const origins = publicUrl === undefined ? [] : [new URL(publicUrl).origin];
  const removeRecording = (key: string) => footageFiles.remove(key);
  return { footage: new Footage(urls, audit, now), footageFiles, removeRecording, origins };
}
