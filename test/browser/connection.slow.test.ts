import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { Api } from '../former/clients/api.js';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { accessibilityFaults } from './accessibility.js';
import { installClock, Network, openConsole } from './browser.js';

/** The gateway is silent for 11 s before it counts as lost. */
const SILENCE_MS = 12_000;
/** The console retries a failed check of a token after this time. */
const RETRY_MS = 5_000;
const LOST = 'Not connected. New alarms do not appear here';

let gateway: GatewayProcess;

beforeAll(async () => {
  gateway = await GatewayProcess.start();
});

afterAll(() => gateway.remove());

/** Lets requests wait for an answer for a tenth of the 15 s that the console gives them. */
const hurryTimeouts = (page: Page) =>
  page.addInitScript(() => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    AbortSignal.timeout = (ms) => timeout(ms / 10);
  });

const banner = (page: Page) => page.getByRole('alert').filter({ hasText: LOST });
const connected = (page: Page) => page.getByText('Connected', { exact: true });

describe('the connection', () => {
  it('is recognised as lost when the gateway is silent', async () => {
    const { page } = await openConsole(gateway, { token: ADMIN_TOKEN, prepare: installClock });
    await connected(page).waitFor();
    process.kill(gateway.processId, 'SIGSTOP');
    onTestFinished(() => void process.kill(gateway.processId, 'SIGCONT'));
    await page.clock.fastForward(SILENCE_MS);
    await banner(page).waitFor();
    process.kill(gateway.processId, 'SIGCONT');
    await connected(page).waitFor();
  });

  it('is not reported lost when a proxy ends it and it is back in a moment', async () => {
    const { page } = await openConsole(gateway);
    await page.evaluate(() => {
      const watch = () => {
        const isLost = document.querySelector('.lost-banner') !== null;
        if (isLost) Object.assign(globalThis, { wasLost: true });
      };
      new MutationObserver(watch).observe(document.body, { childList: true, subtree: true });
    });
    const body = 'event: open\ndata: {"position":"","missed":false}\n\n';
    await page.route('**/events?*', (route) => route.fulfill({ body }), { times: 1 });
    await page.getByLabel('Access token').fill(ADMIN_TOKEN);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForResponse((answer) => answer.url().includes('/events'));
    await page.waitForResponse((answer) => answer.url().includes('/events'));
    await connected(page).waitFor();
    expect(await page.evaluate(() => 'wasLost' in globalThis)).toBe(false);
  });

  it('does not hold up a request forever when the gateway is silent; a download continues', async () => {
    await new Api(gateway).createLocation();
    const options = { token: ADMIN_TOKEN, path: '/history', prepare: hurryTimeouts };
    const { page } = await openConsole(gateway, options);
    const download = page.getByRole('button', { name: 'Download as CSV' });
    await download.waitFor();
    await connected(page).waitFor();
    process.kill(gateway.processId, 'SIGSTOP');
    onTestFinished(() => void process.kill(gateway.processId, 'SIGCONT'));
    await download.click();
    await page.getByRole('button', { name: 'Chart' }).click();
    // Other requests of the page, such as for the homes to choose from, may have had no answer either.
    const chart = page.getByRole('region', { name: 'Chart' });
    const answered = chart.getByRole('alert').filter({ hasText: 'The gateway does not answer.' });
    await answered.waitFor();
    process.kill(gateway.processId, 'SIGCONT');
    await page.getByText(/^Downloaded/).waitFor();
    await answered.getByRole('button', { name: 'Try again' }).click();
    await answered.waitFor({ state: 'detached' });
  });

  it('has no more listeners after leaving the page of a device, which has a connection of its own', async () => {
    const api = new Api(gateway);
    const { id, locationId } = await api.createDevice((await api.createLocation()).id);
    const { page } = await openConsole(gateway, { token: ADMIN_TOKEN });
    await connected(page).waitFor();
    const before = await connectionListeners(page);
    await page.goto(`${gateway.httpUrl}/#/home/${locationId}/devices/${id}`);
    await page.getByRole('heading', { name: 'Messages, live' }).waitFor();
    await page.getByRole('link', { name: 'Board' }).click();
    await page.getByText('No open alarms').waitFor();
    expect(await connectionListeners(page)).toBe(before);
  });

  it('ends with the access token, and the console asks for another', async () => {
    const api = new Api(gateway);
    const { id, token } = await api.createToken([{ location: '*', role: 'admin' }]);
    const { page } = await openConsole(gateway, { token });
    await connected(page).waitFor();
    await api.request('DELETE', `/access-tokens/${id}`);
    await page.getByRole('alert').filter({ hasText: 'does not know this token' }).waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  });
});

describe('an updated gateway', () => {
  it('is noticed when it is back; a screen on a wall loads the new console automatically', async () => {
    const network = await Network.to(gateway);
    const { page } = await openConsole(network, { token: ADMIN_TOKEN });
    const wall = await openConsole(network, { token: ADMIN_TOKEN, path: '/?kiosk' });
    await connected(page).waitFor();
    await wall.page.getByText('No open alarms').waitFor();
    for (const open of [page, wall.page]) await serveOtherConsole(open);
    await network.cut(page, wall.page);
    const loaded = wall.page.waitForEvent('load');
    await network.mend(page, wall.page);
    await page.getByText('The gateway was updated.').waitFor();
    await loaded;
  });

  it('has other files for a page, which can be reloaded', async () => {
    const { page } = await openConsole(gateway, { token: ADMIN_TOKEN });
    await connected(page).waitFor();
    await page.route('**/console/history-page-*.js', (route) => route.fulfill({ status: 404 }));
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByRole('alert').filter({ hasText: 'This page cannot be shown.' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
  });
});

it('a part of the board that cannot be loaded is reported as possibly updated', async () => {
  const { page } = await openConsole(gateway, { token: ADMIN_TOKEN });
  await connected(page).waitFor();
  await page.route('**/console/wall-link-dialog-*.js', (route) => route.fulfill({ status: 404 }));
  await page.getByRole('button', { name: 'Link for a wall screen' }).click();
  await page.getByText('or it was updated and has a newer page').waitFor();
});

it('a page that fails is reported, and the others still work', async () => {
  const { page } = await openConsole(gateway, { token: ADMIN_TOKEN });
  await connected(page).waitFor();
  const body = 'export function HistoryPage() { throw new Error("broken"); }';
  await page.route('**/console/history-page-*.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body }),
  );
  await page.getByRole('link', { name: 'History' }).click();
  await page.getByRole('alert').filter({ hasText: 'An error of the program' }).waitFor();
  await page.getByRole('link', { name: 'Home' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
});

it('a gateway that does not answer is retried until it does', async () => {
  const { page } = await openConsole(gateway, { prepare: installClock });
  await page.getByLabel('Access token').fill(ADMIN_TOKEN);
  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').filter({ hasText: 'does not answer' }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  await page.context().setOffline(false);
  await page.clock.fastForward(RETRY_MS);
  await connected(page).waitFor();
});

/** How many listeners of the page wait for the network, or for someone to look at the page. */
async function connectionListeners(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  const { result } = await session.send('Runtime.evaluate', {
    expression:
      '(getEventListeners(window).online ?? []).length + (getEventListeners(document).visibilitychange ?? []).length',
    includeCommandLineAPI: true,
  });
  return z.number().parse(result.value);
}

/** Answers with what looks like another version to the console on the page. */
async function serveOtherConsole(page: Page): Promise<void> {
  await page.route(
    (url) => url.pathname === '/',
    async (route) => {
      if (route.request().resourceType() !== 'fetch') return route.fallback();
      const answer = await route.fetch();
      const body = (await answer.text()).replaceAll('console/index-', 'console/other-');
      return route.fulfill({ response: answer, body });
    },
  );
}
