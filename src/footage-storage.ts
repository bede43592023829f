import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from './config/schema.js';
import { DiskReserve } from './footage/disk-reserve.js';
import { FolderFootageStore } from './footage/folder-footage-store.js';
import { FootageFolder } from './footage/footage-folder.js';
import { FootageQuota } from './footage/footage-quota.js';
import { FootageRetention } from './footage/footage-retention.js';
import { FootageWatch } from './footage/footage-watch.js';
import { S3FootageStore } from './footage/s3-footage-store.js';
import { UrlSignatures } from './footage/url-signatures.js';
import type { Releasers } from './releasers.js';
import { RetentionSchedule } from './retention-schedule.js';
import type { AuditTrail } from './site/audit-trail.js';
import { Footage } from './site/footage.js';
import type { FootageFiles } from './site/footage-store.js';
import type { Health } from './site/health.js';
import type { QuotaWatch } from './site/quota-watch.js';
import type { SiteEvents } from './site/site-events.js';
import type { SiteModel } from './site/site-model.js';
import { loadFootageKey } from './store/data-directory.js';

const DAY_MS = 24 * 3_600_000;
const RETENTION_INTERVAL_MS = DAY_MS;
const KEY_BYTES = 32;

/** The parts that handle the footage of alarms. */
export interface FootageParts {
  readonly footage: Footage;
  /** The recordings that the gateway serves itself; undefined when another server serves them. */
  readonly footageFiles: FootageFiles | undefined;
}

export interface FootageOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly health: Health;
  readonly releasers: Releasers;
  readonly model: SiteModel;
  readonly events: SiteEvents;
  readonly watch: QuotaWatch;
  /** How much a device may keep (`limits.device.footageBytes`, or its own). */
  readonly maxBytesOf: (deviceId: string) => number;
  readonly audit: AuditTrail;
  readonly now: () => number;
  /** The clock that ages are measured by. */
  readonly steadyNow: () => number;
}

/** Opens the configured S3-compatible server, or else a folder in the data directory. */
export async function openFootage(options: FootageOptions): Promise<FootageParts> {
  const { config, log, health, releasers, audit, model, events, watch } = options;
  const { maxBytesOf, now, steadyNow } = options;
  const { s3, maxUploadBytes, minFreeBytes } = config.footage;
  if (s3 !== undefined) {
    return { footage: new Footage(new S3FootageStore(s3), audit, now), footageFiles: undefined };
  }
  const directory = join(config.dataDir, 'footage');
  const signatures = new UrlSignatures(await signingKey(config.dataDir, log), now);
  const maxAgeMs = config.history.retentionDays * DAY_MS;
  const quota = new FootageQuota({ directory, watch, maxBytesOf });
  const retention = new FootageRetention({ directory, maxAgeMs, quota, now: steadyNow });
  // Alarms matter more than footage, and are forwarded without its folder, too.
  await retention.prepare().catch((error: unknown) => {
    log.error({ err: error }, 'failed to prepare the folder for recordings');
  });
  const schedule = new RetentionSchedule(retention, {
    ...{ what: 'recordings', intervalMs: RETENTION_INTERVAL_MS, log },
  });
  schedule.start();
  releasers.add(() => schedule.stop());
  const reserve = new DiskReserve(config.dataDir, minFreeBytes);
  const room = new FootageWatch(reserve, maxUploadBytes, health);
  room.start();
  releasers.add(() => room.stop());
  const isKnown = (deviceId: string) => model.device(deviceId) !== undefined;
  const footageFiles = new FootageFolder({
    ...{ directory, signatures, reserve, quota, isKnown, maxUploadBytes, steadyNow },
  });
  events.on('deviceDeleted', ({ id }) => {
    footageFiles.removeAllOf(id).then(
      () => room.check(),
      (error: unknown) => {
        log.warn({ deviceId: id, err: error }, 'failed to remove the recordings of a device');
      },
    );
  });
  return { footage: new Footage(new FolderFootageStore(signatures), audit, now), footageFiles };
}

/** Loads the signing key, or makes one for this run: a full disk must not stop the gateway. */
async function signingKey(dataDir: string, log: Logger): Promise<Buffer> {
  try {
    return Buffer.from(await loadFootageKey(dataDir));
  } catch (error) {
    log.error({ err: error }, 'failed to keep the key of footage URLs, a restart ends them');
    return randomBytes(KEY_BYTES);
  }
}
