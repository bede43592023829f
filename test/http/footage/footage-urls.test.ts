import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../client.js';
import { startGateway, useGateway } from '../harness.js';
import { callUrl, downloadUrl, put, withRecording } from './cameras.js';

const redis = useRedis();
const running = useGateway(redis);
const CONTENT = randomBytes(10_000);
const recorded = () => withRecording(running(), CONTENT);

describe('a file outside the folder', () => {
  it('cannot be reached through a link in it', async () => {
    const { gateway, camera, key, url } = await recorded();
    const secret = join(dirname(gateway.footageDirectory), 'admin.token');
    await writeFile(secret, ADMIN_TOKEN);
    const path = join(gateway.footageDirectory, key);
    await rm(path);
    await symlink(secret, path);
    expect(failure(await callUrl('GET', url))).toBe('404 footage-not-found');

    const outside = join(dirname(gateway.footageDirectory), 'outside');
    const name = `${randomUUID()}.wav`;
    await mkdir(outside);
    await writeFile(join(outside, name), 'secret');
    await symlink(outside, join(gateway.footageDirectory, camera.id, 'audio'));
    const byDirectory = await downloadUrl(gateway, `${camera.id}/audio/${name}`);
    expect(failure(await callUrl('GET', byDirectory))).toBe('404 footage-not-found');
  });

  it('cannot be reached by any path', async () => {
    const { gateway, camera, url } = await recorded();
    await writeFile(join(dirname(gateway.footageDirectory), 'admin.token'), ADMIN_TOKEN);
    const { search } = new URL(url);
    const names = [
      '..',
      '%2e%2e',
      '..%2f..%2fadmin.token',
      '..\\..\\admin.token',
      '%00',
      '.uploads',
    ];
    const paths = [
      ...names.map((name) => `/footage/${camera.id}/video/${name}`),
      ...names.map((name) => `/footage/${name}/${name}/admin.token`),
      '/footage/../admin.token',
      '/footage//etc/passwd',
      '/footage/%2e%2e/admin.token',
      `/footage/${camera.id}`,
      '/footage',
      '/footage/',
    ];
    for (const path of paths) {
      for (const query of ['', search]) {
        for (const method of ['GET', 'PUT', 'HEAD']) {
          const answer = await gateway.call(method, path + query, { token: ADMIN_TOKEN });
          expect([method, path, answer.status]).toEqual([method, path, refusal(answer.status)]);
          expect(answer.text).not.toContain(ADMIN_TOKEN);
        }
      }
    }
  });

  it('cannot be reached by a signed key', async () => {
    const { gateway, camera } = await recorded();
    const keys = [
      'a/../../admin.token',
      `${camera.id}/video/..`,
      `../${camera.id}/x`,
      '///',
      'a//b',
    ];
    for (const key of keys) {
      const { status } = await callUrl('GET', await downloadUrl(gateway, key));
      expect([key, status]).toEqual([key, refusal(status)]);
    }
  });
});

/** The status itself if it is a refusal. */
function refusal(status: number): number | string {
  return [400, 403, 404, 405].includes(status) ? status : 'a refusal';
}

describe('a signed URL', () => {
  it('is refused the same way whether or not the recording exists', async () => {
    const { url, key } = await recorded();
    const missing = url.replace(key.slice(-10), 'aaaaaa.mp4');
    for (const target of [url, missing]) {
      const unsigned = await callUrl(
        'GET',
        target.replace(/signature=.*/, `signature=${'A'.repeat(43)}`),
      );
      expect(failure(unsigned)).toBe('403 forbidden');
    }
  });

  it('is valid exactly as issued only', async () => {
    const { url } = await recorded();
    const [path = '', query = ''] = url.split('?');
    const [expires, signature] = query.split('&');
    const queries = [
      '',
      `${query}&`,
      `${query}&x=1`,
      `${query}&${expires}`,
      `${signature}&${expires}`,
      `${expires}0&${signature}`,
      `${expires}`,
      `${signature}`,
      `${query}%3D`,
      `${query}=`,
      query.replace('expires=', 'expires=0'),
      query.replace('expires=', 'expires=%2B'),
      query.replace('signature', 'Signature'),
    ];
    for (const altered of queries) {
      const answer = await callUrl('GET', `${path}?${altered}`);
      expect([altered, failure(answer)]).toEqual([altered, '403 forbidden']);
    }
    expect((await callUrl('GET', url)).status).toBe(200);
  });

  it('expires after ten minutes by the gateway’s clock', async () => {
    const { gateway, url } = await withRecording(await startGateway(redis), CONTENT);
    gateway.aheadMs = 598_000;
    expect((await callUrl('GET', url)).status).toBe(200);
    gateway.aheadMs = 600_000;
    expect(failure(await callUrl('GET', url))).toBe('403 forbidden');
  });

  it('is never logged, even when it is refused', async () => {
    const { gateway, url, uploadUrl } = await recorded();
    await callUrl('GET', url);
    await callUrl('GET', `${url}x`);
    await put(uploadUrl, CONTENT);
    const log = gateway.logged.join('');
    expect(log).toContain('/footage/');
    for (const signed of [url, uploadUrl]) {
      const signature = new URL(signed).searchParams.get('signature') ?? 'none';
      expect(log).not.toContain(signature);
    }
  });

  it('is audited when it was altered and is denied, unlike a bare path', async () => {
    const { gateway, url } = await withRecording(await startGateway(redis), CONTENT);
    const [path = ''] = url.split('?');
    const before = await gateway.recordCount();
    for (const method of ['GET', 'PUT']) {
      for (const query of ['', '?expires=1']) await callUrl(method, path + query);
    }
    await callUrl('GET', `${url}x`);
    const query = '/audit?actions=permission.refused';
    const events = async () => Object((await gateway.admin('GET', query)).json).events;
    await expect.poll(events).toMatchObject([{ actor: { type: 'anonymous' } }]);
    expect(await gateway.recordCount()).toBe(before + 1);
  });

  it('is sufficient: no token helps or hinders', async () => {
    const { url, camera, gateway } = await recorded();
    expect((await callUrl('GET', url, { token: 'nobody' })).status).toBe(200);
    const bare = `/footage/${camera.id}/video/${randomUUID()}.mp4`;
    expect(failure(await gateway.admin('GET', bare))).toBe('403 forbidden');
    expect(failure(await gateway.admin('PUT', bare))).toBe('403 forbidden');
  });
});
