import { z } from 'zod';
import type { Camera } from '../answer-bodies.js';
import { type Answer, type CallOptions, call } from '../client.js';
import type { TestGateway } from '../harness.js';

const preparedSchema = z.strictObject({
  key: z.string(),
  uploadUrl: z.string(),
  expiresAt: z.iso.datetime(),
});
export type Prepared = z.infer<typeof preparedSchema>;

/** HTTP Basic (RFC 7617). */
export function basic(id: string, secret: string): Record<string, string> {
  return { Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };
}

/** Requests an upload as the camera; returns any answer. */
export function askToUpload(
  gateway: TestGateway,
  camera: Camera,
  options: CallOptions = {},
): Promise<Answer> {
  const json = { type: 'video', contentType: 'video/mp4' };
  const headers = { ...basic(camera.id, camera.secret), ...options.headers };
  return gateway.call('POST', `/devices/${camera.id}/footage`, { json, ...options, headers });
}

/** Requests an upload as the camera; fails if it is refused. */
export async function prepare(
  gateway: TestGateway,
  camera: Camera,
  json: object = { type: 'video', contentType: 'video/mp4' },
): Promise<Prepared> {
  const answer = await askToUpload(gateway, camera, { json });
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`);
  return preparedSchema.parse(answer.json);
}

/** Sends a request to a URL from the gateway. */
export function callUrl(method: string, url: string, options: CallOptions = {}): Promise<Answer> {
  const { port, pathname, search } = new URL(url);
  return call(Number(port), method, pathname + search, options);
}

/** Uploads as a camera does. */
export function put(
  url: string,
  body: Buffer,
  headers: Readonly<Record<string, string>> = { 'Content-Type': 'video/mp4' },
): Promise<Answer> {
  return callUrl('PUT', url, { body, headers });
}

/** Creates a URL to download the object with the key. */
export function downloadUrl(gateway: TestGateway, key: string): Promise<string> {
  const fromMs = Math.floor((Date.now() + gateway.aheadMs) / 1000) * 1000;
  const gatewayUrl = `http://127.0.0.1:${gateway.port}`;
  return gateway.footageStore.downloadUrl(key, { fromMs, gatewayUrl });
}

export async function withCamera(
  gateway: TestGateway,
): Promise<{ gateway: TestGateway; camera: Camera }> {
  return { gateway, camera: await gateway.createCamera(await gateway.createLocation()) };
}

/** Uploads a recording as a new camera, and creates a URL to download it. */
export async function withRecording(running: TestGateway, content: Buffer) {
  const { gateway, camera } = await withCamera(running);
  const { key, uploadUrl } = await prepare(gateway, camera);
  const { status, text } = await put(uploadUrl, content);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return { gateway, camera, key, uploadUrl, url: await downloadUrl(gateway, key) };
}
