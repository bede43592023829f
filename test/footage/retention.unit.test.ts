import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { newRecording } from '../../src/domain/footage.js';
import { FootageRetention } from '../../src/footage/footage-retention.js';
import { silent } from '../delivery/running-delivery.js';
import { quotaOf } from './quota.js';

const DAY_MS = 24 * 3_600_000;
const NOW_MS = Date.UTC(2026, 5, 1);
const DEVICE = '6d2f6a2e-8a51-4c0e-9d53-2d3f2a3c9a10';

let root: string;
let directory: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gateway-retention-'));
  directory = join(root, 'footage');
});
afterEach(() => rmSync(root, { recursive: true }));

function retention(now = () => NOW_MS): FootageRetention {
  return new FootageRetention({
    directory,
    maxAgeMs: 30 * DAY_MS,
    now,
    quota: quotaOf(directory),
    log: silent,
  });
}

function removeOld(now?: () => number): Promise<number> {
  return retention(now).removeOld(new AbortController().signal);
}

async function file(path: string, ageMs: number): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, 'a recording');
  const modified = new Date(NOW_MS - ageMs);
  await utimes(path, modified, modified);
  return path;
}

function recording(type: 'video' | 'audio', ageMs: number, deviceId = DEVICE): Promise<string> {
  return file(join(directory, newRecording(deviceId, type, `${type}/x`).key), ageMs);
}

it('removes recordings older than the history, and no others', async () => {
  const old = [await recording('video', 31 * DAY_MS), await recording('audio', 400 * DAY_MS)];
  const young = [await recording('video', 29 * DAY_MS), await recording('audio', -DAY_MS)];
  expect(await removeOld()).toBe(2);
  expect(old.map(existsSync)).toEqual([false, false]);
  expect(young.map(existsSync)).toEqual([true, true]);
});

it('counts the age from the first sighting of a recording if the clock was not set', async () => {
  const unset = await recording('video', NOW_MS);
  expect(await removeOld()).toBe(0);
  expect(existsSync(unset)).toBe(true);
  expect(statSync(unset).mtimeMs).toBe(NOW_MS);
});

it('continues when devices are deleted meanwhile', async () => {
  for (const deviceId of [DEVICE, randomUUID(), randomUUID()]) {
    await recording('video', 31 * DAY_MS, deviceId);
  }
  let calls = 0;
  const now = () => {
    // The device that retention is looking at, and the next.
    const deleted = calls++ === 0 ? readdirSync(directory).slice(0, 2) : [];
    for (const name of deleted) rmSync(join(directory, name), { recursive: true });
    return NOW_MS;
  };
  expect(await removeOld(now)).toBe(1);
  expect(calls).toBe(2);
});

it('continues with other devices when one cannot be read', async () => {
  const [one, other] = [randomUUID(), randomUUID()];
  for (const deviceId of [one, other]) await recording('video', 31 * DAY_MS, deviceId);
  let calls = 0;
  // Stands for a failing disk, because root may read any directory.
  const now = () => {
    if (calls++ === 0) throw new Error('input/output error');
    return NOW_MS;
  };
  expect(await removeOld(now)).toBe(1);
});

it('neither follows nor removes links', async () => {
  const outside = await file(join(root, 'outside', 'video', 'old.mp4'), 400 * DAY_MS);
  await recording('video', 0);
  await symlink(join(root, 'outside'), join(directory, 'device'));
  await symlink(outside, join(directory, DEVICE, 'video', 'link.mp4'));
  expect(await removeOld()).toBe(0);
  expect(existsSync(outside)).toBe(true);
});

it('removes half-uploaded files of a killed gateway', async () => {
  const whole = await recording('video', 0);
  const draft = await file(join(directory, '.uploads', 'draft'), 0);
  await retention().prepare();
  expect(existsSync(draft)).toBe(false);
  expect(existsSync(whole)).toBe(true);
});

it('creates a missing folder', async () => {
  await retention().prepare();
  expect(existsSync(directory)).toBe(true);
  expect(await removeOld()).toBe(0);
});
