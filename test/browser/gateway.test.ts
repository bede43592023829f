import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { Store } from '../former/stored/store.js';
import { storeProcessId } from '../former/stored/store-process.js';
import { accessibilityFaults } from './accessibility.js';
import { type ConsoleOptions, openConsole, setClockAhead } from './browser.js';
import { AWAY, BRIDGE, GatewayHome, HERE } from './gateway-home.js';

let home: GatewayHome;

beforeAll(async () => {
  home = await GatewayHome.start();
});

afterAll(() => home.remove());

async function open(path: string, options: ConsoleOptions = {}): Promise<Page> {
  const { page } = await openConsole(home.gateway, {
    token: ADMIN_TOKEN,
    path,
    ...options,
  });
  return page;
}

/** The row of a list with this text. */
function row(page: Page, list: string, text: string) {
  return page.getByRole('region', { name: list }).getByRole('row').filter({ hasText: text });
}

describe('the gateway page', () => {
  it('shows that the gateway is ready, and names a fault with advice while it lasts', async () => {
    const page = await open('/gateway');
    await page.getByText('The gateway is ready').waitFor();
    await page.getByText(/Version \d+\.\d+\.\d+/).waitFor();
    await page.getByText('Nothing is wrong.').waitFor();
    await home.mosquitto.stop();
    await page.getByText('A bridge is down: the upstream cannot be reached').waitFor();
    await page.getByText(`Bridge ${BRIDGE}`).waitFor();
    await page.getByText('Check its name, address and port').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await home.mosquitto.start();
    await page.getByText('Nothing is wrong.').waitFor();
  });

  it('shows that the gateway is not ready while its store does not answer, in German, too', async () => {
    const page = await open('/gateway', { language: 'de-DE', colorScheme: 'dark' });
    await page.getByText('Das Gateway ist bereit').waitFor();
    const store = storeProcessId(home.gateway.dataDir) ?? 0;
    process.kill(store, 'SIGSTOP');
    try {
      await page.getByText('Das Gateway ist nicht bereit').waitFor();
      await page.getByText('Der Speicher antwortet nicht.').waitFor();
      await page.getByText('Der Server ist überlastet').waitFor();
      expect(await accessibilityFaults(page)).toEqual([]);
    } finally {
      process.kill(store, 'SIGCONT');
    }
    await page.getByText('Das Gateway ist bereit').waitFor();
  });

  it('shows what the store has lost until it is acknowledged there, in German, too', async () => {
    const page = await open('/gateway', { language: 'de-DE' });
    await page.getByText('Alles in Ordnung.').waitFor();
    const store = await Store.of(home.gateway);
    await store.redis.decr('{site}:sequence:site');
    store.close();
    await page.getByText('Der Speicher hat verloren: 1 Änderung der Stammdaten').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Quittieren' }).click();
    await page.getByText('Alles in Ordnung.').waitFor();
  });

  it('shows the rejected publishes on request, with the reason in words', async () => {
    const page = await open('/gateway');
    await page.getByRole('button', { name: 'Show' }).click();
    const rejected = row(page, 'Rejected publishes', 'none of the eight');
    await rejected.waitFor();
    expect(await rejected.textContent()).toContain('{"kind":"fell"}');
  });

  it('shows for whom alarms wait, who is connected, and why a login failed', async () => {
    const page = await open('/gateway/connections');
    const away = row(page, 'For whom something waits', AWAY);
    await away.filter({ hasText: /Rufanlage.*away.*1/ }).waitFor();
    const here = row(page, 'Connected now', HERE);
    await here.waitFor();
    expect(await here.textContent()).toMatch(/127\.0\.0\.1.*mqtt, MQTT 3\.1\.1.*60 s/);
    const denied = row(page, 'Denied', 'The password is not the secret of the device');
    await denied.first().waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('finds connections by part of the client id, and stays still when paused', async () => {
    const page = await open('/gateway/connections');
    const list = page.getByRole('region', { name: 'Connected now' });
    await row(page, 'Connected now', HERE).waitFor();
    await list.getByLabel('Search', { exact: true }).fill('nobody-has-this');
    await list.getByText('Nothing found.').waitFor();
    await list.getByLabel('Search', { exact: true }).fill('CALL-HERE');
    await row(page, 'Connected now', HERE).waitFor();
    await list.getByRole('button', { name: 'Pause' }).click();
    await list.getByText('Paused').waitFor();
  });

  it('shows a bridge with what it has delivered, and its dead letters on demand', async () => {
    const page = await open('/gateway/bridges');
    const bridge = row(page, 'Bridges', BRIDGE);
    await bridge.waitFor();
    expect(await bridge.textContent()).toMatch(/connected|down/);
    await bridge.getByRole('button', { name: `Dead letters of ${BRIDGE}` }).click();
    await page.getByText('There are none.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('shows a bridge missing from the configuration, and deletes its queue', async () => {
    const { gateway, mosquitto } = home;
    const kept = { name: BRIDGE, url: mosquitto.url };
    for (const others of [[{ ...kept, name: 'regoin' }], []]) {
      await gateway.configure({ bridges: [kept, ...others] });
      await gateway.reload();
    }
    const page = await open('/gateway/bridges');
    const missing = row(page, 'Bridges', 'regoin');
    await missing.getByText('missing from the configuration', { exact: true }).waitFor();
    await missing.getByRole('button', { name: 'Delete the queue of regoin' }).click();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await missing.waitFor({ state: 'detached' });
    await row(page, 'Bridges', BRIDGE).waitFor();
  });

  it('creates an access token that works, and revokes it; both are in the audit trail', async () => {
    const page = await open('/gateway/tokens');
    await page.getByRole('button', { name: 'New access token' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Night shift');
    await dialog.getByRole('combobox', { name: /^Home/ }).selectOption({ label: 'Haus am See' });
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Create' }).click();
    const token = await page.getByLabel('Access token', { exact: true }).inputValue();
    expect(await statusWith(token)).toBe(200);
    expect(await accessibilityFaults(page)).toEqual([]);
    const asked = page.waitForEvent('dialog');
    const pressed = page.keyboard.press('Escape');
    await (await asked).dismiss();
    await pressed;
    expect(await page.getByLabel('Access token', { exact: true }).inputValue()).toBe(token);
    await page.getByRole('button', { name: 'Done' }).click();
    const create = page.getByRole('button', { name: 'New access token' });
    const isFocused = () => create.evaluate((button) => button === document.activeElement);
    await expect.poll(isFocused).toBe(true);
    const made = row(page, 'Access tokens', 'Night shift');
    expect(await made.textContent()).toContain('Viewer: Haus am See');
    await made.getByRole('button', { name: 'Revoke Night shift' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await made.waitFor({ state: 'detached' });
    expect(await statusWith(token)).toBe(401);
    await page.getByRole('link', { name: 'Audit trail' }).click();
    const revoked = row(page, 'Who did what', 'Access token revoked');
    await revoked.waitFor();
    expect(await revoked.textContent()).toMatch(/Administrator.*Night shift/);
    await page
      .getByRole('combobox', { name: /^Action/ })
      .selectOption({ label: 'Access token created' });
    await revoked.waitFor({ state: 'detached' });
    const created = row(page, 'Who did what', 'Night shift');
    await created.getByText('Details').click();
    await created.getByText('Viewer: Haus am See').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('shows nothing of the last search while the new one is unanswered', async () => {
    const page = await open('/gateway/audit');
    const created = row(page, 'Who did what', 'Device created');
    await created.waitFor();
    const held = new Promise<Route>((resolve) => {
      void page.route('**/audit?*', resolve, { times: 1 });
    });
    await page.getByRole('combobox', { name: /^Action/ }).selectOption({ label: 'Home created' });
    const search = await held;
    await created.waitFor({ state: 'detached' });
    await search.continue();
    await row(page, 'Who did what', 'Home created').waitFor();
  });

  it('moves through the pages of the audit trail, and back, by keyboard', async () => {
    const { id } = await home.api.createLocation('Haus mit Gruppen');
    for (let number = 1; number <= 110; number++) {
      await home.api.json('POST', `/care-homes/${id}/groups`, { name: `Group ${number}` });
    }
    const page = await open('/gateway/audit');
    const next = page.getByRole('button', { name: 'Next page' });
    const newest = row(page, 'Who did what', 'Group 110');
    await newest.waitFor();
    await next.press('Enter');
    await row(page, 'Who did what', 'Group 60').waitFor();
    expect(await newest.count()).toBe(0);
    expect(await next.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.getByRole('button', { name: 'Previous page' }).press('Enter');
    await newest.waitFor();
    expect(await row(page, 'Who did what', 'Group 60').count()).toBe(0);
  });

  it('shows no rejected publishes of homes other than the selected one', async () => {
    const { id } = await home.api.createLocation('Haus am Berg');
    const page = await open('/gateway');
    await page.getByRole('button', { name: 'Show' }).click();
    const rejected = row(page, 'Rejected publishes', 'none of the eight');
    await rejected.waitFor();
    await page.getByRole('combobox', { name: /^Home/ }).selectOption(id);
    await rejected.waitFor({ state: 'detached' });
    await home.api.json('DELETE', `/care-homes/${id}`);
  });

  it('judges expiry by the gateway’s clock, not by the tablet’s', async () => {
    const expiresAt = new Date(Date.now() + 24 * 60 * 60 * 1000).toISOString();
    const grants = [{ location: home.locationId, role: 'viewer' }];
    await home.api.createToken(grants, 'Until tomorrow', expiresAt);
    const page = await open('/', { prepare: setClockAhead });
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Gateway', exact: true }).click();
    await page.getByRole('link', { name: 'Access tokens' }).click();
    const token = row(page, 'Access tokens', 'Until tomorrow');
    await token.waitFor();
    expect(await token.textContent()).not.toContain('has expired');
  });

  it('is not for a viewer: no link leads there, and its address says so', async () => {
    const page = await open('/gateway', { token: home.viewer.token });
    await page.getByText('This page is for administrators.').waitFor();
    expect(await page.getByRole('link', { name: 'Gateway', exact: true }).count()).toBe(0);
  });

  it.each([
    ['/gateway', 'light'],
    ['/gateway/connections', 'dark'],
    ['/gateway/bridges', 'light'],
    ['/gateway/tokens', 'dark'],
    ['/gateway/audit', 'light'],
  ] as const)('fits a phone at %s in %s colours, in German', async (path, colorScheme) => {
    const { page, faults } = await openConsole(home.gateway, {
      token: ADMIN_TOKEN,
      path,
      colorScheme,
      widthPx: 360,
      language: 'de-DE',
    });
    await page.getByRole('heading', { level: 2 }).first().waitFor();
    await expect.poll(() => page.getByText('Wird geladen').count()).toBe(0);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBe(360);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(faults).toEqual([]);
  });
});

async function statusWith(token: string): Promise<number> {
  const headers = { Authorization: `Bearer ${token}` };
  return (await fetch(`${home.gateway.httpUrl}/access-tokens/current`, { headers })).status;
}
