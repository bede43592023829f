import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api } from '../former/clients/api.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { accessibilityFaults } from './accessibility.js';
import { boardReady, makeWard, publishAlarm } from './board/board-ward.js';
import { openConsole } from './browser.js';

let gateway: GatewayHere;

beforeAll(async () => {
  gateway = await GatewayHere.start();
});

afterAll(() => gateway.remove());

const board = (page: Page) => page.locator('main .board');

/** A wall screen with a token kept on the device. */
async function openWall() {
  const { page, context } = await openConsole(gateway, {
    token: ADMIN_TOKEN,
    path: '/?kiosk',
  });
  await board(page).waitFor({ state: 'attached' });
  const open = async (place: string) => {
    const tab = await context.newPage();
    await tab.goto(`${gateway.httpUrl}/#${place}`);
    return tab;
  };
  return { page, open };
}

/** Fails if the board is not signed in, now or after a reload. */
async function stillOn(page: Page): Promise<void> {
  expect(await board(page).count()).toBe(1);
  await page.reload();
  await board(page).waitFor({ state: 'attached' });
}

describe('signing in', () => {
  it('accepts an access token, keeps it for the tab, and forgets it on signing out', async () => {
    const { page, faults } = await openConsole(gateway);
    await page.getByLabel('Access token').fill(ADMIN_TOKEN);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Board' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Board' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Access token').waitFor();
    const kept = await page.evaluate(() => [sessionStorage.length, localStorage.length]);
    expect(kept).toEqual([0, 0]);
    expect(faults).toEqual([]);
  });

  it('says when the gateway does not know the token', async () => {
    const { page } = await openConsole(gateway);
    await page.getByLabel('Access token').fill('not-a-token');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('does not know this token');
  });

  it('says on a wall screen without a token that alarms do not appear', async () => {
    const { page } = await openConsole(gateway, { path: '/?kiosk' });
    await page.getByRole('alert').getByText('New alarms do not appear here').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    const { page: desk } = await openConsole(gateway);
    await desk.getByLabel('Access token').waitFor();
    expect(await desk.getByRole('alert').count()).toBe(0);
  });

  it('works when the browser forbids pages to store anything', async () => {
    const prepare = (tab: Page) =>
      tab.addInitScript(() => {
        const get = () => {
          throw new DOMException('Access is denied for this document.', 'SecurityError');
        };
        for (const area of ['localStorage', 'sessionStorage']) {
          Object.defineProperty(globalThis, area, { get });
        }
      });
    const { page, faults } = await openConsole(gateway, { prepare });
    await page.getByLabel('Access token').fill(ADMIN_TOKEN);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Switch sound on' }).click();
    await page.getByText('Sound is on').waitFor();
    await page.getByRole('combobox', { name: 'Language' }).selectOption('Deutsch');
    await page.getByRole('button', { name: 'Abmelden' }).click();
    await page.getByLabel('Zugangstoken').waitFor();
    expect(faults).toEqual([]);
  });

  it('accepts a token from a link, and removes it from the address immediately', async () => {
    const { page } = await openConsole(gateway, { token: ADMIN_TOKEN });
    await page.getByRole('link', { name: 'Board' }).waitFor();
    expect(page.url()).not.toContain(ADMIN_TOKEN);
  });

  it('stays signed in when the gateway belatedly refuses the previous token', async () => {
    const api = new Api(gateway);
    const { id, token } = await api.createToken([{ location: '*', role: 'viewer' }]);
    const { page } = await openConsole(gateway, { token });
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
    const held = new Promise<Route>((resolve) => {
      void page.route('**/care-homes', resolve, { times: 1 });
    });
    await page.getByRole('link', { name: 'Home' }).click();
    const request = await held;
    await api.request('DELETE', `/access-tokens/${id}`);
    await page.getByLabel('Access token').fill(ADMIN_TOKEN);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Connected', { exact: true }).waitFor();
    const refused = page.waitForResponse((answer) => answer.status() === 401);
    await request.continue();
    await refused;
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
  });

  it('shows what arrives while the board of the next token is not connected yet', async () => {
    const ward = await makeWard(gateway);
    const { page } = await openConsole(gateway, { token: ADMIN_TOKEN });
    await boardReady(page);
    const held = new Promise<Route>((resolve) => {
      void page.route('**/events?*', resolve, { times: 1 });
    });
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Access token').fill(ADMIN_TOKEN);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const stream = await held;
    await page.getByText('Reading the open alarms').waitFor();
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    await stream.continue();
    await page.getByRole('article', { name: 'Fall, Room 12' }).waitFor();
  });

  it('stays signed in when the link is opened again in the same tab', async () => {
    const { page } = await openConsole(gateway, { token: ADMIN_TOKEN });
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.goto(`${gateway.httpUrl}/#/?token=${ADMIN_TOKEN}`);
    await expect.poll(() => page.url()).not.toContain(ADMIN_TOKEN);
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
  });

  it('keeps the wall screen signed in when its link is opened in a second tab', async () => {
    const { page, open } = await openWall();
    const again = await open(`/?kiosk&token=${ADMIN_TOKEN}`);
    await board(again).waitFor({ state: 'attached' });
    await stillOn(page);
    await stillOn(again);
  });

  it('keeps the wall screen signed in when another token’s link is opened in a second tab', async () => {
    const { page, open } = await openWall();
    const { token } = await new Api(gateway).createToken([{ location: '*', role: 'viewer' }]);
    const other = await open(`/history?token=${token}`);
    await other.getByRole('heading', { name: 'History' }).waitFor();
    await stillOn(page);
  });

  it('keeps the wall screen signed in when a second tab’s token is refused', async () => {
    const { page, open } = await openWall();
    const other = await open('/?token=not-a-token');
    await other.getByRole('alert').filter({ hasText: 'does not know this token' }).waitFor();
    await stillOn(page);
  });

  it('uses the language of the browser, or another that is selected', async () => {
    const { page } = await openConsole(gateway, { language: 'de-DE' });
    await page.getByRole('button', { name: 'Anmelden' }).waitFor();
    await page.getByLabel('Sprache').selectOption('en');
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
  });

  it('has no accessibility fault in light and in dark colours', async () => {
    const { page, faults } = await openConsole(gateway, { widthPx: 360 });
    await page.getByLabel('Access token').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(faults).toEqual([]);
  });
});
