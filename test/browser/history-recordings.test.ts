import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { S3Server } from '../footage/s3-server.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { accessibilityFaults } from './accessibility.js';
import { openConsole, startBrowser } from './browser.js';
import { HistoryHome, wavFile, webmFile } from './history-home.js';

let film: Uint8Array<ArrayBuffer>;

beforeAll(async () => {
  film = await webmFile(await startBrowser(), 2);
});

/** Starts a gateway with an alarm that has a sound of 20 s and a film of 2 s. */
async function startWithRecordings(
  environment: Record<string, string> = {},
  path: '/' | '/history' = '/history',
) {
  const gateway = await GatewayHere.start(environment);
  onTestFinished(() => gateway.remove());
  const home = await HistoryHome.create(gateway);
  const [device] = home.devices;
  const audio = await home.record(device, 'audio', 'audio/wav', wavFile(20));
  const video = await home.record(device, 'video', 'video/webm', film);
  await home.publish(device, [{ kind: 'fall', footage: { audio, video } }]);
  const { page, faults } = await openConsole(gateway, { token: ADMIN_TOKEN, path });
  return { gateway, home, page, faults };
}

async function startS3() {
  const s3 = new S3Server();
  await s3.start();
  onTestFinished(() => s3.stop());
  const { endpoint, region, bucket, accessKeyId, secretAccessKey } = s3.options;
  return {
    GATEWAY_FOOTAGE_S3_ENDPOINT: endpoint,
    GATEWAY_FOOTAGE_S3_REGION: region,
    GATEWAY_FOOTAGE_S3_BUCKET: bucket,
    GATEWAY_FOOTAGE_S3_ACCESS_KEY_ID: accessKeyId,
    GATEWAY_FOOTAGE_S3_SECRET_ACCESS_KEY: secretAccessKey,
  };
}

/** Sets the time of the player; resolves to its position once it gets there. */
function seek(page: Page, selector: 'audio' | 'video', seconds: number): Promise<unknown> {
  return page.evaluate(`new Promise((resolve, reject) => {
    const player = document.querySelector('${selector}');
    player.pause();
    player.addEventListener('seeked', () => resolve(player.currentTime), { once: true });
    player.addEventListener('error', () => reject(new Error(player.error.message)), { once: true });
    player.currentTime = ${seconds};
  })`);
}

async function isPlaying(page: Page, selector: 'audio' | 'video'): Promise<void> {
  const time = () => page.evaluate(`document.querySelector('${selector}')?.currentTime ?? 0`);
  await expect.poll(time).toBeGreaterThan(0);
}

async function policyOf({ httpUrl }: GatewayHere): Promise<string> {
  return (await fetch(httpUrl)).headers.get('content-security-policy') ?? '';
}

describe('a recording', () => {
  it('is played in place, and from any position', async () => {
    const { gateway, page, faults } = await startWithRecordings();
    await page.getByRole('button', { name: 'Play audio' }).click();
    await isPlaying(page, 'audio');
    expect(await seek(page, 'audio', 15)).toBe(15);
    await page.getByRole('button', { name: 'Play video' }).click();
    await isPlaying(page, 'video');
    expect(await page.locator('audio').count()).toBe(0);
    expect(await seek(page, 'video', 1)).toBe(1);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(faults).toEqual([]);
    expect(await policyOf(gateway)).not.toContain('media-src');
  });

  it('is played on the board', async () => {
    const { page, faults } = await startWithRecordings({}, '/');
    await page.getByRole('button', { name: 'Show the recording' }).click();
    await page.locator('audio').waitFor();
    for (const selector of ['video', 'audio'] as const) {
      await page.evaluate(`document.querySelector('${selector}').play()`);
      await isPlaying(page, selector);
    }
    expect(await seek(page, 'video', 1)).toBe(1);
    expect(faults).toEqual([]);
  });

  it('is requested again when its URL has expired, and when the gateway is back', async () => {
    const { gateway, page } = await startWithRecordings();
    await page.getByRole('button', { name: 'Play audio' }).waitFor();
    await gateway.stop();
    rmSync(join(gateway.dataDir, 'footage.key'));
    await page.getByRole('button', { name: 'Play audio' }).click();
    const failure = page.locator('.history-list .failure');
    await failure.waitFor();
    expect(await failure.innerText()).toContain('The gateway does not answer.');
    await gateway.start();
    await failure.getByRole('button', { name: 'Try again' }).click();
    await isPlaying(page, 'audio');
    expect(await seek(page, 'audio', 15)).toBe(15);
  });

  it('that was never uploaded is reported as unplayable', async () => {
    const { gateway, home, page } = await startWithRecordings();
    const [, other] = home.devices;
    const video = `devices/${other.id}/1.webm`;
    await home.publish(other, [{ kind: 'helpCall', footage: { video } }]);
    expect((await fetch(`${gateway.httpUrl}/readyz`)).status).toBe(200);
    await page.reload();
    await page.getByRole('button', { name: 'Play video: Help call' }).click();
    await page.getByText('This recording cannot be played.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('on an S3-compatible server is played from there, the only other host that the page may contact', async () => {
    const environment = await startS3();
    const { gateway, page, faults } = await startWithRecordings(environment);
    const { origin } = new URL(environment.GATEWAY_FOOTAGE_S3_ENDPOINT);
    expect(await policyOf(gateway)).toContain(`media-src 'self' ${origin};`);
    await page.getByRole('button', { name: 'Play audio' }).click();
    await isPlaying(page, 'audio');
    expect(new Set(faults)).toEqual(new Set([`request to ${origin}`]));
  });
});
