import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { repeat } from '../../src/repeat.js';
import { Health } from '../../src/site/health.js';
import { StoreHeadroom } from '../../src/site/store-headroom.js';
import { DiskMonitor } from '../../src/store/disk-monitor.js';
import { faultTexts } from '../harness/fault-texts.js';
import { until } from './embedded-support.js';

const CHECK_EVERY_MS = 20;

function mount(...args: string[]): boolean {
  return spawnSync('mount', args, { stdio: 'ignore' }).status === 0;
}

test('reports a fault while the disk is read-only', async ({ skip }) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-disk-'));
  const isMounted = mount('-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', directory);
  onTestFinished(() => {
    if (isMounted) spawnSync('umount', ['--lazy', directory]);
    rmSync(directory, { recursive: true, force: true });
  });
  if (!isMounted) return skip('mounting a small file system is not permitted here');
  const health = new Health();
  const monitor = new DiskMonitor(directory, health, new StoreHeadroom());
  onTestFinished(repeat(() => monitor.check(), CHECK_EVERY_MS));
  mount('-o', 'remount,ro', directory);
  await until(() => faultTexts(health.faults()).length > 0);
  expect(faultTexts(health.faults())).toEqual(['The disk with the data directory is read-only.']);
  mount('-o', 'remount,rw', directory);
  await until(() => faultTexts(health.faults()).length === 0);
});
