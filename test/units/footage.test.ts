/** The URLs of recordings in an S3-compatible server, which are arithmetic: the gateway never asks the server. */
import { expect, it } from 'vitest';
import { newRecording } from '../../src/domain/footage.js';
import { S3FootageStore } from '../../src/footage/s3.js';

const OPTIONS = {
  endpoint: 'https://s3.test:9000',
  region: 'eu-central-1',
  bucket: 'footage',
  pathStyle: true,
  accessKeyId: 'id',
  secretAccessKey: 'secret',
};
const TERMS = { fromMs: Date.UTC(2026, 0, 1), gatewayUrl: 'http://gateway.test' };

it.each([
  ['the first level of the path', true, 'https://s3.test:9000', '/footage/a/b'],
  ['the first label of the host name', false, 'https://footage.s3.test:9000', '/a/b'],
])('has the bucket as %s', async (_, pathStyle, origin, path) => {
  const store = new S3FootageStore({ ...OPTIONS, pathStyle });
  const url = new URL(await store.downloadUrl('a/b', TERMS));
  expect([store.origin, url.origin, url.pathname]).toEqual([origin, origin, path]);
});

it('keeps every character of a key in the path', async () => {
  const key = "device/a+b '(1)'!*&=?#%2e%2e.mp4";
  const { pathname } = new URL(await new S3FootageStore(OPTIONS).downloadUrl(key, TERMS));
  expect(decodeURIComponent(pathname)).toBe(`/footage/${key}`);
  expect(pathname).not.toMatch(/[+&=]/);
});

it('signs the content type of an upload, and for ten minutes', async () => {
  const recording = newRecording('device', 'video', 'video/mp4');
  const url = new URL(await new S3FootageStore(OPTIONS).uploadUrl(recording, TERMS));
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    'X-Amz-Date': '20260101T000000Z',
    'X-Amz-Expires': '600',
    'X-Amz-SignedHeaders': 'content-type;host',
  });
});
