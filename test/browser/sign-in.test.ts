import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, GatewayProcess } from '../harness/gateway-process.js';
import { accessibilityFaults } from './accessibility.js';
import { openConsole, startBrowser } from './browser.js';

let gateway: GatewayProcess;
let browser: Browser;

beforeAll(async () => {
  gateway = await GatewayProcess.start();
  browser = await startBrowser();
});

afterAll(async () => {
  await browser.close();
  await gateway.remove();
});

describe('signing in', () => {
  it('takes an access token, keeps it for the tab, and forgets it when signing out', async () => {
    const { page, faults } = await openConsole(browser, gateway);
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
    const { page } = await openConsole(browser, gateway);
    await page.getByLabel('Access token').fill('not-a-token');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('does not know this token');
  });

  it('takes a token from a link, and takes it out of the address at once', async () => {
    const { page } = await openConsole(browser, gateway, { token: ADMIN_TOKEN });
    await page.getByRole('link', { name: 'Board' }).waitFor();
    expect(page.url()).not.toContain(ADMIN_TOKEN);
  });

  it('speaks the language of the browser, and another when it is chosen', async () => {
    const { page } = await openConsole(browser, gateway, { language: 'de-DE' });
    await page.getByRole('button', { name: 'Anmelden' }).waitFor();
    await page.getByLabel('Sprache').selectOption('en');
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
  });

  it.each(['light', 'dark'] as const)(
    'has no accessibility fault in %s colours',
    async (scheme) => {
      const options = { colorScheme: scheme, widthPx: 360 };
      const { page, faults } = await openConsole(browser, gateway, options);
      await page.getByLabel('Access token').waitFor();
      expect(await accessibilityFaults(page)).toEqual([]);
      expect(faults).toEqual([]);
    },
  );
});
