import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { each } from '../former/at-a-time.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { accessibilityFaults } from './accessibility.js';
import { openConsole } from './browser.js';
import { makeHomeSite } from './home-site.js';

let gateway: GatewayHere;

beforeAll(async () => {
  gateway = await GatewayHere.start();
});

afterAll(() => gateway.remove());

async function requireGood(page: Page, within?: string): Promise<void> {
  expect(await accessibilityFaults(page, within)).toEqual([]);
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect(overflow).toBeLessThanOrEqual(0);
}

const LOOKS = [
  { colorScheme: 'dark', language: 'de-DE', widthPx: 360 },
  { colorScheme: 'light', language: 'en-GB', widthPx: 1280 },
] as const;

it.each(LOOKS)(
  'has no accessibility fault in any state, $colorScheme, $language, $widthPx px',
  async (look) => {
    const site = await makeHomeSite(gateway, `Haus ${look.language}`);
    const path = `/home/${site.locationId}`;
    const { page, faults } = await openConsole(gateway, {
      ...look,
      token: ADMIN_TOKEN,
      path,
    });
    const isGerman = look.language === 'de-DE';
    await page
      .getByText(isGerman ? 'Noch nie verbunden' : 'Never connected')
      .first()
      .waitFor();
    await requireGood(page);
    // The menus of the home, a group, a room and a device, and every dialog that they open.
    for (const name of [`Haus ${look.language}`, 'Ground floor', 'Room 7', 'Bed mat']) {
      const label = isGerman ? `Aktionen für ${name}` : `Actions for ${name}`;
      const button = page.getByRole('button', { name: label, exact: true });
      await button.click();
      await requireGood(page, '.home-menu-items');
      const items = page.locator('.home-menu-items button');
      for (let index = 0, count = await items.count(); index < count; index += 1) {
        if (index > 0) await button.click();
        await items.nth(index).click();
        await page.getByRole('dialog').waitFor();
        await requireGood(page, 'dialog');
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      }
    }
    await page.goto(`${gateway.httpUrl}/#/home`);
    await page.locator('.home-homes').waitFor();
    await requireGood(page);
    await page.goto(`${gateway.httpUrl}/#${path}/import`);
    await page.locator('textarea').fill('Bed;Room 7\n;Room 8\nNew;Sauna');
    await page.locator('.home-preview').waitFor();
    await requireGood(page);
    // It asks whether the lines may be lost.
    page.once('dialog', (dialog) => void dialog.accept());
    await page.goto(`${gateway.httpUrl}/#${path}/devices/${site.bed.id}`);
    const custom = isGerman ? 'Eigene Daten' : 'Custom data';
    await page.getByRole('textbox', { name: custom }).fill('{');
    await requireGood(page);
    await page.getByRole('button', { name: isGerman ? 'Neues Geheimnis' : 'New secret' }).click();
    await page.getByRole('dialog').locator('button.danger').click();
    await page.locator('.home-label').waitFor();
    await requireGood(page);
    expect(faults).toEqual([]);
  },
);

it('draws a home of 300 devices, and searches it', async () => {
  const site = await makeHomeSite(gateway, 'Haus Groß');
  const numbers = Array.from({ length: 300 }, (_, number) => number);
  await each(numbers, (number) => site.api.createDevice(site.locationId, `Sensor ${number}`));
  const path = `/home/${site.locationId}`;
  const { page } = await openConsole(gateway, { token: ADMIN_TOKEN, path });
  await page.getByRole('link', { name: 'Sensor 299' }).waitFor();
  await page.locator('input[type=search]').fill('Sensor 29');
  await expect.poll(() => page.locator('.home-device').count()).toBe(11);
});
