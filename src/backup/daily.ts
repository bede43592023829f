/**
 * The daily backup (contract 6), made by the running gateway beside its work.
 *
 * The files say what has been done: one is due while the directory has none since the last time of day, so a gateway that
 * was off makes it at its next start. A failure is a fault until one succeeds.
 */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DailySchedule, TimeZone } from '../domain/calendar.js';
import { fault } from '../domain/fault.js';
import { GatewayError } from '../errors.js';
import type { Foundation } from '../foundation.js';
import { oneAtATime } from '../releasers.js';
import { DRAFT_SUFFIX } from './archive.js';
import { makeBackup } from './backup.js';

const LOOK_EVERY_MS = 1_000;
const RETRY_AFTER_MS = 3_600_000;
const NAME = /^gateway-\d{4}-\d\d-\d\dT\d{4}\.tar\.gz$/;

/** Begins the backups, if they are configured. They end with the gateway. */
export function startBackups(foundation: Foundation): void {
  const { config, elapsed, health, log, now, releasers, version } = foundation;
  if (config.backup === undefined) return;
  const { directory, keep, footage: hasFootage, timeZone } = config.backup;
  const schedule = new DailySchedule(config.backup);
  const zone = new TimeZone(timeZone);
  /** Names are in the order of their times. */
  const nameAt = (timeMs: number) =>
    `gateway-${zone.textOf(timeMs).slice(0, 16).replace(' ', 'T').replace(':', '')}.tar.gz`;
  const stopping = new AbortController();
  const { signal } = stopping;
  let notBeforeMs = elapsed();
  const backUp = async () => {
    const nowMs = now();
    const names = await readNames(directory);
    // A clock that was ahead has left names of the future.
    const newest = names.findLast((name) => name <= nameAt(nowMs));
    if (newest !== undefined && newest >= nameAt(schedule.lastDueMs(nowMs))) return;
    const file = join(directory, nameAt(nowMs));
    const made = await makeBackup({ config, version, file, hasFootage, nowMs, signal });
    log.info({ file, ...made }, 'made the daily backup');
    const outdated = (await readNames(directory)).slice(0, -keep);
    await Promise.all(outdated.map((name) => rm(join(directory, name), { force: true })));
  };
  const look = oneAtATime(async () => {
    if (elapsed() < notBeforeMs || signal.aborted) return;
    try {
      await backUp();
      health.report('backup', undefined);
    } catch (err) {
      if (signal.aborted) return;
      notBeforeMs = elapsed() + RETRY_AFTER_MS;
      log.error({ err }, 'failed to make the daily backup');
      const reason = err instanceof GatewayError ? err.detail : String(err);
      health.report('backup', fault('backupFailed', { reason }));
    }
  });
  void look();
  releasers.every(LOOK_EVERY_MS, () => void look());
  releasers.add(() => {
    stopping.abort();
    return look();
  });
}

/**
 * The backups in a directory, the oldest first; removes what a killed gateway has left of one.
 *
 * The directory must exist: making it would hide that its disk is not mounted.
 */
async function readNames(directory: string): Promise<string[]> {
  const names = await readdir(directory);
  const drafts = names.filter(
    (name) => NAME.test(name.replace(DRAFT_SUFFIX, '')) && !NAME.test(name),
  );
  await Promise.all(drafts.map((name) => rm(join(directory, name), { force: true })));
  return names.filter((name) => NAME.test(name)).sort();
}
