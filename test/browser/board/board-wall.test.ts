import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectDevice } from '../../former/clients/mqtt-clients.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { accessibilityFaults } from '../accessibility.js';
import { openConsole } from '../browser.js';
import { alarmsOn, boardReady, makeWard, publishAlarm } from './board-ward.js';

let gateway: GatewayHere;

beforeAll(async () => {
  gateway = await GatewayHere.start();
});

afterAll(() => gateway.remove());

/** Holds the new alarm in its strongest colour, at the start of its animation. */
async function holdAtStart(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const animations = document.getAnimations();
    for (const animation of animations) {
      animation.pause();
      animation.currentTime = 0;
    }
    return animations.length > 0;
  });
}

describe('a board on the wall', () => {
  it('opens from a link that an administrator creates for some homes, without navigation', async () => {
    const [lake, hill] = [await makeWard(gateway), await makeWard(gateway, 'Haus am Berg')];
    const { page, faults } = await openConsole(gateway, { token: ADMIN_TOKEN });
    await boardReady(page);
    await page.getByRole('button', { name: 'Link for a wall screen' }).click();
    await page.getByLabel('Name of the screen').fill('Station 1');
    await page
      .getByRole('dialog')
      .getByRole('combobox', { name: 'Home', exact: true })
      .selectOption('Haus am Berg');
    await page.getByText('Under this address only this machine reaches the gateway.').waitFor();
    await page.getByRole('button', { name: 'Make the link' }).click();
    await page.getByRole('img', { name: 'The link as a QR code' }).waitFor();
    const link = await page.getByLabel('Link', { exact: true }).inputValue();
    expect(link).toContain('/#/?kiosk&token=');
    expect(faults).toEqual([]);

    const path = new URL(link).hash.slice(1);
    const { page: screen } = await openConsole(gateway, { path, widthPx: 2560, heightPx: 1440 });
    await screen.getByText('No open alarms').waitFor();
    expect(screen.url()).not.toContain('token');
    expect(await screen.getByRole('navigation').count()).toBe(0);
    await publishAlarm(gateway, lake.device, { kind: 'noise' });
    await publishAlarm(gateway, hill.device, { kind: 'fall' });
    const alarm = screen.getByRole('article', { name: 'Fall, Room 12' });
    await alarm.waitFor();
    expect(await alarmsOn(screen).count()).toBe(1);
    expect(await alarm.getByRole('button').count()).toBe(0);
    const heading = alarm.getByRole('heading');
    const sizePx = await heading.evaluate((element) =>
      parseFloat(getComputedStyle(element).fontSize),
    );
    expect(sizePx).toBeGreaterThan(48);
  });

  it('opens for a ward only from a link to the typed address', async () => {
    const ward = await makeWard(gateway, 'Haus am Wald');
    const elsewhere = await ward.api.createDevice(ward.locationId, 'Kitchen sensor');
    const { page } = await openConsole(gateway, { token: ADMIN_TOKEN });
    await boardReady(page);
    await page.getByRole('button', { name: 'Link for a wall screen' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'Home', exact: true }).selectOption('Haus am Wald');
    await dialog.getByLabel('Group').selectOption('First floor');
    await dialog.getByLabel('Address of the gateway').fill('https://gateway.example:8443');
    await page.getByRole('button', { name: 'Make the link' }).click();
    const link = await page.getByLabel('Link', { exact: true }).inputValue();
    expect(link).toMatch(/^https:\/\/gateway\.example:8443\/#\/\?kiosk&token=/);
    const path = new URL(link).hash.slice(1);
    const { page: screen } = await openConsole(gateway, { path });
    await screen.getByText('Connected', { exact: true }).waitFor();
    await screen.getByText('Haus am Wald', { exact: true }).waitFor();
    await screen
      .locator('.board-clock')
      .getByText(/^\d\d:\d\d$/)
      .waitFor();
    await publishAlarm(gateway, elsewhere, { kind: 'noise' });
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    await screen.getByRole('article', { name: 'Fall, Room 12' }).waitFor();
    expect(await alarmsOn(screen).count()).toBe(1);
  });

  it('shows 16 of 65 alarms and every fall in full HD, and visibly counts the others', async () => {
    const ward = await makeWard(gateway, 'Haus am Meer');
    for (const kind of ['fall', 'helpCall']) await publishAlarm(gateway, ward.device, { kind });
    const device = await connectDevice(gateway, ward.device);
    const topic = `devices/${ward.device.id}/alarms`;
    const noises = Array.from({ length: 63 }, () =>
      device.publishAsync(topic, '{"kind":"noise"}', { qos: 1 }),
    );
    await Promise.all(noises);
    await device.endAsync();
    const { token } = await ward.api.viewer(ward.locationId);
    const options = { token, path: '/?kiosk', widthPx: 1920, heightPx: 1080 };
    const { page } = await openConsole(gateway, options);
    await alarmsOn(page).nth(64).waitFor({ state: 'attached' });
    const line = page.locator('.board-below');
    const below = async () => Number(/^\+(\d+) more/.exec(await line.innerText())?.[1]);
    await expect.poll(below).toBeLessThanOrEqual(65 - 16);
    expect(await line.innerText()).not.toContain('fall');
    const titles = await page.getByRole('article').getByRole('heading').allInnerTexts();
    expect(titles.slice(0, 2)).toEqual(['Help call, Room 12', 'Fall, Room 12']);
    await page.setViewportSize({ width: 1920, height: 240 });
    await page.getByText('more, 1 fall').waitFor();
  });

  it.each(['light', 'dark'] as const)(
    'has no accessibility fault on a phone in %s colours, full, in the dialog and with its link',
    async (colorScheme) => {
      const ward = await makeWard(gateway);
      const options = { token: ADMIN_TOKEN, colorScheme, widthPx: 360 };
      const { page, faults } = await openConsole(gateway, options);
      await boardReady(page);
      await publishAlarm(gateway, ward.device, { kind: 'fall' });
      await page.getByText('New alarm: Fall').waitFor({ state: 'attached' });
      const isWide = () =>
        page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
      expect(await isWide()).toBe(false);
      await holdAtStart(page);
      expect(await accessibilityFaults(page)).toEqual([]);
      await page.getByRole('button', { name: 'Link for a wall screen' }).click();
      await page.getByRole('button', { name: 'Make the link' }).waitFor();
      expect(await accessibilityFaults(page, 'dialog')).toEqual([]);
      await page.getByRole('button', { name: 'Make the link' }).click();
      await page.getByRole('img', { name: 'The link as a QR code' }).waitFor();
      expect(await accessibilityFaults(page, 'dialog')).toEqual([]);
      expect(await isWide()).toBe(false);
      expect(faults).toEqual([]);
    },
  );

  it('has no accessibility fault with a new fall, in light and dark colours', async () => {
    const ward = await makeWard(gateway);
    const { token } = await ward.api.viewer(ward.locationId);
    const { page } = await openConsole(gateway, { token, colorScheme: 'light' });
    await boardReady(page);
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    await page.getByText('New', { exact: true }).waitFor();
    await page.waitForFunction(() => document.getAnimations().length === 0);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('has no accessibility fault in light and dark colours when there are no alarms', async () => {
    const ward = await makeWard(gateway);
    const { token } = await ward.api.viewer(ward.locationId);
    const { page } = await openConsole(gateway, { token });
    await page.getByText('No open alarms').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});
