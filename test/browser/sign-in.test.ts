/**
 * Signing in and out, and the frame around every page: what a tab keeps of a token, whom the navigation offers what,
 * and that the keyboard alone is enough.
 */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { Page, Route } from 'playwright-core';
import { ADMIN_TOKEN, alarm, bedSensor, boardReady, expect, raise, test } from './browser.js';

const signIn = async (page: Page, token: string) => {
  await page.getByLabel('Access token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
};
const link = (page: Page, name: string) =>
  page.getByRole('navigation').first().getByRole('link', { name, exact: true });
const board = (page: Page) => page.locator('main .board');
const isKept = (page: Page) => page.evaluate(() => sessionStorage.length + localStorage.length);

test('a token is kept for the tab, and forgotten on signing out', async ({ home, open }) => {
  const page = await open({ token: null, language: 'de-DE' });
  await page.getByRole('button', { name: 'Anmelden' }).waitFor();
  await page.getByLabel('Sprache').selectOption('en');
  await signIn(page, 'not-a-token');
  await page.getByRole('alert').getByText('does not know this token').waitFor();
  await signIn(page, home.viewer.token);
  await link(page, 'Board').waitFor();
  expect(await page.locator('html').getAttribute('lang')).toBe('en');
  await page.reload();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Access token').waitFor();
  await page.getByRole('combobox', { name: 'Language' }).selectOption('de');
  await page.getByLabel('Zugangstoken').waitFor();
  const kept = await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]));
  expect(kept).not.toContain(home.viewer.token);
});

test('a token that stays on the device is signed out in all tabs', async ({ home, open }) => {
  const page = await open({ token: null });
  await page.getByLabel('Stay signed in on this device').check();
  await signIn(page, home.viewer.token);
  await boardReady(page);
  const other = await page.context().newPage();
  await other.goto(`${home.gateway.httpUrl}/`);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Access token').waitFor();
  expect(await isKept(page)).toBe(0);
});

test('works in a browser that forbids pages to store anything', async ({ home, open }) => {
  const prepare = (tab: Page) =>
    tab.addInitScript(() => {
      const get = () => {
        throw new DOMException('Access is denied for this document.', 'SecurityError');
      };
      for (const area of ['localStorage', 'sessionStorage']) {
        Object.defineProperty(globalThis, area, { get });
      }
    });
  const page = await open({ token: null, prepare });
  await signIn(page, home.viewer.token);
  await page.getByRole('button', { name: 'Switch sound on' }).click();
  await page.getByText('Sound is on').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Access token').waitFor();
});

test('a link signs in, also again in the same tab, and leaves the address at once', async ({
  home,
  open,
}) => {
  const page = await open();
  await boardReady(page);
  expect(page.url()).not.toContain('token');
  await page.goto(`${home.gateway.httpUrl}/#/?token=${home.manager.token}`);
  await expect.poll(() => page.url()).not.toContain('token');
  await link(page, 'History').click();
  await page.getByRole('heading', { name: 'History' }).waitFor();
});

test('the console asks for another token when its own is deleted, and a late refusal does not end the next', async ({
  home,
  open,
}) => {
  const { id, token } = await home.token();
  const page = await open({ token });
  await boardReady(page);
  await link(page, 'History').click();
  await page.getByRole('heading', { name: 'History' }).waitFor();
  const held = new Promise<Route>((resolve) => {
    void page.route('**/care-homes', resolve, { times: 1 });
  });
  await link(page, 'Home').click();
  const asked = await held;
  await home.must('DELETE', `/access-tokens/${id}`);
  await page.getByRole('alert').filter({ hasText: 'does not know this token' }).waitFor();
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  await signIn(page, home.viewer.token);
  await page.getByText('Connected', { exact: true }).waitFor();
  await asked.continue();
  // The page gives up a question that takes longer than a busy machine may need up to here.
  expect([401, undefined]).toContain((await asked.request().response())?.status());
  await link(page, 'History').click();
  await page.getByRole('heading', { name: 'History' }).waitFor();
});

test('the board of the next token shows what comes before it is connected', async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  const page = await open();
  await boardReady(page);
  const held = new Promise<Route>((resolve) => {
    void page.route('**/events?*', resolve, { times: 1 });
  });
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn(page, home.viewer.token);
  const stream = await held;
  await page.getByText('Reading the open alarms').waitFor();
  await raise(home, device, { kind: 'fall' });
  await stream.continue();
  await alarm(page, 'Fall, Room 12').waitFor();
});

test('a link of another token sends what waits with the one before, and shows all its homes', async ({
  home,
  own,
  open,
}) => {
  const device = await bedSensor(home);
  const second = await own.homeAt(home.gateway, 'Haus am Berg');
  const tokens = [home, second].map(({ locationId }) => ({ location: locationId, role: 'viewer' }));
  const { token } = await home.token([...tokens, { location: home.locationId, role: 'responder' }]);
  const other = await home.token(tokens);
  const page = await open({ token });
  await boardReady(page);
  await page.getByRole('combobox', { name: 'Home', exact: true }).selectOption(home.locationId);
  await raise(home, device, { kind: 'fall' });
  await page.getByRole('button', { name: 'Resolve' }).click();
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  const sent = page.waitForRequest((one) => one.url().includes('/resolve'));
  await page.goto(`${home.gateway.httpUrl}/#/?token=${other.token}`);
  expect((await sent).headers()['authorization']).toBe(`Bearer ${token}`);
  await page.getByText('No open alarms').waitFor();
  await raise(second, await bedSensor(second, 'Room 13'), { kind: 'noise' });
  await alarm(page, 'Noise, Room 13').waitFor();
});

test('a secret that is answered too late is not shown to the next user', async ({ home, open }) => {
  const page = await open({ token: ADMIN_TOKEN, path: '/gateway/tokens' });
  await page.getByRole('button', { name: 'New access token' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Late');
  const held = new Promise<Route>((resolve) => {
    void page.route('**/access-tokens', resolve, { times: 1 });
  });
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const asked = await held;
  await page.goto(`${home.gateway.httpUrl}/#/?token=${home.viewer.token}`);
  await boardReady(page);
  const answered = page.waitForResponse((response) => response.request() === asked.request());
  await asked.continue();
  expect((await answered).status()).toBe(201);
  await page.getByRole('link', { name: 'Home', exact: true }).click();
  await page.getByRole('link', { name: 'Board', exact: true }).click();
  expect(await page.getByRole('dialog').count()).toBe(0);
});

test('a wall screen without a token says that alarms do not appear; a desk does not', async ({
  home,
  open,
}) => {
  const page = await open({ token: null, path: '/?kiosk' });
  await page.getByRole('alert').getByText('New alarms do not appear here').waitFor();
  await page.goto(`${home.gateway.httpUrl}/#/`);
  await page.reload();
  await page.getByLabel('Access token').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
});

test('a wall screen stays signed in whatever a second tab opens', async ({ home, open }) => {
  const page = await open({ token: home.viewer.token, path: '/?kiosk' });
  await board(page).waitFor({ state: 'attached' });
  expect(await page.getByRole('navigation').count()).toBe(0);
  const other = await home.token();
  const signedOut = (tab: Page) => tab.getByLabel('Access token');
  for (const [place, shown] of [
    [`/?kiosk&token=${home.viewer.token}`, board],
    [`/history?token=${other.token}`, (tab: Page) => tab.getByRole('heading', { name: 'History' })],
    ['/?token=not-a-token', (tab: Page) => tab.getByText('does not know this token')],
    [`/?token=${other.token}`, signedOut],
  ] as const) {
    const tab = await page.context().newPage();
    await tab.goto(`${home.gateway.httpUrl}/#${place}`);
    if (shown === signedOut) await tab.getByRole('button', { name: 'Sign out' }).click();
    await shown(tab).waitFor({ state: 'attached' });
    await tab.close();
    expect(await board(page).count()).toBe(1);
    await page.reload();
    await board(page).waitFor({ state: 'attached' });
  }
});

test('every page can be reached by keyboard alone, and says that it is the current one', async ({
  open,
}) => {
  const page = await open({ token: ADMIN_TOKEN });
  await page.locator('main h1').waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  // A key pressed before the browser gives the page its focus is lost.
  const first = async () => {
    const isLost = await page.evaluate(() => document.activeElement === document.body);
    if (isLost) await page.keyboard.press('Tab');
    return focused();
  };
  await expect.poll(first, { interval: 200 }).toBe('Skip to content');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement?.id === 'content');
  await page.locator('.skip').focus();
  for (const [name, path] of [
    ['Board', '/'],
    ['History', '/history'],
    ['Home', '/home'],
    ['Gateway', '/gateway'],
  ] as const) {
    while ((await focused()) !== name) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/#${path}`);
    await page.waitForFunction((title) => document.title.split(' · ').includes(title), name);
    expect(await link(page, name).getAttribute('aria-current')).toBe('page');
    // The board is already shown, and keeps the focus on its link.
    if (path !== '/') await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
    await page.locator('.skip').focus();
  }
  await page.getByRole('button', { name: 'Sign out' }).press('Enter');
  await expect.poll(() => page.title()).toContain('Sign in');
});

test('a phone hides settings and signing out behind a button; a viewer is offered no gateway page', async ({
  open,
}) => {
  const page = await open({ path: '/gateway', widthPx: 360, heightPx: 740 });
  await page.getByText('This page is for administrators.').waitFor();
  const links = page.getByRole('navigation').first().getByRole('link');
  expect(await links.allTextContents()).toEqual(['Board', 'History', 'Home']);
  const signOut = page.getByRole('button', { name: 'Sign out' });
  expect(await signOut.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Settings' }).click();
  await signOut.click();
  await page.getByLabel('Access token').waitFor();
});

test('the console works below a path of a proxy', async ({ home, own, open }) => {
  const proxy = createServer((incoming, outgoing) => {
    const { method, headers, url = '' } = incoming;
    if (!url.startsWith('/box/7/')) {
      outgoing.writeHead(404).end();
      return;
    }
    const target = home.gateway.httpUrl + url.slice('/box/7'.length);
    const passed = request(target, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    // The end of one side ends the other.
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  own.onEnd(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const address = proxy.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const url = `http://127.0.0.1:${port}/box/7`;
  const page = await open({ url, role: 'manager' });
  for (const [name, path] of [
    ['Home', '/home'],
    ['History', '/history'],
    ['Board', '/'],
  ] as const) {
    await link(page, name).click();
    await page.waitForURL(`${url}/#${path}*`);
    await page.locator('main h1').waitFor();
  }
  await boardReady(page);
});
