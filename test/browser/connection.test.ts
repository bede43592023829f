/** The connection of a page: when it counts as lost, what a page says meanwhile, and that it misses nothing. */
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import type { CutProxy } from '../harness/proxy.js';
import { alarm, bedSensor, boardReady, expect, raise, requireAccessible, test } from './browser.js';

/** The gateway is silent for 11 s before it counts as lost. */
const SILENCE_MS = 12_000;
/** The console checks a token again after this time. */
const RETRY_MS = 5_000;

const url = ({ port }: CutProxy) => `http://127.0.0.1:${port}`;
const banner = (page: Page) =>
  page.locator('.lost-banner').filter({ hasText: 'Not connected. New alarms do not appear here' });
const connected = (page: Page) => page.getByText('Connected', { exact: true });

/** Lets the page through again, and tells it that the network is back. */
async function mend(proxy: CutProxy, ...pages: readonly Page[]): Promise<void> {
  proxy.mend();
  for (const page of pages) await page.evaluate(() => dispatchEvent(new Event('online')));
}

test('a lost connection is shown in large letters, and nothing is missed once it is back', async ({
  home,
  own,
  open,
}) => {
  const device = await bedSensor(home);
  const proxy = await own.proxy(home.gateway.httpPort);
  const page = await open({ url: url(proxy) });
  await page.getByText('No open alarms').waitFor();
  const id = randomUUID();
  await raise(home, device, { id, kind: 'fall' });
  await alarm(page, 'Fall, Room 12').waitFor();
  await home.must('POST', `./alarms/${id}/resolve`, { json: {} });
  await page.getByText('No open alarms').waitFor();
  proxy.refuse();
  await banner(page).waitFor();
  // The title changes after the drawing.
  await expect.poll(() => page.title()).toMatch(/^Not connected/);
  const sizePx = await banner(page).evaluate((it) =>
    Number.parseFloat(getComputedStyle(it).fontSize),
  );
  expect(sizePx).toBeGreaterThanOrEqual(24);
  await page.getByText('Whether there are open alarms is not known at the moment.').waitFor();
  expect(await page.getByText('No open alarms').count()).toBe(0);
  await page.getByRole('heading', { name: 'Open alarms', exact: true }).waitFor();
  await requireAccessible(page);
  const other = randomUUID();
  await raise(home, device, { id: other, kind: 'helpCall' });
  await home.must('POST', `./alarms/${other}/acknowledge`, { json: {} });
  await raise(home, device, { kind: 'noise' });
  await mend(proxy, page);
  await banner(page).waitFor({ state: 'detached' });
  await alarm(page, 'Noise, Room 12').waitFor();
  await alarm(page, 'Help call, Room 12').getByText('Acknowledged by admin').waitFor();
  expect(await page.locator('.board-alarm').count()).toBe(2);
});

test('a silent gateway is lost, and found again', async ({ home, own, open }) => {
  const proxy = await own.proxy(home.gateway.httpPort);
  const page = await open({ url: url(proxy), hasClock: true });
  await connected(page).waitFor();
  proxy.swallow();
  await page.clock.fastForward(SILENCE_MS);
  await banner(page).waitFor();
  proxy.mend();
  proxy.reset();
  await page.clock.fastForward(SILENCE_MS);
  await connected(page).waitFor();
});

test('a stream that a proxy ends, and that is back in a moment, is not lost', async ({
  home,
  open,
}) => {
  const page = await open({ token: null });
  await page.evaluate(() => {
    const watch = () => {
      const isLost = document.querySelector('.lost-banner') !== null;
      if (isLost) Object.assign(globalThis, { wasLost: true });
    };
    new MutationObserver(watch).observe(document.body, { childList: true, subtree: true });
  });
  const body = 'event: open\ndata: {"position":"","missed":false}\n\n';
  await page.route('**/events?*', (route) => route.fulfill({ body }), { times: 1 });
  const streams = () => page.waitForResponse((answer) => answer.url().includes('/events'));
  await page.getByLabel('Access token').fill(home.viewer.token);
  const first = streams();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await first;
  await streams();
  await connected(page).waitFor();
  expect(await page.evaluate(() => 'wasLost' in globalThis)).toBe(false);
});

test('signing in is tried again until the gateway answers', async ({ home, open }) => {
  const page = await open({ token: null, hasClock: true });
  await page.getByLabel('Access token').fill(home.viewer.token);
  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').filter({ hasText: 'does not answer' }).waitFor();
  await page.context().setOffline(false);
  await page.clock.fastForward(RETRY_MS);
  await connected(page).waitFor();
});

test('no request waits for ever, and a download may take its time', async ({ home, open }) => {
  // A tenth of the 15 s that the console gives a request.
  const prepare = (page: Page) =>
    page.addInitScript(() => {
      const timeout = AbortSignal.timeout.bind(AbortSignal);
      AbortSignal.timeout = (ms) => timeout(ms / 10);
    });
  const page = await open({ path: `/history?location=${home.locationId}`, prepare });
  const answers: (() => void)[] = [];
  // Nothing is answered until the test says so.
  for (const path of ['**/alarm-counts?*', '**/alarms?*']) {
    await page.route(path, async (route) => {
      await new Promise<void>((resolve) => {
        answers.push(resolve);
      });
      // The page has given up a request that had no answer.
      await route.continue().catch(() => undefined);
    });
  }
  await page.getByRole('button', { name: 'Download as CSV' }).click();
  await page.getByRole('button', { name: 'Chart' }).click();
  const chart = page.getByRole('region', { name: 'Chart' });
  const failure = chart.getByRole('alert').filter({ hasText: 'The gateway does not answer.' });
  await failure.waitFor();
  await page.unroute('**/alarm-counts?*');
  for (const answer of answers) answer();
  await page.getByText(/^Downloaded/).waitFor();
  await failure.getByRole('button', { name: 'Try again' }).click();
  await failure.waitFor({ state: 'detached' });
});

test('a page of a device has a connection of its own, and leaves no listeners behind', async ({
  home,
  open,
}) => {
  const { id } = await home.device();
  const page = await open();
  await boardReady(page);
  const before = await connectionListeners(page);
  await page.goto(`${home.gateway.httpUrl}/#/home/${home.locationId}/devices/${id}`);
  await page.getByRole('heading', { name: 'Messages, live' }).waitFor();
  await page.getByRole('link', { name: 'Board' }).click();
  await page.getByText('No open alarms').waitFor();
  expect(await connectionListeners(page)).toBe(before);
});

test('an updated gateway is noticed; a screen on a wall loads the new console by itself', async ({
  home,
  own,
  open,
}) => {
  const proxy = await own.proxy(home.gateway.httpPort);
  const view = { url: url(proxy), token: home.viewer.token };
  const pages = [await open(view), await open({ ...view, path: '/?kiosk' })];
  const [desk, wall] = pages;
  for (const page of pages) {
    await boardReady(page);
    await page.route(
      ({ pathname }) => pathname === '/',
      async (route) => {
        if (route.request().resourceType() !== 'fetch') return route.fallback();
        const answer = await route.fetch();
        const body = (await answer.text()).replaceAll('console/index-', 'console/other-');
        return route.fulfill({ response: answer, body });
      },
    );
  }
  proxy.refuse();
  for (const page of pages) await page.locator('.lost-banner').waitFor();
  const loaded = wall?.waitForEvent('load');
  await mend(proxy, ...pages);
  await desk?.getByText('The gateway was updated.').waitFor();
  await loaded;
});

test('a page that cannot be loaded or that fails says so, and the others still work', async ({
  open,
}) => {
  const page = await open({ causes: /PageNotLoaded|Error: broken/ });
  await boardReady(page);
  const history = '**/console/history-page-*.js';
  await page.route(history, (route) => route.fulfill({ status: 404 }));
  await page.getByRole('link', { name: 'History' }).click();
  await page.getByRole('alert').filter({ hasText: 'This page cannot be shown.' }).waitFor();
  await requireAccessible(page);
  await page.unroute(history);
  const body = 'export function HistoryPage() { throw new Error("broken"); }';
  await page.route(history, (route) => route.fulfill({ contentType: 'text/javascript', body }));
  await page.getByRole('button', { name: 'Reload' }).click();
  await page.getByRole('alert').filter({ hasText: 'An error of the program' }).waitFor();
  await page.getByRole('link', { name: 'Home', exact: true }).click();
  await page.locator('main h1').waitFor();
  await page.unroute(history);
  await page.reload();
  await page.getByRole('link', { name: 'History' }).click();
  await page.getByRole('heading', { name: 'History' }).waitFor();
});

/** How many listeners of the page wait for the network, or for someone to look at the page. */
async function connectionListeners(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  const { result } = await session.send('Runtime.evaluate', {
    expression:
      '(getEventListeners(window).online ?? []).length + (getEventListeners(document).visibilitychange ?? []).length',
    includeCommandLineAPI: true,
  });
  await session.detach();
  return z.number().parse(result.value);
}
