/** Opens the recordings: an S3-compatible server, or a folder in the data directory. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import { loadSecret } from '../files.js';
import type { Foundation } from '../foundation.js';
import { runRetention } from '../releasers.js';
import type { AuditTrail } from '../site/audit-trail.js';
import { Footage } from '../site/footage.js';
import type { SiteParts } from '../site/open.js';
import { DiskReserve } from './disk-reserve.js';
import { FolderFootageStore } from './folder-footage-store.js';
import { FootageFolder } from './footage-folder.js';
import { FootageQuota } from './footage-quota.js';
import { FootageRetention } from './footage-retention.js';
import { FOOTAGE_CHECK_MS, FootageWatch } from './footage-watch.js';
import { S3FootageStore } from './s3-footage-store.js';

const DAY_MS = 24 * 3_600_000;
const RETENTION_INTERVAL_MS = DAY_MS;

/** The parts that handle alarm footage; `footageFiles` only where the gateway serves the recordings itself. */
export type FootageParts = Awaited<ReturnType<typeof openFootage>>;

/** Opens the configured S3-compatible server, or a folder in the data directory. */
export async function openFootage(
  { config, log, health, releasers, steady, now }: Foundation,
  audit: AuditTrail,
  { model, events, watch, limits }: SiteParts,
) {
  const { s3, maxUploadBytes, minFreeBytes } = config.footage;
  if (s3 !== undefined) {
    const store = new S3FootageStore(s3);
    const footage = new Footage(store, audit, now);
    return { footage, footageFiles: undefined, origins: [store.origin] };
  }
  const directory = join(config.dataDir, 'footage');
  const store = new FolderFootageStore(await signingKey(config.dataDir, log), now);
  const maxAgeMs = config.history.retentionDays * DAY_MS;
  const maxBytesOf = () => limits.device.footageBytes;
  const steadyNow = steady.now;
  const quota = new FootageQuota({ directory, watch, maxBytesOf });
  const retention = new FootageRetention({ directory, maxAgeMs, quota, now: steadyNow, log });
  // Alarms matter more than footage: they are forwarded even without its folder.
  await retention.prepare().catch((error: unknown) => {
    log.error({ err: error }, 'failed to prepare the folder for recordings');
  });
  const intervalMs = RETENTION_INTERVAL_MS;
  releasers.add(runRetention(retention, { what: 'recordings', intervalMs, log }));
  const reserve = new DiskReserve(config.dataDir, minFreeBytes);
  const room = new FootageWatch({ directory, reserve, quota, maxUploadBytes, model, health });
  room.check();
  releasers.every(FOOTAGE_CHECK_MS, () => room.check());
  const isKnown = (deviceId: string) => model.device(deviceId) !== undefined;
  const footageFiles = new FootageFolder({
    directory,
    store,
    reserve,
    quota,
    isKnown,
    maxUploadBytes,
    steadyNow,
  });
  events.on('deviceDeleted', ({ id }) => {
    footageFiles.removeAllOf(id).then(
      () => room.check(),
      (error: unknown) => {
        log.warn({ deviceId: id, err: error }, 'failed to remove the recordings of a device');
      },
    );
  });
  const { publicUrl } = config.http;
  const origins = publicUrl === undefined ? [] : [new URL(publicUrl).origin];
  const footage = new Footage(store, audit, now);
  return { footage, footageFiles, origins };
}

/** Loads the signing key. Its file lets URLs outlive a restart; deleting it ends them all at the next start. */
async function signingKey(dataDir: string, log: Logger): Promise<Buffer> {
  const { text } = await loadSecret(join(dataDir, 'footage.key'), log);
  return Buffer.from(text);
}
