import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectDevice } from '../former/clients/mqtt-clients.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { openConsole } from './browser.js';
import { devicesOf, type HomeSite, makeHomeSite, roomsOf } from './home-site.js';

let gateway: GatewayHere;

beforeAll(async () => {
  gateway = await GatewayHere.start();
});

afterAll(() => gateway.remove());

/** Creates a home, and opens its page. */
async function openHome(name: string, token?: (site: HomeSite) => Promise<string>) {
  const site = await makeHomeSite(gateway, name);
  const options = { token: (await token?.(site)) ?? ADMIN_TOKEN, path: `/home/${site.locationId}` };
  const { page, faults } = await openConsole(gateway, options);
  await page.getByRole('heading', { level: 1, name }).waitFor();
  return { site, page, faults };
}

function room(page: Page, name: string) {
  return page.getByRole('region', { name, exact: true });
}

async function choose(page: Page, name: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}`, exact: true }).click();
  await page.locator('.home-menu-items').getByRole('button', { name: action }).click();
}

function said(page: Page, text: string): Promise<void> {
  return page.getByRole('status').filter({ hasText: text }).waitFor();
}

describe('the tree of a home', () => {
  it('shows who is online as devices come and go, and since when others are offline', async () => {
    const { site, page, faults } = await openHome('Haus Live');
    const bed = room(page, 'Room 7').getByRole('listitem');
    expect(await bed.textContent()).toContain('Never connected');
    await page.getByText('3 of 3 devices offline').waitFor();
    const client = await connectDevice(gateway, site.bed);
    await bed.getByText('Online', { exact: true }).waitFor();
    await page.getByText('2 of 3 devices offline').waitFor();
    await client.endAsync();
    await bed
      .getByText('Offline · now')
      .or(bed.getByText(/Offline · \d+ sec/))
      .waitFor();
    expect(await bed.locator('time').getAttribute('datetime')).toMatch(/^2\d{3}-/);
    expect(faults).toEqual([]);
  });

  it('shows rooms without a group and devices without a room, and finds by any name', async () => {
    const { page } = await openHome('Haus Suche');
    await room(page, 'Without a group').getByRole('heading', { name: 'Lounge' }).waitFor();
    const loose = room(page, 'Devices without a room');
    await loose.getByRole('link', { name: 'Spare sensor' }).waitFor();
    const search = page.getByRole('searchbox', { name: 'Search' });
    await search.fill('upper');
    expect(await page.getByRole('heading', { level: 3 }).allTextContents()).toEqual(['Room 12']);
    await search.fill('SPARE');
    expect(await page.getByRole('heading', { level: 3 }).count()).toBe(0);
    await loose.getByRole('link', { name: 'Spare sensor' }).waitFor();
    await search.fill('nothing like it');
    await page.getByText('Nothing matches.').waitFor();
  });

  it('shows what somebody else changed when the window regains focus', async () => {
    const { site, page } = await openHome('Haus Fokus');
    await site.api.json('PATCH', `${site.path}/rooms/${site.rooms.seven}`, { name: 'Sauna' });
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await page.getByRole('heading', { name: 'Sauna' }).waitFor();
  });
});

describe('changing a home', () => {
  it('creates a home, a group and a room, renames and deletes them', async () => {
    const options = { token: ADMIN_TOKEN, path: '/home' };
    const { page } = await openConsole(gateway, options);
    await page.getByRole('button', { name: 'New home' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Haus Neu');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { level: 1, name: 'Haus Neu' }).waitFor();
    await page.getByRole('button', { name: 'New group' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('West wing');
    await page.getByRole('button', { name: 'Create' }).click();
    await said(page, 'West wing was created.');
    await choose(page, 'West wing', 'New room');
    await page.getByRole('textbox', { name: 'Name' }).fill('Room 1');
    await page.getByRole('button', { name: 'Create' }).click();
    await room(page, 'West wing').getByRole('heading', { name: 'Room 1' }).waitFor();
    await choose(page, 'Room 1', 'Rename');
    await page.getByRole('textbox', { name: 'Name' }).fill('Room 1a');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Room 1a' }).waitFor();
    await choose(page, 'Room 1a', 'Delete');
    await page.getByRole('dialog').getByText('The history keeps').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await said(page, 'Room 1a was deleted.');
    await choose(page, 'Haus Neu', 'Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Homes' }).waitFor();
    await expect.poll(() => page.getByRole('link', { name: 'Haus Neu' }).count()).toBe(0);
  });

  it('explains in place why the gateway refuses', async () => {
    const { page } = await openHome('Haus Fehler');
    await choose(page, 'Haus Fehler', 'Delete');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('alert').getByText('still in this home').waitFor();
    await page.keyboard.press('Escape');
    await choose(page, 'Room 7', 'Rename');
    await dialog.getByLabel('Name').fill('x'.repeat(121));
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').getByText('1 to 120 characters').waitFor();
  });

  it('renames nothing that somebody else has renamed since the dialog was opened', async () => {
    const { site, page } = await openHome('Haus Doppelt');
    const reading = page.waitForResponse(/\/rooms\/[^/]+$/);
    await choose(page, 'Room 7', 'Rename');
    const { pathname } = new URL((await reading).url());
    await site.api.json('PATCH', pathname, { name: 'Room 7b' });
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Room 7a');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').getByText('Somebody else has changed this').waitFor();
    expect(await site.api.json('GET', pathname)).toMatchObject({ name: 'Room 7b' });
  });

  it('moves a device to a room and a room to a group by dragging', async () => {
    const { site, page } = await openHome('Haus Ziehen');
    await page.getByRole('link', { name: 'Spare sensor' }).dragTo(room(page, 'Room 8'));
    await said(page, 'Spare sensor was moved.');
    await room(page, 'Room 8').getByRole('link', { name: 'Spare sensor' }).waitFor();
    await page
      .getByRole('heading', { name: 'Lounge' })
      .dragTo(page.getByRole('heading', { name: 'Upper floor' }));
    await said(page, 'Lounge was moved.');
    const { rooms, groups } = site;
    const moved = (await devicesOf(site)).find(({ name }) => name === 'Spare sensor');
    expect(moved?.roomId).toBe(rooms.eight);
    const lounge = (await roomsOf(site)).find(({ name }) => name === 'Lounge');
    expect(lounge?.groupId).toBe(groups.upper);
  });

  it('moves a device to another home, for a manager of both', async () => {
    const { site, page } = await openHome('Haus Fort');
    const { locationId, path, api } = await makeHomeSite(gateway, 'Haus Ziel');
    await choose(page, 'Spare sensor', 'Move');
    await page.getByRole('dialog').getByLabel('Home').selectOption(locationId);
    await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click();
    await said(page, 'Spare sensor was moved.');
    const moved = await api.json('GET', `${path}/devices/${site.loose.id}`);
    expect(moved).toMatchObject({ locationId, roomId: null });
  });

  it('works by keyboard alone: a room, a device, and a move', async () => {
    const { site, page } = await openHome('Haus Tasten');
    await press(page, 'New room');
    await focusOn(page, 'Name', 'textbox');
    await page.keyboard.type('Room 9');
    await focusOn(page, 'Group', 'combobox');
    await page.keyboard.press('G');
    await press(page, 'Create');
    await said(page, 'Room 9 was created.');
    await press(page, 'New device');
    await focusOn(page, 'Name', 'textbox');
    await page.keyboard.type('Door sensor');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Set up the device' }).waitFor();
    await press(page, 'Done');
    await page.getByRole('link', { name: 'Door sensor' }).waitFor();
    await headingFocused(page, 'Haus Tasten');
    await press(page, 'Actions for Door sensor');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await focusOn(page, 'Room', 'combobox');
    await page.keyboard.type('Room 9');
    await press(page, 'Move');
    await said(page, 'Door sensor was moved.');
    const rooms = await roomsOf(site);
    const moved = (await devicesOf(site)).find(({ name }) => name === 'Door sensor');
    expect(moved?.roomId).toBe(rooms.find(({ name }) => name === 'Room 9')?.id);
    await page.getByRole('link', { name: 'Door sensor' }).press('Enter');
    await headingFocused(page, 'Door sensor');
  });
});

describe('what a token may not do', () => {
  it('is hidden from a viewer', async () => {
    const { page } = await openHome('Haus Blick', async ({ api, locationId }) => {
      const { token } = await api.viewer(locationId);
      return token;
    });
    await page.getByRole('link', { name: 'Spare sensor' }).waitFor();
    expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
    expect(await page.locator('[draggable=true]').count()).toBe(0);
    await page.getByRole('link', { name: 'Spare sensor' }).click();
    await page.getByRole('heading', { name: 'Messages, live' }).waitFor();
    const buttons = await page.getByRole('main').getByRole('button').allTextContents();
    expect(buttons).toEqual(['Copy', 'Pause', 'Clear']);
    expect(await page.getByRole('textbox').count()).toBe(0);
  });

  it('is hidden from the manager of one group', async () => {
    const { page, site } = await openHome('Haus Gruppe', async ({ api, locationId, groups }) => {
      const grants = [{ location: locationId, group: groups.ground, role: 'manager' }];
      return (await api.createToken(grants)).token;
    });
    await page.getByRole('heading', { name: 'Room 7' }).waitFor();
    expect(await page.getByText('Upper floor').count()).toBe(0);
    for (const name of ['New group', 'New device']) {
      expect(await page.getByRole('button', { name }).count()).toBe(0);
    }
    await page.getByRole('button', { name: 'New room' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Room 7b');
    await page.getByRole('button', { name: 'Create' }).click();
    await said(page, 'Room 7b was created.');
    const made = (await roomsOf(site)).find(({ name }) => name === 'Room 7b');
    expect(made?.groupId).toBe(site.groups.ground);
  });
});

/** Waits until the heading of the page has the focus, so that a screen reader says where the user is. */
async function headingFocused(page: Page, name: string): Promise<void> {
  await page.waitForFunction((text) => {
    const { activeElement } = document;
    return activeElement?.matches('h1') === true && activeElement.textContent === text;
  }, name);
}

/** Tabs to a button and presses it. */
async function press(page: Page, name: string): Promise<void> {
  await focusOn(page, name, 'button');
  await page.keyboard.press('Enter');
}

async function focusOn(
  page: Page,
  name: string,
  role: 'button' | 'combobox' | 'textbox',
): Promise<void> {
  const wanted = page.getByRole(role, { name, exact: true });
  await wanted.waitFor();
  for (let count = 0; count < 80; count += 1) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`no way to ${name} by keyboard`);
}
