import { once } from 'node:events';
import { connect } from 'node:net';
import type { Browser } from 'playwright-core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { asyncApiDocument } from '../../../scripts/descriptions/asyncapi-document.js';
import { startBrowser } from '../../browser/browser.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../client.js';
import { type TestGateway, useGateway } from '../harness.js';
import { routesOf } from '../routes.js';

const running = useGateway(useRedis());
let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

/** Opens the page in a browser, and records all its requests and errors. */
async function open(gateway: TestGateway) {
  const requested: string[] = [];
  const faults: unknown[] = [];
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  page.on('request', (request) => requested.push(request.url()));
  page.on('pageerror', (error) => faults.push(error));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
  await page.goto(`http://127.0.0.1:${gateway.port}/docs`);
  return { page, requested, faults };
}

describe('/docs', () => {
  it('shows every operation of the OpenAPI document, from this gateway alone', async () => {
    const gateway = running();
    const { page, requested, faults } = await open(gateway);
    // MQTT over WebSocket is not an HTTP exchange.
    const operations = routesOf().filter(({ path }) => path !== '/mqtt');
    await expect
      .poll(() => page.locator('.opblock').count(), { interval: 100 })
      .toBe(operations.length);
    expect(await page.locator('.info .title').textContent()).toContain('Care-home gateway');
    await page.getByText('Move a room from its group to another').waitFor();
    const origin = `http://127.0.0.1:${gateway.port}`;
    const addresses = requested
      .map((url) => new URL(url))
      .filter(({ protocol }) => protocol !== 'data:');
    expect(addresses.map((address) => address.origin)).toEqual(addresses.map(() => origin));
    expect(addresses.map(({ pathname }) => pathname).toSorted()).toEqual([
      '/docs',
      '/docs/start.js',
      '/docs/swagger-ui-bundle.js',
      '/docs/swagger-ui.css',
      '/openapi.json',
    ]);
    expect(faults).toEqual([]);
  });

  it('lets the browser request from the gateway only', async () => {
    const gateway = running();
    const { headers, text } = await gateway.call('GET', '/docs');
    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy).toContain("default-src 'none'");
    const sources = policy.flatMap((directive) => directive.split(' ').slice(1));
    expect([...new Set(sources)].toSorted()).toEqual(["'none'", "'self'", 'data:']);
    // The page contains nothing that the policy would block.
    expect(text).not.toMatch(/<script>|<style|\son\w+=|\sstyle=|\/\//);
  });

  it('has files without references to other hosts, cached until they change', async () => {
    const gateway = running();
    const { text: html, headers } = await gateway.call('GET', '/docs');
    expect(headers['cache-control']).toBe('no-cache');
    const files = [...html.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, url]) => url);
    expect(files).toHaveLength(3);
    for (const file of files) {
      const answer = await gateway.call('GET', `/${file}`);
      expect([file, answer.status]).toEqual([file, 200]);
      expect(answer.headers['cache-control']).toBe('no-cache');
      const known = { 'If-None-Match': String(answer.headers['etag']) };
      const again = await gateway.call('GET', `/${file}`, { headers: known });
      expect([file, again.status, again.text]).toEqual([file, 304, '']);
      if (!file?.includes('.css')) continue;
      expect(answer.text).not.toContain('@import');
      const targets = [...answer.text.matchAll(/url\(["']?([^)]{5})/g)].map(([, start]) => start);
      expect(new Set(targets)).toEqual(new Set(['data:']));
    }
  });

  it('is read-only, and has no other paths under it', async () => {
    const gateway = running();
    for (const path of ['/docs/package.json', '/docs/..%2fpackage.json', '/docs/index.html']) {
      expect(failure(await gateway.call('GET', path))).toBe('404 not-found');
    }
    for (const path of ['/docs', '/docs/start.js']) {
      expect((await gateway.call('HEAD', path)).status).toBe(200);
      const answer = await gateway.call('POST', path);
      expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    }
  });
});

/** The page as clients without scripts get it. */
async function pageOf(gateway: TestGateway, path: string, policy: string): Promise<string> {
  const { status, headers, text } = await gateway.call('GET', path);
  expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(String(headers['content-security-policy'])).toContain(policy);
  return text;
}

/** Where a link of a page leads; it must be on the gateway. */
function pathOf(link: string, page: string): string {
  const { host, pathname } = new URL(link, `http://gateway${page}`);
  expect(host).toBe('gateway');
  return pathname;
}

const CHARACTERS: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };

/** The texts of all elements with the name. */
function textsOf(page: string, name: string): string[] {
  const elements = page.matchAll(new RegExp(`<${name}[ >][\\s\\S]*?</${name}>`, 'g'));
  return Array.from(elements, ([element]) =>
    element
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll(/&(\w+);/g, (_, entity: string) => CHARACTERS[entity] ?? entity),
  );
}

describe('/docs/mqtt', () => {
  it('shows every topic with an example message, and needs no script or other host', async () => {
    const gateway = running();
    const page = await pageOf(gateway, '/docs/mqtt', "default-src 'none'");
    const topics = textsOf(page, 'h2');
    const { channels, components } = asyncApiDocument();
    expect(topics).toEqual(Object.values(channels).map(({ address }) => address));
    const examples = Object.values(components.messages).flatMap((one) => one.examples ?? []);
    const shown = textsOf(page, 'pre').map((text): unknown => JSON.parse(text));
    expect(shown).toEqual(examples.map(({ payload }) => payload));
    expect(page).toMatch(/<code>mqtt:\/\/localhost:\d+<\/code>/);
    expect(page).toContain('Whether it is forwarded more than 60 s after');
    expect(page).not.toMatch(/<(script|img|iframe)\b/);
    const [, style = ''] = /<link rel="stylesheet" href="([^"]+)">/.exec(page) ?? [];
    const { headers } = await gateway.call('GET', pathOf(style, '/docs/mqtt'));
    expect(headers['content-type']).toBe('text/css; charset=utf-8');
  });
});

describe('/', () => {
  it('links to everything a newcomer needs, on this gateway alone', async () => {
    const gateway = running();
    const page = await pageOf(gateway, '/', "default-src 'self'");
    const links = Array.from(page.matchAll(/<a\b[^>]*\bhref="([^"]+)"/g), ([, link = '']) =>
      pathOf(link, '/'),
    );
    expect(links).toEqual(
      expect.arrayContaining(['/docs', '/docs/mqtt', '/openapi.json', '/asyncapi.json']),
    );
    for (const pathname of links) {
      expect([pathname, (await gateway.call('GET', pathname)).status]).toEqual([pathname, 200]);
    }
  });
});

it('does not copy a file for each client that does not read it', async () => {
  const gateway = running();
  const path = '/docs/swagger-ui-bundle.js';
  const { text } = await gateway.call('GET', path);
  // Garbage of earlier requests can only make the difference smaller.
  const beforeBytes = process.memoryUsage().arrayBuffers;
  const clients = Array.from({ length: 20 }, () => connect(gateway.port, '127.0.0.1'));
  onTestFinished(() => {
    for (const client of clients) client.destroy();
  });
  const requests = `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(8);
  for (const client of clients) client.write(requests);
  // All clients have the beginning of the first answer, and read no more of it.
  await Promise.all(clients.map((client) => once(client, 'readable')));
  const takenBytes = process.memoryUsage().arrayBuffers - beforeBytes;
  expect(takenBytes).toBeLessThan(clients.length * text.length);
});
