// A camera: it announces a recording, uploads it to the URL it is given, and names it in an alarm.
import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { Home } from './home.js';
import { type Asking, askUrl } from './http.js';
import type { TestDevice } from './mqtt.js';

/** What a camera records, unless a test has something else. */
export const CONTENT = randomBytes(200_000);
export const MP4 = { 'Content-Type': 'video/mp4' };

export function announce(home: Home, device: TestDevice, asking: Asking = {}) {
  const json = { type: 'video', contentType: 'video/mp4' };
  return home.ask('POST', `/devices/${device.id}/footage`, { device, json, ...asking });
}

/** Announces a recording that is taken. */
export async function prepare(home: Home, device: TestDevice, asking?: Asking) {
  const answer = await announce(home, device, asking);
  expect(answer.outcome).toBe('201');
  return { key: answer.string('key'), uploadUrl: answer.string('uploadUrl') };
}

export function put(url: string, body: Buffer = CONTENT, headers: Record<string, string> = MP4) {
  return askUrl('PUT', url, { body, headers });
}

/** The URL of a recording, by an alarm that names its key. */
export async function urlOf(home: Home, device: TestDevice, key: string): Promise<string> {
  const [id] = await home.record(device, { footage: { video: key } });
  return (await home.must('GET', `./alarms/${id}`)).string('footage.video');
}

/** Uploads a recording as a new camera. */
export async function recorded(home: Home, content = CONTENT) {
  const device = await home.device('Kamera 1');
  const { key, uploadUrl } = await prepare(home, device);
  expect((await put(uploadUrl, content)).outcome).toBe('200');
  return { device, key, uploadUrl, url: await urlOf(home, device, key) };
}

export async function statusOf(method: string, url: string, headers: Record<string, string> = {}) {
  return (await askUrl(method, url, { headers })).status;
}
