import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure, rawExchange } from '../client.js';
import { MAX_UPLOAD_BYTES, startGateway, type TestGateway, useGateway } from '../harness.js';
import {
  callUrl,
  downloadUrl,
  type Prepared,
  prepare,
  put,
  withCamera,
  withRecording,
} from './cameras.js';

const redis = useRedis();
const running = useGateway(redis);
const CONTENT = randomBytes(200_000);

const start = () => withCamera(running());
const recorded = (content = CONTENT) => withRecording(running(), content);

async function bytesOf(url: string, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { headers });
  return { answer, bytes: Buffer.from(await answer.arrayBuffer()) };
}

/** All files in the folder. */
function filesIn({ footageDirectory }: TestGateway): string[] {
  if (!existsSync(footageDirectory)) return [];
  const entries = readdirSync(footageDirectory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

function uploadHead({ uploadUrl }: Prepared, length: string): string {
  const { pathname, search } = new URL(uploadUrl);
  const lines = [`PUT ${pathname}${search} HTTP/1.1`, 'Host: x', 'Content-Type: video/mp4', length];
  return [...lines, '', ''].join('\r\n');
}

/** Sends the first half of an upload and then nothing more. */
async function half(gateway: TestGateway, prepared: Prepared): Promise<Socket> {
  const socket = connect({ port: gateway.port, host: '127.0.0.1' });
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  socket.write(uploadHead(prepared, 'Content-Length: 200000'));
  socket.write(CONTENT.subarray(0, 100_000));
  return socket;
}

describe('an upload', () => {
  beforeEach(() => rm(running().footageDirectory, { recursive: true, force: true }));

  it('is stored in a file that only the gateway’s user can access', async () => {
    const { gateway, key } = await recorded();
    const path = join(gateway.footageDirectory, key);
    expect(await modeOf(path)).toBe(0o600);
    for (const directory of [dirname(path), dirname(dirname(path)), gateway.footageDirectory]) {
      expect(await modeOf(directory)).toBe(0o700);
    }
    expect(filesIn(gateway)).toHaveLength(1);
  });

  it('may omit its content type, and gets the announced one', async () => {
    const { gateway, camera } = await start();
    const json = { type: 'audio', contentType: 'audio/wav' };
    const { key, uploadUrl } = await prepare(gateway, camera, json);
    expect((await put(uploadUrl, CONTENT, {})).status).toBe(200);
    const { answer } = await bytesOf(await downloadUrl(gateway, key));
    expect(answer.headers.get('content-type')).toBe('audio/wav');
  });

  it('may have parameters in its content type, as browsers record', async () => {
    const { gateway, camera } = await start();
    const json = { type: 'video', contentType: 'video/mp4;codecs="avc1.42E01E, mp4a.40.2"' };
    const { key, uploadUrl } = await prepare(gateway, camera, json);
    const headers = { 'Content-Type': 'Video/mp4; codecs=avc1' };
    expect((await put(uploadUrl, CONTENT, headers)).status).toBe(200);
    const { answer } = await bytesOf(await downloadUrl(gateway, key));
    expect(answer.headers.get('content-type')).toBe('video/mp4');
  });

  it('is accepted once', async () => {
    const { gateway, uploadUrl, url } = await recorded();
    expect(failure(await put(uploadUrl, Buffer.from('another')))).toBe(
      '409 footage-already-uploaded',
    );
    expect((await bytesOf(url)).bytes.equals(CONTENT)).toBe(true);
    expect(filesIn(gateway)).toHaveLength(1);
  });

  it('is accepted once when several arrive at the same time', async () => {
    const { gateway, camera } = await start();
    const { key, uploadUrl } = await prepare(gateway, camera);
    const contents = Array.from({ length: 8 }, () => randomBytes(500_000));
    const answers = await Promise.all(contents.map((content) => put(uploadUrl, content)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, ...Array(7).fill(409)]);
    const { bytes } = await bytesOf(await downloadUrl(gateway, key));
    expect(contents[statuses.indexOf(200)]?.equals(bytes)).toBe(true);
    expect(filesIn(gateway)).toHaveLength(1);
  });

  it('is refused while another to the same URL is in progress', async () => {
    const { gateway, camera } = await start();
    const prepared = await prepare(gateway, camera);
    const socket = await half(gateway, prepared);
    await expect.poll(() => filesIn(gateway)).toHaveLength(1);
    expect(failure(await put(prepared.uploadUrl, CONTENT))).toBe('409 footage-already-uploaded');
    expect(filesIn(gateway)).toHaveLength(1);
    socket.resetAndDestroy();
    await expect.poll(() => filesIn(gateway)).toEqual([]);
    expect((await put(prepared.uploadUrl, CONTENT)).status).toBe(200);
  });

  it('is refused while the same device has four in progress', async () => {
    const { gateway, camera } = await start();
    const sockets: Socket[] = [];
    for (let one = 0; one < 4; one++) {
      sockets.push(await half(gateway, await prepare(gateway, camera)));
    }
    await expect.poll(() => filesIn(gateway)).toHaveLength(4);
    const { uploadUrl } = await prepare(gateway, camera);
    const refused = await put(uploadUrl, CONTENT);
    expect(failure(refused)).toBe('429 too-many-requests');
    expect(refused.headers['retry-after']).toBeDefined();
    const other = await gateway.createCamera(await gateway.createLocation());
    expect((await put((await prepare(gateway, other)).uploadUrl, CONTENT)).status).toBe(200);
    for (const socket of sockets) socket.resetAndDestroy();
    await expect.poll(() => filesIn(gateway)).toHaveLength(1);
    expect((await put(uploadUrl, CONTENT)).status).toBe(200);
  });

  it('is refused once its device has been deleted', async () => {
    const { gateway, camera } = await start();
    const { uploadUrl } = await prepare(gateway, camera);
    const locationId = await gateway.locationOf(camera.id);
    await gateway.admin('DELETE', `/care-homes/${locationId}/devices/${camera.id}`);
    expect(failure(await put(uploadUrl, CONTENT))).toBe('404 footage-not-found');
    expect(filesIn(gateway)).toEqual([]);
  });

  it('may be as large as the limit, and no larger', async () => {
    const { gateway, camera } = await start();
    const fits = await prepare(gateway, camera);
    expect((await put(fits.uploadUrl, Buffer.alloc(MAX_UPLOAD_BYTES, 1))).status).toBe(200);
    const { uploadUrl } = await prepare(gateway, camera);
    const tooLarge = Buffer.alloc(MAX_UPLOAD_BYTES + 1, 1);
    for (const headers of [{}, { 'Transfer-Encoding': 'chunked' }]) {
      expect(failure(await put(uploadUrl, tooLarge, headers))).toBe('413 body-too-large');
    }
    expect(filesIn(gateway)).toHaveLength(1);
    expect((await put(uploadUrl, CONTENT)).status).toBe(200);
  });

  it('is refused before it is sent when it announces too much', async () => {
    const { gateway, camera } = await start();
    const prepared = await prepare(gateway, camera);
    const answer = await rawExchange(
      gateway.port,
      uploadHead(prepared, `Content-Length: ${MAX_UPLOAD_BYTES + 1}`),
    );
    expect(failure(answer)).toBe('413 body-too-large');
  });

  it('leaves nothing behind when it breaks off, and can be repeated', async () => {
    const { gateway, camera } = await withCamera(await startGateway(redis));
    const prepared = await prepare(gateway, camera);
    const socket = await half(gateway, prepared);
    await expect.poll(() => filesIn(gateway)).toHaveLength(1);
    expect((await callUrl('GET', await downloadUrl(gateway, prepared.key))).status).toBe(404);
    socket.resetAndDestroy();
    await expect.poll(() => filesIn(gateway)).toEqual([]);
    await expect
      .poll(() => gateway.logged.filter((line) => line.includes('"PUT"')))
      .toEqual([expect.stringContaining('"status":400')]);
    expect((await put(prepared.uploadUrl, CONTENT)).status).toBe(200);
  });

  it('is refused when it would use the disk’s reserve', async () => {
    const environment = { GATEWAY_FOOTAGE_MIN_FREE_BYTES: String(Number.MAX_SAFE_INTEGER) };
    const { gateway, camera } = await withCamera(await startGateway(redis, { environment }));
    const { uploadUrl } = await prepare(gateway, camera);
    expect(failure(await put(uploadUrl, CONTENT))).toBe('507 insufficient-storage');
    expect(filesIn(gateway)).toEqual([]);
  });

  it('is refused with a content coding or as a partial upload', async () => {
    const { gateway, camera } = await start();
    const { uploadUrl } = await prepare(gateway, camera);
    const coded = await put(uploadUrl, CONTENT, { 'Content-Encoding': 'gzip' });
    expect(failure(coded)).toBe('415 unsupported-media-type');
    const part = await put(uploadUrl, CONTENT, { 'Content-Range': 'bytes 0-199999/300000' });
    expect(failure(part)).toBe('400 invalid-request');
    expect(filesIn(gateway)).toEqual([]);
  });

  it('is answered 503 when the folder is not writable', async () => {
    const { gateway, camera } = await start();
    const { key, uploadUrl } = await prepare(gateway, camera);
    await rm(gateway.footageDirectory, { recursive: true, force: true });
    await writeFile(gateway.footageDirectory, 'in the way');
    onTestFinished(() => rm(gateway.footageDirectory));
    expect(failure(await put(uploadUrl, CONTENT))).toBe('503 store-unavailable');
    const download = await callUrl('GET', await downloadUrl(gateway, key));
    expect(failure(download)).toBe('404 footage-not-found');
  });
});
