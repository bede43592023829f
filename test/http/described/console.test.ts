import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OpenAPIHono } from '@hono/zod-openapi';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../../src/errors.js';
import { BuiltFiles } from '../../../src/http/built-files.js';
import type { HttpEnv } from '../../../src/http/http-env.js';
import { registerPages } from '../../../src/http/routes/pages.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../client.js';
import { type TestGateway, useGateway } from '../harness.js';

const running = useGateway(useRedis());
const OF_NO_GATEWAY = {
  VERSION: '',
  SERVER_URL: '',
  MQTT_PORT: '',
  MQTTS_PORT: '',
  HTTP_PORT: '',
  HTTPS_PORT: '',
};

/** The addresses of the page's own files, relative to it. */
async function filesOf(gateway: TestGateway): Promise<readonly string[]> {
  const { text } = await gateway.call('GET', '/');
  return [...text.matchAll(/(?:src|href)="\.\/(console\/[^"]+)"/g)].map(([, path = '']) => path);
}

describe('the console', () => {
  it('loads from and sends to its own origin only, and cannot be framed', async () => {
    const gateway = running();
    const { headers, text } = await gateway.call('GET', '/');
    expect(headers['content-security-policy']).toBe(
      "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(text).not.toMatch(/<script>|<style|\son\w+=|\sstyle=|https?:/);
  });

  it('may play recordings from their origin, and load nothing else from there', async () => {
    const app = new OpenAPIHono<HttpEnv>();
    const files = new BuiltFiles('dist/console', OF_NO_GATEWAY);
    registerPages(app, { files, footageOrigins: ['https://recordings.example.org'] });
    const answer = await app.request('/');
    const policy = answer.headers.get('Content-Security-Policy')?.split('; ');
    expect(policy?.filter((one) => one.includes('example.org'))).toEqual([
      "media-src 'self' https://recordings.example.org",
    ]);
  });

  it('is revalidated on every request and sent only if it has changed', async () => {
    const gateway = running();
    const { headers } = await gateway.call('GET', '/');
    expect(headers['cache-control']).toBe('no-cache');
    const tag = String(headers['etag']);
    expect(tag).toMatch(/^W\/"[0-9a-f]{16}"$/);
    for (const tags of [tag, tag.replace('W/', ''), `"other", ${tag}`, '*']) {
      const answer = await gateway.call('GET', '/', { headers: { 'If-None-Match': tags } });
      expect([tags, answer.status, answer.text]).toEqual([tags, 304, '']);
      expect(answer.headers['etag']).toBe(tag);
      // Caches must know that this answer stands for both codings (RFC 9110, 15.4.5).
      expect(answer.headers['vary']).toBe('Accept-Encoding');
    }
    const other = await gateway.call('GET', '/', { headers: { 'If-None-Match': '"other"' } });
    expect(other.status).toBe(200);
  });

  it('has files that browsers cache, compressed, with content hashes in their names', async () => {
    const gateway = running();
    const files = await filesOf(gateway);
    // There may be several scripts, which are fetched at the same time.
    const kinds = new Set(files.map((path) => path.split('.').at(-1)));
    expect([...kinds].toSorted()).toEqual(['css', 'js', 'svg']);
    for (const path of files) {
      expect(path).toMatch(/-[\w-]{8}\.\w+$/);
      const plain = await gateway.call('GET', `/${path}`);
      expect([path, plain.status]).toEqual([path, 200]);
      expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      const url = `http://127.0.0.1:${gateway.port}/${path}`;
      const headers = { 'Accept-Encoding': 'gzip' };
      const compressed = await fetch(url, { headers, method: 'HEAD' });
      expect(compressed.headers.get('Content-Encoding')).toBe('gzip');
      expect(await compressed.text()).toBe('');
    }
  });

  it('has nothing at other paths under it', async () => {
    const gateway = running();
    for (const path of [
      '/console/other.js',
      '/console/..%2findex.html',
      '/console',
      '/index.html',
    ]) {
      expect([path, failure(await gateway.call('GET', path))]).toEqual([path, '404 not-found']);
    }
  });

  it('stops the start when it was not built, and says what to do', () => {
    const directory = mkdtempSync(join(tmpdir(), 'no-console-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const open = () => new BuiltFiles(directory, OF_NO_GATEWAY);
    expect(open).toThrow(GatewayError);
    expect(open).toThrow(
      `start-failed: the console in ${directory} cannot be read: npm ci && npm run build`,
    );
  });
});
