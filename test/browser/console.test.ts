import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api } from '../former/clients/api.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { startPathProxy } from '../former/servers/path-proxy.js';
import { accessibilityFaults } from './accessibility.js';
import { openConsole } from './browser.js';

const PAGES = [
  { path: '/', en: 'Board', de: 'Tafel' },
  { path: '/history', en: 'History', de: 'Verlauf' },
  { path: '/home', en: 'Home', de: 'Heim' },
  { path: '/gateway', en: 'Gateway', de: 'Gateway' },
] as const;
const PATHS = PAGES.map(({ path }) => path);
const NARROW = { widthPx: 360, heightPx: 740 };

let gateway: GatewayHere;
let api: Api;
let locationId: string;

beforeAll(async () => {
  gateway = await GatewayHere.start();
  api = new Api(gateway);
  ({ id: locationId } = await api.createLocation('Haus am See'));
});

afterAll(() => gateway.remove());

const heading = (page: Page) => page.locator('main h1');
const navigation = (page: Page) => page.getByRole('navigation').first().getByRole('link');

/** Presses Tab; a key pressed before the browser gives the page its focus is lost. */
async function focusFirst(page: Page): Promise<void> {
  const first = async () => {
    const isLost = await page.evaluate(() => document.activeElement === document.body);
    if (isLost) await page.keyboard.press('Tab');
    return focused(page);
  };
  await expect.poll(first, { interval: 200 }).toBe('To the content');
}

describe('the frame around every page', () => {
  it('can be walked through by keyboard alone, and shows the current page', async () => {
    const { page, faults } = await openConsole(gateway, { token: ADMIN_TOKEN });
    await heading(page).waitFor();
    await focusFirst(page);
    for (const { path, en } of PAGES) {
      while ((await focused(page)) !== en) await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/#${path}`);
      await page.waitForFunction((name) => document.title.startsWith(name), en);
      expect(await navigation(page).filter({ hasText: en }).getAttribute('aria-current')).toBe(
        'page',
      );
      // The board is already shown, and keeps the focus on its link.
      if (path !== '/') await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
      await page.locator('.skip').focus();
    }
    await page.getByRole('button', { name: 'Sign out' }).press('Enter');
    await page.getByLabel('Access token').waitFor();
    await expect.poll(() => page.title()).toContain('Sign in');
    expect(faults).toEqual([]);
  });

  it('has a link that skips the navigation', async () => {
    const { page } = await openConsole(gateway, { token: ADMIN_TOKEN });
    await heading(page).waitFor();
    await focusFirst(page);
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.activeElement?.id === 'content');
  });

  it('hides settings and signing out behind a button on a phone', async () => {
    const { page } = await openConsole(gateway, { token: ADMIN_TOKEN, ...NARROW });
    await heading(page).waitFor();
    const signOut = page.getByRole('button', { name: 'Sign out' });
    expect(await signOut.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Settings' }).click();
    expect(await scrollsSideways(page)).toBe(false);
    await signOut.click();
    await page.getByLabel('Access token').waitFor();
  });

  it('offers the gateway’s own page to administrators only', async () => {
    const { token } = await api.createToken([{ location: locationId, role: 'viewer' }]);
    const { page } = await openConsole(gateway, { token, path: '/gateway' });
    await page.getByText('This page is for administrators.').waitFor();
    expect(await navigation(page).allTextContents()).toEqual(['Board', 'History', 'Home']);
  });

  it('is omitted on a screen on a wall', async () => {
    const { page, faults } = await openConsole(gateway, {
      token: ADMIN_TOKEN,
      path: '/?kiosk',
    });
    // The sign-in page has a heading too.
    await page.locator('main .board').waitFor({ state: 'attached' });
    expect(await page.getByRole('navigation').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Sign out' }).count()).toBe(0);
    expect(await page.locator('html').getAttribute('class')).toBe('kiosk');
    expect(faults).toEqual([]);
  });

  it('signs out everywhere a token of this device was signed in', async () => {
    const { page, context } = await openConsole(gateway);
    await page.getByLabel('Access token').fill(ADMIN_TOKEN);
    await page.getByLabel('Stay signed in on this device').check();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await heading(page).waitFor();
    const other = await context.newPage();
    await other.goto(`${gateway.httpUrl}/`);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Access token').waitFor();
  });

  it('works under a path of a proxy', async () => {
    const httpUrl = await startPathProxy('/box/7', gateway.httpUrl);
    const { page, faults } = await openConsole({ httpUrl }, { token: ADMIN_TOKEN });
    for (const { path, en } of PAGES) {
      await navigation(page).filter({ hasText: en }).click();
      await page.waitForURL(`${httpUrl}/#${path}`);
      await heading(page).waitFor();
    }
    await page.getByText('Connected', { exact: true }).waitFor();
    expect(faults).toEqual([]);
  });
});

describe.each(PAGES)('the page $en', ({ path, en, de }) => {
  it.each([
    ['en-GB', en, 'light'],
    ['de-DE', de, 'dark'],
  ] as const)(
    'speaks %s, is no wider than a phone, and has no accessibility fault in %s colours',
    async (language, name, colorScheme) => {
      const options = { token: ADMIN_TOKEN, path, language, colorScheme, ...NARROW };
      const { page, faults } = await openConsole(gateway, options);
      await heading(page).waitFor();
      await page.locator('.connection.good').waitFor();
      expect(await page.locator('html').getAttribute('lang')).toBe(language.slice(0, 2));
      expect(await navigation(page).nth(PATHS.indexOf(path)).textContent()).toBe(name);
      await page.waitForFunction((title) => document.title.startsWith(title), name);
      expect(await scrollsSideways(page)).toBe(false);
      expect(await accessibilityFaults(page)).toEqual([]);
      await page.setViewportSize({ width: 1280, height: 800 });
      expect(await accessibilityFaults(page)).toEqual([]);
      expect(faults).toEqual([]);
    },
  );
});

/** The text of the focused element. */
function focused(page: Page): Promise<string | null | undefined> {
  return page.evaluate(() => document.activeElement?.textContent);
}

function scrollsSideways(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    const { scrollWidth = 0, clientWidth = 0 } = document.scrollingElement ?? {};
    return scrollWidth > clientWidth;
  });
}
