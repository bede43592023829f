import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseDeviceCsv } from '../../src/console/pages/home/import/device-csv.js';
import { connect } from '../former/clients/mqtt-clients.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { openConsole, refuseToLeave } from './browser.js';
import { devicesOf, makeHomeSite, roomsOf } from './home-site.js';

let gateway: GatewayHere;

beforeAll(async () => {
  gateway = await GatewayHere.start();
});

afterAll(() => gateway.remove());

async function openImport(name: string) {
  const site = await makeHomeSite(gateway, name);
  const path = `/home/${site.locationId}/import`;
  const { page } = await openConsole(gateway, { token: ADMIN_TOKEN, path });
  await page.getByRole('heading', { level: 1 }).waitFor();
  return { site, page };
}

async function downloaded(page: Page): Promise<string> {
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as CSV' }).click();
  return readFile(await (await download).path(), 'utf8');
}

/** Notes the files that the page releases. */
async function releasedFiles(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(() => {
    const released: string[] = [];
    Object.assign(globalThis, { released });
    const revoke = URL.revokeObjectURL.bind(URL);
    URL.revokeObjectURL = (url) => {
      released.push(url);
      revoke(url);
    };
  });
  return () => page.evaluate(() => [...Reflect.get(globalThis, 'released')]);
}

it('creates 50 devices and their rooms from a file, whose secrets connect', async () => {
  const { site, page } = await openImport('Haus Fünfzig');
  const released = await releasedFiles(page);
  const lines = Array.from({ length: 50 }, (_, index) => `Mat ${index};Room ${100 + (index % 5)}`);
  const buffer = Buffer.from(`name;room\n${lines.join('\n')}\n`);
  const file = { name: 'devices.csv', mimeType: 'text/csv', buffer };
  await page.getByLabel('File').setInputFiles(file);
  await page.getByRole('button', { name: 'Create 50 devices' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create 5 rooms?' });
  await dialog.getByLabel('Group').selectOption(site.groups.upper);
  await dialog.getByRole('button', { name: 'Create rooms and devices' }).click();
  await page.getByRole('heading', { name: 'Set up 50 devices' }).waitFor();
  await expect.poll(() => page.locator('.home-label').count()).toBe(50);
  const csv = await downloaded(page);
  // A browser may read the file after the click.
  expect(await released()).toEqual([]);
  const rows = csv
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(';'));
  expect(rows).toHaveLength(50);
  expect(parseDeviceCsv(csv).lines.map(({ name, room }) => `${name};${room}`)).toEqual(lines);
  for (const [, , username = '', password = ''] of rows) {
    await (await connect(gateway, { username, password })).endAsync();
  }
  const rooms = new Map((await roomsOf(site)).map((room) => [room.id, room]));
  const made = (await devicesOf(site)).filter(({ name }) => name.startsWith('Mat '));
  expect(made).toHaveLength(50);
  for (const { name, roomId } of made) {
    const room = rooms.get(roomId ?? '');
    expect(`${name};${room?.name}`).toBe(lines[Number(name.slice(4))]);
    expect(room?.groupId).toBe(site.groups.upper);
  }
});

it('creates groups with their rooms, and devices with their custom data', async () => {
  const { site, page } = await openImport('Haus Gruppe');
  const lines = [
    'name;room;group;customData;serial',
    'Mat;Room 90;Attic;"{""bed"":9007199254740993}";7',
  ];
  await page.getByLabel('Or type or paste').fill(lines.join('\n'));
  await page.getByText('Columns that are left out: serial').waitFor();
  await page.getByRole('button', { name: 'Create 1 device' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create 1 group and 1 room?' });
  await dialog.getByRole('button', { name: 'Create rooms and devices' }).click();
  await page.getByRole('heading', { name: 'Set up the device' }).waitFor();
  const room = (await roomsOf(site)).find(({ name }) => name === 'Room 90');
  const made = (await devicesOf(site)).find(({ name }) => name === 'Mat');
  expect(made?.roomId).toBe(room?.id);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('heading', { name: 'Attic' }).waitFor();
  await page.getByRole('link', { name: 'Mat', exact: true }).click();
  const field = page.getByRole('textbox', { name: 'Custom data' });
  await expect.poll(() => field.inputValue()).toContain('9007199254740993');
});

it('shows faults by line before anything is created', async () => {
  const { site, page } = await openImport('Haus Vorschau');
  await page.getByLabel('Or type or paste').fill(';Room 7\nBed mat;Room 12\n\u202aMat;Room 8');
  await page.getByText('2 lines have faults').waitFor();
  await page.getByRole('row').filter({ hasText: 'characters that cannot be shown' }).waitFor();
  await page.getByRole('row').filter({ hasText: 'There is no name.' }).waitFor();
  await page.getByRole('row').filter({ hasText: 'such a device in this room already' }).waitFor();
  expect(await page.getByRole('button', { name: 'Create 3 devices' }).isDisabled()).toBe(true);
  expect(await devicesOf(site)).toHaveLength(3);
});

it('says that a room gets a group, and asks for one only for rooms without', async () => {
  const { site, page } = await openImport('Haus Umzug');
  const field = page.getByLabel('Or type or paste');
  await field.fill('name;room;group\nClock;Lounge;Ground floor\nLamp;Room 9;Ground floor');
  const row = page.getByRole('row').filter({ hasText: 'Clock' });
  await row.getByText('The room is in no group yet. It will be put into this one.').waitFor();
  await page.getByRole('button', { name: 'Create 2 devices' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create 1 room?' });
  expect(await dialog.getByLabel('Group').count()).toBe(0);
  await dialog.getByRole('button', { name: 'Create rooms and devices' }).click();
  await page.getByRole('heading', { name: 'Set up 2 devices' }).waitFor();
  const lounge = (await roomsOf(site)).find(({ name }) => name === 'Lounge');
  expect(lounge?.groupId).toBe(site.groups.ground);
});

it('asks before typed lines are lost', async () => {
  const { site, page } = await openImport('Haus Frage');
  await page.goto(`${gateway.httpUrl}/#/home/${site.locationId}`);
  await page.getByRole('link', { name: 'Many devices from a CSV' }).click();
  const field = page.getByLabel('Or type or paste');
  await field.fill('Mat;Room 7');
  for (const leave of [() => page.goBack(), undefined]) {
    await refuseToLeave(page, 'The lines would be lost.', leave);
    expect(await field.inputValue()).toBe('Mat;Room 7');
  }
});

it('shows what was created when it stops half way, and continues without creating anything twice', async () => {
  const { site, page } = await openImport('Haus Halb');
  let answered = 0;
  await page.route('**/devices', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    answered += 1;
    if (answered !== 3) return route.continue();
    // The gateway creates the third device, but its answer is lost.
    await route.fetch();
    return route.abort();
  });
  await page.getByLabel('Or type or paste').fill('=A;Room 7\nB;Room 7\nC;Room 8\nD;');
  await page.getByRole('button', { name: 'Create 4 devices' }).click();
  await page.getByText('Stopped. 2 of 4 devices were created.').waitFor();
  expect(await page.locator('.home-names li').allTextContents()).toEqual(['C (Room 8)', 'D']);
  await page.getByRole('button', { name: 'Go on with the rest' }).click();
  await page.getByRole('heading', { name: 'Set up 4 devices' }).waitFor();
  const rows = (await downloaded(page)).trim().split('\r\n').slice(1);
  expect(rows[0]).toMatch(/^"'=A";Room 7;/);
  const [, , username = '', password = ''] = rows[2]?.split(';') ?? [];
  await (await connect(gateway, { username, password })).endAsync();
  const made = (await devicesOf(site)).map(({ name }) => name).slice(3);
  expect(made).toEqual(['=A', 'B', 'C', 'D']);
});
