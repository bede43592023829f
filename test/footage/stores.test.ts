import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newRecording, type Recording } from '../../src/domain/footage.js';
import { S3FootageStore } from '../../src/footage/s3-footage-store.js';
import {
  FOOTAGE_URL_VALID_MS,
  type FootageStore,
  type UrlTerms,
} from '../../src/site/footage-store.js';
import { useRedis } from '../former/servers/shared-redis.js';
import { useGateway } from '../http/harness.js';
import { S3Server } from './s3-server.js';

const running = useGateway(useRedis());
const s3 = new S3Server();
beforeAll(() => s3.start());
afterAll(() => s3.stop());

interface Opened {
  readonly store: FootageStore;
  readonly gatewayUrl: string;
  /** A device of the site. */
  readonly deviceId: string;
}

/** The two stores behind the port. */
const STORES: Readonly<Record<string, () => Promise<Opened>>> = {
  'an S3-compatible server': async () => ({
    store: new S3FootageStore(s3.options),
    gatewayUrl: 'http://gateway.test',
    deviceId: randomUUID(),
  }),
  "the gateway's own folder": async () => {
    const gateway = running();
    return {
      store: gateway.footageStore,
      gatewayUrl: `http://127.0.0.1:${gateway.port}`,
      deviceId: await gateway.createDevice(await gateway.createLocation()),
    };
  },
};

const CONTENT = randomBytes(300_000);

function termsOf({ gatewayUrl }: Opened, agoMs = 0): UrlTerms {
  return { gatewayUrl, fromMs: Math.floor((Date.now() - agoMs) / 1000) * 1000 };
}

function newVideo(deviceId: string): Recording {
  return newRecording(deviceId, 'video', 'video/mp4');
}

function put(url: string, contentType = 'video/mp4', body = CONTENT): Promise<Response> {
  return fetch(url, { method: 'PUT', headers: { 'Content-Type': contentType }, body });
}

async function statusOf(answer: Promise<Response>): Promise<number> {
  const { status, body } = await answer;
  await body?.cancel();
  return status;
}

async function uploaded(opened: Opened): Promise<{ recording: Recording; url: string }> {
  const recording = newVideo(opened.deviceId);
  const upload = await opened.store.uploadUrl(recording, termsOf(opened));
  expect(await statusOf(put(upload))).toBe(200);
  return { recording, url: await opened.store.downloadUrl(recording.key, termsOf(opened)) };
}

/** Every way to alter a signed URL, one part at a time. */
function alterations(url: string, recording: Recording): Record<string, string> {
  const other = newVideo(randomUUID());
  const last = url.endsWith('0') ? '1' : '0';
  return {
    'another signature': url.replace(/.$/, last),
    'no signature': url.replace(/signature=.*$/i, 'Signature='),
    'another device': url.replace(recording.deviceId, other.deviceId),
    'another recording': url.replace(recording.id, other.id),
    'another type': url.replace('/video/', '/audio/'),
    'a longer life': url.replace(/(expires=)(\d)/i, '$19$2'),
    'one more level': url.replace(recording.id, `../video/${other.id}`),
  };
}

it('makes an S3-compatible server send files that bypassed the gateway as attachments', async () => {
  const store = new S3FootageStore(s3.options);
  const ofUrl = async (key: string) => {
    const { searchParams } = new URL(
      await store.downloadUrl(key, { fromMs: Date.now(), gatewayUrl: '' }),
    );
    return ['disposition', 'type'].map((name) => searchParams.get(`response-content-${name}`));
  };
  const deviceId = randomUUID();
  expect(await ofUrl(newVideo(deviceId).key)).toEqual(['inline', 'video/mp4']);
  expect(await ofUrl(`${deviceId}/page.html`)).toEqual(['attachment', null]);
});

describe.each(Object.entries(STORES))('%s', (_, open) => {
  it('returns an upload with its content type, for a browser to play', async () => {
    const { url } = await uploaded(await open());
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('video/mp4');
    expect(answer.headers.get('content-length')).toBe(String(CONTENT.length));
    expect(answer.headers.get('content-disposition')).toMatch(/^inline/);
    expect(answer.headers.get('etag')).toMatch(/^"[^"]+"$/);
    expect(Buffer.from(await answer.arrayBuffer()).equals(CONTENT)).toBe(true);
  });

  it.each([
    ['bytes=100000-199999', 100_000, 199_999],
    ['bytes=299000-999999', 299_000, 299_999],
  ])('returns %s of a recording', async (range, first, last) => {
    const { url } = await uploaded(await open());
    const answer = await fetch(url, { headers: { Range: range } });
    expect(answer.status).toBe(206);
    expect(answer.headers.get('content-range')).toBe(`bytes ${first}-${last}/${CONTENT.length}`);
    const expected = CONTENT.subarray(first, last + 1);
    expect(Buffer.from(await answer.arrayBuffer()).equals(expected)).toBe(true);
  });

  it('answers 416 to a range beyond the end', async () => {
    const { url } = await uploaded(await open());
    expect(await statusOf(fetch(url, { headers: { Range: 'bytes=300000-' } }))).toBe(416);
  });

  it('refuses a download by an altered URL', async () => {
    const { url, recording } = await uploaded(await open());
    for (const [what, altered] of Object.entries(alterations(url, recording))) {
      expect([what, await statusOf(fetch(altered))]).toEqual([what, 403]);
    }
  });

  it('refuses an upload by an altered URL', async () => {
    const opened = await open();
    const recording = newVideo(opened.deviceId);
    const url = await opened.store.uploadUrl(recording, termsOf(opened));
    for (const [what, altered] of Object.entries(alterations(url, recording))) {
      expect([what, await statusOf(put(altered))]).toEqual([what, 403]);
    }
    expect(await statusOf(put(url))).toBe(200);
  });

  it('refuses a URL for a method other than its own', async () => {
    const opened = await open();
    const { url } = await uploaded(opened);
    expect(await statusOf(put(url))).toBe(403);
    const upload = await opened.store.uploadUrl(newVideo(opened.deviceId), termsOf(opened));
    expect(await statusOf(fetch(upload))).toBe(403);
  });

  it('accepts only the announced content type', async () => {
    const opened = await open();
    const recording = newVideo(opened.deviceId);
    const url = await opened.store.uploadUrl(recording, termsOf(opened));
    for (const contentType of ['text/html', 'video/webm', 'text/html; codecs="avc1"']) {
      expect([contentType, await statusOf(put(url, contentType))]).toEqual([contentType, 403]);
    }
    const download = await opened.store.downloadUrl(recording.key, termsOf(opened));
    expect(await statusOf(fetch(download))).toBe(404);
  });

  it('accepts a URL for ten minutes and no longer', async () => {
    const opened = await open();
    const { recording } = await uploaded(opened);
    const download = (agoMs: number) =>
      opened.store.downloadUrl(recording.key, termsOf(opened, agoMs));
    const upload = (agoMs: number) =>
      opened.store.uploadUrl(newVideo(opened.deviceId), termsOf(opened, agoMs));
    const [young, old] = [FOOTAGE_URL_VALID_MS - 20_000, FOOTAGE_URL_VALID_MS + 1_000];
    expect(await statusOf(fetch(await download(young)))).toBe(200);
    expect(await statusOf(put(await upload(young)))).toBe(200);
    expect(await statusOf(fetch(await download(old)))).toBe(403);
    expect(await statusOf(put(await upload(old)))).toBe(403);
  });

  it('answers 404 for a recording that was never uploaded, whatever its key', async () => {
    const opened = await open();
    const device = randomUUID();
    const names = [
      '1.mp4',
      'a/b/c/d.mp4',
      "a+b '(1)'!*&=?#.mp4",
      '%2e%2e%2f%00.mp4',
      'video/x.mp4',
    ];
    for (const key of names.flatMap((name) => [`${device}/${name}`, `devices/${device}/${name}`])) {
      const url = await opened.store.downloadUrl(key, termsOf(opened));
      expect([key, await statusOf(fetch(url))]).toEqual([key, 404]);
    }
  });
});

describe('a bucket', () => {
  it('is the first level of the path, or the first label of the host name', async () => {
    const terms = { fromMs: Date.UTC(2026, 0, 1), gatewayUrl: '' };
    const options = { ...s3.options, endpoint: 'https://s3.test:9000' };
    const byPath = await new S3FootageStore(options).downloadUrl('a/b', terms);
    expect(byPath).toMatch(/^https:\/\/s3\.test:9000\/footage\/a\/b\?/);
    const byHost = new S3FootageStore({ ...options, pathStyle: false });
    expect(await byHost.downloadUrl('a/b', terms)).toMatch(
      /^https:\/\/footage\.s3\.test:9000\/a\/b\?/,
    );
    expect([new S3FootageStore(options).origin, byHost.origin]).toEqual([
      'https://s3.test:9000',
      'https://footage.s3.test:9000',
    ]);
  });

  it('refuses a URL signed with another secret', async () => {
    const store = new S3FootageStore({ ...s3.options, secretAccessKey: 'guessed' });
    const opened = { store, gatewayUrl: '', deviceId: randomUUID() };
    expect(
      await statusOf(put(await store.uploadUrl(newVideo(opened.deviceId), termsOf(opened)))),
    ).toBe(403);
    expect(await statusOf(fetch(await store.downloadUrl('a/b/c', termsOf(opened))))).toBe(403);
  });
});
