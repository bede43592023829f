import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { S3Server } from '../footage/s3-server.js';
import { auditOf } from '../former/audit.js';
import type { Api } from '../former/clients/api.js';
import { Camera } from '../former/clients/camera.js';
import { connectDevice } from '../former/clients/mqtt-clients.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import { ADMIN_TOKEN, type RunningGateway } from '../former/gateway/running-gateway.js';
import { Home } from '../former/home.js';
import { median } from '../former/median.js';

const VIDEO = randomBytes(3_000_000);
const AUDIO = randomBytes(200_000);
const MIB = 1024 * 1024;

async function bytesOf(url: string | null | undefined, headers: Record<string, string> = {}) {
  const response = await fetch(url ?? 'no URL', { headers });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

async function homeIn<Gateway extends RunningGateway>(gateway: Gateway) {
  const home = await Home.at(gateway);
  return { gateway, api: home.api, camera: new Camera(gateway, await home.device('Kamera 7')) };
}

describe("the gateway's own folder", () => {
  let gateway: GatewayHere;
  let api: Api;
  let camera: Camera;
  beforeAll(async () => {
    ({ gateway, api, camera } = await homeIn(await GatewayHere.start()));
  });
  afterAll(() => gateway.remove());

  it('serves a recording to readers of its alarm, even after a restart', async () => {
    const video = await camera.record('video', 'video/mp4', VIDEO);
    const announced = await camera.prepare('audio', 'audio/wav');
    await gateway.stop();
    await gateway.start();
    const headers = { 'Content-Type': 'audio/wav' };
    const upload = await fetch(announced.uploadUrl, { method: 'PUT', headers, body: AUDIO });
    expect(upload.status).toBe(200);
    await camera.alarm({ video, audio: announced.key });

    const [event] = (await api.alarms(camera.device)).events;
    const whole = await bytesOf(event?.footage.video);
    expect(whole.response.headers.get('content-type')).toBe('video/mp4');
    expect(whole.bytes.equals(VIDEO)).toBe(true);
    await gateway.stop();
    await gateway.start();
    const part = await bytesOf(event?.footage.video, { Range: 'bytes=1000000-1999999' });
    expect(part.response.status).toBe(206);
    expect(part.bytes.equals(VIDEO.subarray(1_000_000, 2_000_000))).toBe(true);
    expect((await bytesOf(event?.footage.audio)).bytes.equals(AUDIO)).toBe(true);
  });

  it('answers 404 when an alarm names a recording that was never uploaded', async () => {
    const { key } = await camera.prepare('video', 'video/mp4');
    await camera.alarm({ video: key, audio: `devices/${camera.device.id}/2026/noise.wav` });
    const [event] = (await api.alarms(camera.device, '?limit=1')).events;
    expect((await bytesOf(event?.footage.video)).response.status).toBe(404);
    expect((await bytesOf(event?.footage.audio)).response.status).toBe(404);
  });

  it('is accessible to the gateway’s user only, like the key that signs URLs', async () => {
    await camera.record('video', 'video/mp4', AUDIO);
    const modeOf = async (name: string) => (await stat(join(gateway.dataDir, name))).mode & 0o777;
    expect(await modeOf('footage')).toBe(0o700);
    expect(await modeOf('footage.key')).toBe(0o600);
  });

  it('refuses all URLs once its key has been removed', async () => {
    const video = await camera.record('video', 'video/mp4', AUDIO);
    await camera.alarm({ video });
    const url = async () => (await api.alarms(camera.device, '?limit=1')).events[0]?.footage.video;
    const before = await url();
    expect((await bytesOf(before)).response.status).toBe(200);
    await gateway.stop();
    rmSync(join(gateway.dataDir, 'footage.key'));
    await gateway.start();
    expect((await bytesOf(before)).response.status).toBe(403);
    expect((await bytesOf(await url())).bytes.equals(AUDIO)).toBe(true);
  });

  it('records URLs in the audit trail, and never logs one', async () => {
    const video = await camera.record('video', 'video/mp4', AUDIO);
    await camera.alarm({ video });
    await api.alarms(camera.device, '?limit=1');
    expect(await auditOf(api, 'limit=2')).toMatchObject([
      {
        action: 'footage.url-made',
        actor: { type: 'access-token', id: 'admin' },
        resourceId: camera.device.id,
        details: { keys: [video] },
      },
      {
        action: 'footage.upload-url-made',
        actor: { type: 'device', id: camera.device.id },
        details: { key: video },
      },
    ]);
    const key = readFileSync(join(gateway.dataDir, 'footage.key'), 'utf8').trim();
    const log = gateway.lines.join('\n');
    for (const secret of [key, 'signature=', ADMIN_TOKEN, camera.device.secret]) {
      expect(log).not.toContain(secret);
    }
  });
});

it('removes recordings older than the history, and half-uploaded ones, when it starts', async () => {
  const gateway = await GatewayHere.create();
  onTestFinished(() => gateway.remove());
  const directory = join(gateway.dataDir, 'footage');
  const device = join(directory, '6d2f6a2e-8a51-4c0e-9d53-2d3f2a3c9a10', 'video');
  const [old, young] = [join(device, 'old.mp4'), join(device, 'young.mp4')];
  const draft = join(directory, '.uploads', 'draft');
  for (const path of [old, young, draft]) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, AUDIO);
  }
  const longAgo = new Date(Date.now() - 366 * 24 * 3_600_000);
  utimesSync(old, longAgo, longAgo);
  await gateway.start();
  await expect.poll(() => existsSync(old)).toBe(false);
  await expect.poll(() => gateway.lines.join('\n')).toContain('removed old recordings');
  expect([young, draft].map(existsSync)).toEqual([true, false]);
});

describe('an unwritable folder and key', () => {
  it('lose recordings, but no alarm', async () => {
    const gateway = await GatewayHere.create();
    writeFileSync(join(gateway.dataDir, 'footage'), 'in the way');
    mkdirSync(join(gateway.dataDir, 'footage.key.new'));
    await gateway.start();
    onTestFinished(() => gateway.remove());
    const { api, camera } = await homeIn(gateway);
    const { key, uploadUrl } = await camera.prepare('video', 'video/mp4');
    const headers = { 'Content-Type': 'video/mp4' };
    const answer = await fetch(uploadUrl, { method: 'PUT', headers, body: AUDIO });
    expect(answer.status).toBe(503);
    await camera.alarm({ video: key });
    const [event] = (await api.alarms(camera.device)).events;
    expect((await bytesOf(event?.footage.video)).response.status).toBe(404);
    await gateway.logged(/"level":50.*failed to prepare the folder for recordings/);
    await gateway.logged(/"level":50.*failed to keep a secret/);
  });
});

describe('an S3-compatible server', () => {
  it('stores the recordings when configured, and the gateway stores none', async () => {
    const s3 = new S3Server();
    await s3.start();
    onTestFinished(() => s3.stop());
    const { endpoint, region, bucket, accessKeyId, secretAccessKey } = s3.options;
    const here = await GatewayHere.start({
      GATEWAY_FOOTAGE_S3_ENDPOINT: endpoint,
      GATEWAY_FOOTAGE_S3_REGION: region,
      GATEWAY_FOOTAGE_S3_BUCKET: bucket,
      GATEWAY_FOOTAGE_S3_ACCESS_KEY_ID: accessKeyId,
      GATEWAY_FOOTAGE_S3_SECRET_ACCESS_KEY: secretAccessKey,
    });
    const { gateway, api, camera } = await homeIn(here);
    onTestFinished(() => gateway.remove());
    const video = await camera.record('video', 'video/mp4', VIDEO);
    await camera.alarm({ video });
    const [event] = (await api.alarms(camera.device)).events;
    expect(event?.footage.video).toContain(`${endpoint}/${bucket}/${video}?`);
    expect((await bytesOf(event?.footage.video)).bytes.equals(VIDEO)).toBe(true);
    expect((await fetch(`${gateway.httpUrl}/footage/${video}`)).status).toBe(404);
    expect(gateway.lines.join('\n')).not.toContain('X-Amz');
  });
});

describe('while recordings are uploaded and downloaded', () => {
  it('acknowledges alarms without delay, in constant memory', async () => {
    const { gateway, api, camera } = await homeIn(await GatewayProcess.start());
    onTestFinished(() => gateway.remove());
    const first = await camera.prepare('video', 'video/mp4');
    await transfer('PUT', first.uploadUrl);
    await camera.alarm({ video: first.key });
    const [event] = (await api.alarms(camera.device)).events;
    const uploads = await Promise.all([1, 2].map(() => camera.prepare('video', 'video/mp4')));
    const sensor = await connectDevice(gateway, camera.device);
    const before = residentBytes(gateway);
    let isBusy = true;
    const traffic = Promise.all([
      ...uploads.map(({ uploadUrl }) => transfer('PUT', uploadUrl)),
      ...[1, 2].map(() => transfer('GET', event?.footage.video ?? 'no URL')),
    ]).finally(() => {
      isBusy = false;
    });
    const [delaysMs, residents]: [number[], number[]] = [[], []];
    while (isBusy) {
      const startedAtMs = performance.now();
      const payload = '{"kind":"noise"}';
      await sensor.publishAsync(`devices/${camera.device.id}/alarms`, payload, { qos: 1 });
      delaysMs.push(performance.now() - startedAtMs);
      residents.push(residentBytes(gateway));
    }
    await traffic;
    await sensor.endAsync();
    expect(delaysMs.length).toBeGreaterThan(10);
    expect(median(delaysMs)).toBeLessThan(500);
    expect(Math.max(...residents) - before).toBeLessThan(100 * MIB);
  });
});

/** Transfers a large recording, up or down, in a separate process. */
async function transfer(method: 'PUT' | 'GET', url: string): Promise<void> {
  const program = new URL('../footage/transfer.mjs', import.meta.url).pathname;
  const child = spawn(process.execPath, [program, method, url, String(30 * MIB)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [status] = await once(child, 'exit');
  expect([method, status]).toEqual([method, 0]);
}

function residentBytes({ processId }: GatewayProcess): number {
  const status = readFileSync(`/proc/${processId}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}
