import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, statfsSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api, type TestDevice } from '../former/clients/api.js';
import { Camera } from '../former/clients/camera.js';
import { faultsOf } from '../former/clients/connection-list.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';

const KIB = 1024;
const GIB = 1024 * 1024 * KIB;
const LARGEST_BYTES = 5 * GIB;
const QUOTA_BYTES = 300 * KIB;
const STORED = 200;
const INSUFFICIENT_STORAGE = 507;

let gateway: GatewayHere;
let api: Api;
let locationId: string;

beforeAll(async () => {
  gateway = await GatewayHere.start({
    GATEWAY_LIMITS_DEVICE_FOOTAGE_BYTES: String(QUOTA_BYTES),
  });
  api = new Api(gateway);
  locationId = (await api.createLocation()).id;
});

afterAll(() => gateway.remove());

async function urlFor(of: GatewayHere, device: TestDevice): Promise<string> {
  return (await new Camera(of, device).prepare('video', 'video/mp4')).uploadUrl;
}

/** Uploads pieces as they come; announces their length if it is given. */
async function send(url: string, pieces: AsyncIterable<Uint8Array>, bytes?: number) {
  const length = bytes === undefined ? {} : { 'Content-Length': bytes };
  const sent = request(url, { method: 'PUT', headers: { 'Content-Type': 'video/mp4', ...length } });
  const answered = new Promise<number>((resolve) => {
    sent.once('response', (response) => resolve(response.resume().statusCode ?? 0));
  });
  // The gateway hangs up on an upload that it does not take.
  sent.on('error', () => undefined);
  Readable.from(pieces).pipe(sent);
  return answered;
}

async function* pieces(bytes: number): AsyncGenerator<Uint8Array> {
  for (let left = bytes; left > 0; left -= 10 * KIB) yield new Uint8Array(Math.min(left, 10 * KIB));
}

/** Uploads this many bytes; returns the status. */
async function upload(device: TestDevice, bytes: number, isAnnounced = true): Promise<number> {
  return send(await urlFor(gateway, device), pieces(bytes), isAnnounced ? bytes : undefined);
}

function pathOf({ id }: TestDevice): string {
  return `/care-homes/${locationId}/devices/${id}`;
}

describe('the recordings of one device', () => {
  it.each([false, true])(
    'are limited, and their device named, without affecting others (announced: %s)',
    async (isAnnounced) => {
      const [hostile, honest] = [
        await api.createDevice(locationId),
        await api.createDevice(locationId),
      ];
      expect(await upload(hostile, 200 * KIB, isAnnounced)).toBe(STORED);
      expect(await upload(hostile, 200 * KIB, isAnnounced)).toBe(INSUFFICIENT_STORAGE);
      expect(await upload(hostile, 90 * KIB, isAnnounced)).toBe(STORED);
      expect(await faultsOf(gateway)).toContainEqual(
        expect.stringMatching(`Too many recordings.*${hostile.id}`),
      );
      expect(await upload(honest, 200 * KIB, isAnnounced)).toBe(STORED);
    },
  );

  it('are limited in total during concurrent uploads', async () => {
    const device = await api.createDevice(locationId);
    const statuses = await Promise.all([1, 2, 3, 4].map(() => upload(device, 120 * KIB, false)));
    const stored = statuses.filter((status) => status === STORED);
    expect(stored.length).toBeLessThanOrEqual(2);
    expect(statuses.filter((status) => status === INSUFFICIENT_STORAGE).length).toBe(
      4 - stored.length,
    );
  });

  it('still count after a restart', async () => {
    const device = await api.createDevice(locationId);
    expect(await upload(device, 200 * KIB)).toBe(STORED);
    await gateway.stop();
    await gateway.start();
    expect(await upload(device, 200 * KIB)).toBe(INSUFFICIENT_STORAGE);
  });

  it('are deleted immediately with their device, and make room', async () => {
    const device = await api.createDevice(locationId);
    expect(await upload(device, 200 * KIB)).toBe(STORED);
    const folder = join(gateway.dataDir, 'footage', device.id);
    expect(readdirSync(folder)).not.toEqual([]);
    await api.request('DELETE', pathOf(device));
    await expect.poll(() => existsSync(folder)).toBe(false);
    const body = JSON.stringify({ name: 'the same again', id: device.id });
    const again = Object(
      await api.json('POST', `/care-homes/${locationId}/devices`, JSON.parse(body)),
    );
    expect(await upload({ ...device, ...again }, 200 * KIB)).toBe(STORED);
  });

  it('are deleted even when the device is deleted during an upload', async () => {
    const device = await api.createDevice(locationId);
    const url = await urlFor(gateway, device);
    let finish = (): void => undefined;
    const deleted = new Promise<void>((resolve) => {
      finish = resolve;
    });
    async function* chunks() {
      yield new Uint8Array(KIB);
      await deleted;
      yield new Uint8Array(KIB);
    }
    const uploading = send(url, chunks());
    const folder = join(gateway.dataDir, 'footage', device.id);
    await expect.poll(() => existsSync(folder)).toBe(true);
    await api.request('DELETE', pathOf(device));
    await expect.poll(() => existsSync(folder)).toBe(false);
    finish();
    expect(await uploading).toBeGreaterThanOrEqual(400);
    expect(existsSync(folder)).toBe(false);
  });
});

it('a nearly full folder is a fault that names the device using most of it', async () => {
  const { bavail, bsize } = statfsSync(tmpdir());
  const full = await GatewayHere.create({
    // Room for one of the largest uploads: so large that what others write and remove matters little.
    GATEWAY_FOOTAGE_MAX_UPLOAD_BYTES: String(LARGEST_BYTES),
    GATEWAY_FOOTAGE_MIN_FREE_BYTES: String(Math.max(0, bavail * bsize - LARGEST_BYTES)),
  });
  mkdirSync(join(full.dataDir, 'footage', randomUUID()), { recursive: true });
  await full.start();
  await expect
    .poll(() => faultsOf(full))
    .toContainEqual(expect.stringContaining('The folder of recordings is nearly full'));
  expect((await fetch(`${full.httpUrl}/readyz`)).status).toBe(200);

  const client = new Api(full);
  const { id } = await client.createLocation();
  const [most, less, gone] = [
    await client.createDevice(id),
    await client.createDevice(id),
    await client.createDevice(id),
  ];
  for (const [camera, bytes] of [
    [less, 10 * KIB],
    [most, 200 * KIB],
  ] as const) {
    expect(await send(await urlFor(full, camera), pieces(bytes), bytes)).toBe(STORED);
  }
  // The gateway checks the disk again when a device is deleted.
  await client.request('DELETE', `/care-homes/${id}/devices/${gone.id}`);
  await expect
    .poll(() => faultsOf(full))
    .toContainEqual(expect.stringMatching(`nearly full.*: device .*${most.id}`));
  await full.remove();
});
