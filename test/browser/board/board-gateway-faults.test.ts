import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { storeProcessId } from '../../former/stored/store-process.js';
import { accessibilityFaults } from '../accessibility.js';
import { openConsole } from '../browser.js';
import { BRIDGE, GatewayHome } from '../gateway-home.js';
import { boardReady } from './board-ward.js';

let home: GatewayHome;
let viewerToken: string;

beforeAll(async () => {
  home = await GatewayHome.start();
  const grants = [{ location: home.locationId, role: 'viewer' }];
  viewerToken = (await home.api.createToken(grants, 'Nurses')).token;
});

afterAll(() => home.remove());

function faultLine(page: Page, words: string): Locator {
  return page.getByRole('status').filter({ hasText: words });
}

it('the board shows a fault of the gateway while it lasts', async () => {
  const { page } = await openConsole(home.gateway, { token: ADMIN_TOKEN });
  await boardReady(page);
  const line = faultLine(page, 'Fault of the gateway:');
  expect(await line.count()).toBe(0);
  await home.mosquitto.stop();
  await line.getByText(`A bridge is down: the upstream cannot be reached (${BRIDGE}).`).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  await line.getByRole('link', { name: 'What to do' }).click();
  await page.getByText('Check its name, address and port').waitFor();
  await page.goBack();
  await line.waitFor();
  await home.mosquitto.start();
  await line.waitFor({ state: 'detached' });
});

it('a board on the wall says in German that the gateway is not ready, and whom to tell', async () => {
  const { page } = await openConsole(home.gateway, {
    token: viewerToken,
    path: '/?kiosk',
    language: 'de-DE',
    colorScheme: 'dark',
    widthPx: 1920,
    heightPx: 1080,
  });
  await page.locator('.board-alarm').first().waitFor();
  const line = faultLine(page, 'Das Gateway ist nicht bereit:');
  expect(await line.count()).toBe(0);
  const store = storeProcessId(home.gateway.dataDir) ?? 0;
  process.kill(store, 'SIGSTOP');
  try {
    await line.waitFor();
    const text = await line.innerText();
    expect(text).toContain('Der Speicher antwortet nicht.');
    expect(text).toContain('Bitte geben Sie der Technik Bescheid.');
    expect(await line.getByRole('link').count()).toBe(0);
    expect(await accessibilityFaults(page)).toEqual([]);
  } finally {
    process.kill(store, 'SIGCONT');
  }
  await line.waitFor({ state: 'detached' });
});
