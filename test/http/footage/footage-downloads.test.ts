import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { truncate } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../client.js';
import { MAX_UPLOAD_BYTES, type TestGateway, useGateway } from '../harness.js';
import { callUrl, withRecording } from './cameras.js';

const redis = useRedis();
const running = useGateway(redis);
const CONTENT = randomBytes(200_000);
const recorded = (content = CONTENT) => withRecording(running(), content);

async function bytesOf(url: string, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { headers });
  return { answer, bytes: Buffer.from(await answer.arrayBuffer()) };
}

/** Counts the recordings that this process, including the gateway, holds open. */
function openFiles({ footageDirectory }: TestGateway): number {
  return readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(footageDirectory);
    } catch {
      // The descriptor is closed by now, like the one of the listing itself.
      return false;
    }
  }).length;
}

describe('a download', () => {
  let url: string;

  beforeAll(async () => {
    ({ url } = await recorded());
  });

  it('opens in the browser, and cannot act as a page of the gateway', async () => {
    const { key, url: page } = await recorded(Buffer.from('<script>alert(1)</script>'));
    const { headers } = await callUrl('GET', page);
    expect(headers).toMatchObject({
      'content-type': 'video/mp4',
      'content-disposition': `inline; filename="${key.split('/')[2]}"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy':
        "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; sandbox",
      'cache-control': 'no-store',
      'accept-ranges': 'bytes',
    });
  });

  it('answers HEAD like GET, without the body', async () => {
    const [get, head] = [await callUrl('GET', url), await callUrl('HEAD', url)];
    const withoutOwn = ({ headers }: typeof get) => {
      const { date, 'x-request-id': _, connection, ...rest } = headers;
      return rest;
    };
    expect([head.status, head.text]).toEqual([200, '']);
    expect(withoutOwn(head)).toEqual(withoutOwn(get));
    const part = await callUrl('HEAD', url, { headers: { Range: 'bytes=10-19' } });
    expect([part.status, part.headers['content-length']]).toEqual([200, '200000']);
  });

  it.each([
    ['bytes=0-0', 0, 0],
    ['bytes=-1', 199_999, 199_999],
    ['bytes=-999999', 0, 199_999],
    ['bytes=65535-65536', 65_535, 65_536],
    ['BYTES=5-', 5, 199_999],
  ])('gives %s', async (range, first, last) => {
    const { answer, bytes } = await bytesOf(url, { Range: range });
    expect(answer.status).toBe(206);
    expect(answer.headers.get('content-range')).toBe(`bytes ${first}-${last}/200000`);
    expect(bytes.equals(CONTENT.subarray(first, last + 1))).toBe(true);
  });

  it.each([
    'bytes=1-0',
    'bytes=a-b',
    'bytes=-',
    'bytes',
    'items=0-1',
    'bytes=0-1,5-9',
    'bytes=--1',
  ])('sends the whole recording when the range is %s', async (range) => {
    const { answer, bytes } = await bytesOf(url, { Range: range });
    expect([answer.status, bytes.length]).toEqual([200, CONTENT.length]);
  });

  it.each(['bytes=200000-', 'bytes=-0', 'bytes=99999999999999999999-'])(
    'answers 416 with the length when the range is %s',
    async (range) => {
      const answer = await callUrl('GET', url, { headers: { Range: range } });
      expect(failure(answer)).toBe('416 range-not-satisfiable');
      expect(answer.headers['content-range']).toBe('bytes */200000');
    },
  );

  it('is empty when the recording is empty', async () => {
    const { url: empty } = await recorded(Buffer.alloc(0));
    const answer = await callUrl('GET', empty);
    expect([answer.status, answer.headers['content-length'], answer.text]).toEqual([200, '0', '']);
    const part = await callUrl('GET', empty, { headers: { Range: 'bytes=0-' } });
    expect(failure(part)).toBe('416 range-not-satisfiable');
  });

  it('is answered with 304 for a client that has the recording', async () => {
    const { headers } = await callUrl('GET', url);
    const { etag = '', 'last-modified': date = '' } = headers;
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const answer = await callUrl('GET', url, { headers: { 'If-None-Match': known } });
      expect([known, answer.status, answer.text]).toEqual([known, 304, '']);
    }
    const statusSince = async (time: string, more: Record<string, string> = {}) => {
      const headers = { 'If-Modified-Since': time, ...more };
      return (await callUrl('GET', url, { headers })).status;
    };
    expect(await statusSince(date)).toBe(304);
    expect(await statusSince(new Date(Date.parse(date) - 1000).toUTCString())).toBe(200);
    expect(await statusSince('yesterday')).toBe(200);
    expect(await statusSince(date, { 'If-None-Match': '"x"' })).toBe(200);
    const statusIf = async (condition: string) => {
      const asked = { Range: 'bytes=0-1', 'If-Range': condition };
      return (await callUrl('GET', url, { headers: asked })).status;
    };
    expect([await statusIf(etag), await statusIf(date), await statusIf('"x"')]).toEqual([
      206, 206, 200,
    ]);
  });

  it('ends the connection when the recording becomes shorter meanwhile', async () => {
    const { gateway, key, url: long } = await recorded(randomBytes(MAX_UPLOAD_BYTES));
    const { pathname, search } = new URL(long);
    const socket = connect({ port: gateway.port, host: '127.0.0.1' });
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await once(socket, 'readable');
    await truncate(join(gateway.footageDirectory, key), 1);
    const ended = once(socket, 'close');
    socket.on('error', () => undefined).resume();
    await ended;
    expect(socket.bytesRead).toBeLessThan(MAX_UPLOAD_BYTES);
  });

  it('closes the file when the client breaks off', async () => {
    const { gateway, url: long } = await recorded(randomBytes(MAX_UPLOAD_BYTES));
    const before = gateway.logged.length;
    const { pathname, search } = new URL(long);
    for (let count = 0; count < 3; count++) {
      const socket = connect({ port: gateway.port, host: '127.0.0.1' });
      socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await once(socket, 'data');
      expect(openFiles(gateway)).toBeGreaterThan(0);
      socket.destroy();
      await expect.poll(() => openFiles(gateway)).toBe(0);
    }
    const logged = gateway.logged.slice(before);
    expect(logged.filter((line) => line.includes('"level":50'))).toEqual([]);
  });
});
