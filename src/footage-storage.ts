import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from './config/schema.js';
import { DiskReserve } from './footage/disk-reserve.js';
import { FolderFootageStore } from './footage/folder-footage-store.js';
import { FootageFolder } from './footage/footage-folder.js';
import { FootageRetention } from './footage/footage-retention.js';
import { S3FootageStore } from './footage/s3-footage-store.js';
import { UrlSignatures } from './footage/url-signatures.js';
import type { Releasers } from './releasers.js';
import { RetentionSchedule } from './retention-schedule.js';
import type { AuditTrail } from './site/audit-trail.js';
import { Footage } from './site/footage.js';
import type { FootageFiles } from './site/footage-store.js';
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
  readonly releasers: Releasers;
  readonly audit: AuditTrail;
  readonly now: () => number;
  /** The clock that ages are measured by. */
  readonly steadyNow: () => number;
}

/** Opens the configured S3-compatible server, or else a folder in the data directory. */
export async function openFootage(options: FootageOptions): Promise<FootageParts> {
  const { config, log, releasers, audit, now, steadyNow } = options;
  const { s3, maxUploadBytes, minFreeBytes } = config.footage;
  if (s3 !== undefined) {
    return { footage: new Footage(new S3FootageStore(s3), audit, now), footageFiles: undefined };
  }
  const directory = join(config.dataDir, 'footage');
  const signatures = new UrlSignatures(await signingKey(config.dataDir, log), now);
  const maxAgeMs = config.history.retentionDays * DAY_MS;
  const retention = new FootageRetention({ directory, maxAgeMs, now: steadyNow });
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
  return {
    footage: new Footage(new FolderFootageStore(signatures), audit, now),
    footageFiles: new FootageFolder({
      ...{ directory, signatures, reserve, maxUploadBytes, steadyNow },
    }),
  };
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
