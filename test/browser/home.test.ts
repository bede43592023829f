/** The pages of a home: its rooms and devices, the page of a device with its secret, and many devices from a CSV. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Page, Request } from 'playwright-core';
import { encode } from 'uqr';
import { parseDevices } from '../../src/console/home/import.js';
import { setupText } from '../../src/console/home/issue.js';
import {
  ADMIN_TOKEN,
  alarm,
  Client,
  createToken,
  each,
  expect,
  type Home,
  NO_LIMITS,
  requireAccessible,
  testWith,
} from './browser.js';

/** Nothing listens there: the page only says what the gateway is told to offer. */
const TLS_PORT = 9883;
const test = testWith({ env: { ...NO_LIMITS, GATEWAY_MQTT_TLS_PORT: String(TLS_PORT) } });

const room = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name });
const customData = (page: Page) => page.getByRole('textbox', { name: 'Custom data' });
const lines = (page: Page) => page.getByLabel('Or type or paste');
const said = (page: Page, text: string) =>
  page.getByRole('status').filter({ hasText: text }).waitFor();

async function edit(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: `Edit ${name}`, exact: true }).click();
}

/** Asks to delete it, from the dialog that edits it. */
async function remove(page: Page, name: string): Promise<void> {
  await edit(page, name);
  await page.getByRole('button', { name: 'Delete …' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
}

/** Two groups, four rooms (one in no group), three devices (one in no room). */
async function furnished(home: Home) {
  const [ground, upper] = [await home.group('Ground floor'), await home.group('Upper floor')];
  const [seven, eight] = [await home.room('Room 7', ground), await home.room('Room 8', ground)];
  const twelve = await home.room('Room 12', upper);
  await home.room('Lounge');
  const bed = await home.deviceIn(seven, 'Fall sensor, bed 1');
  await home.deviceIn(twelve, 'Bed mat');
  const loose = await home.device('Spare sensor');
  return { ground, upper, seven, eight, bed, loose, path: `/home/${home.locationId}` };
}

const found = async (home: Home, kind: 'devices' | 'rooms', name: string) =>
  (await home.must('GET', `./${kind}`)).list().find((one) => one['name'] === name);

/** Leaves the page, and answers no to the question that holds the text. */
async function refuseToLeave(
  page: Page,
  text: string,
  leave: () => Promise<unknown>,
): Promise<void> {
  const asked = page.waitForEvent('dialog');
  const left = leave();
  const dialog = await asked;
  expect(dialog.message()).toContain(text);
  await dialog.dismiss();
  await left;
}

test('shows who is online as devices come and go, what others change, and finds by any name', async ({
  home,
  open,
}) => {
  const { seven, bed, path } = await furnished(home);
  const page = await open({ path });
  const item = room(page, 'Room 7').getByRole('listitem');
  await item.getByText('Never heard').waitFor();
  await page.getByText('3 devices · 3 never heard').waitFor();
  const client = await home.client(bed);
  await item.getByText('Online', { exact: true }).waitFor();
  await page.getByText('3 devices · 2 never heard').waitFor();
  await client.end();
  await item.getByText(/Offline · disconnected \d+ sec/).waitFor();
  await page.getByText('3 devices · 1 offline · 2 never heard').waitFor();
  expect(await item.locator('time').getAttribute('datetime')).toMatch(/^2\d{3}-/);
  await room(page, 'Without a group').getByRole('heading', { name: 'Lounge' }).waitFor();
  const loose = room(page, 'Devices without a room').getByRole('link', { name: 'Spare sensor' });
  await loose.waitFor();
  const search = page.getByRole('searchbox', { name: 'Search' });
  await search.fill('upper');
  expect(await page.getByRole('heading', { level: 3 }).allTextContents()).toEqual(['Room 12']);
  await search.fill('SPARE');
  expect(await page.getByRole('heading', { level: 3 }).count()).toBe(0);
  await loose.waitFor();
  await search.fill('nothing like it');
  await page.getByText('Nothing matches.').waitFor();
  await search.fill('');
  await home.must('PATCH', `./rooms/${seven}`, { json: { name: 'Sauna' } });
  await page.evaluate(() => dispatchEvent(new Event('focus')));
  await page.getByRole('heading', { name: 'Sauna' }).waitFor();
  // A viewer changes nothing, here and on the page of a device.
  expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
  await loose.click();
  await page.getByRole('heading', { name: 'Messages, live' }).waitFor();
  const buttons = await page.getByRole('main').getByRole('button').allTextContents();
  expect(buttons).toEqual(['Copy', 'Pause', 'Clear']);
  expect(await page.getByRole('textbox').count()).toBe(0);
});

test('creates, renames and deletes a home, a group and a room', async ({ open }) => {
  const page = await open({ token: ADMIN_TOKEN, path: '/home' });
  const dialog = page.getByRole('dialog');
  const name = async (text: string, done = 'Create') => {
    await dialog.getByRole('textbox', { name: 'Name' }).fill(text);
    await dialog.getByRole('button', { name: done }).click();
  };
  await button(page, 'New home').click();
  await name('Haus Neu');
  await page.getByRole('heading', { level: 1, name: 'Haus Neu' }).waitFor();
  await button(page, 'New group').click();
  await name('West wing');
  await said(page, 'West wing was created.');
  await button(page, 'New room').click();
  await dialog.getByLabel('Group').selectOption('West wing');
  await name('Room 1');
  await room(page, 'West wing').getByRole('heading', { name: 'Room 1' }).waitFor();
  await edit(page, 'Room 1');
  await name('x'.repeat(121), 'Save');
  await dialog.getByRole('alert').getByText('1 to 120 characters').waitFor();
  await name('Room 1a', 'Save');
  await said(page, 'Room 1a was saved.');
  await edit(page, 'Haus Neu');
  await name('Haus Neuer', 'Save');
  await page.getByRole('heading', { level: 1, name: 'Haus Neuer' }).waitFor();
  for (const one of ['Room 1a', 'West wing', 'Haus Neuer']) {
    await remove(page, one);
    if (one !== 'Haus Neuer') await said(page, `${one} was deleted.`);
    await page.waitForFunction(() => document.activeElement?.matches('h1') === true);
  }
  await page.getByRole('heading', { name: 'Homes' }).waitFor();
  await expect.poll(() => page.getByRole('link', { name: 'Haus Neuer' }).count()).toBe(0);
});

test('moves rooms and devices, also to another home, and says in place why it cannot', async ({
  home,
  own,
  open,
}) => {
  const { seven, eight, upper, bed, loose, path } = await furnished(home);
  const goal = await own.homeAt(home.gateway, 'Haus Ziel');
  const page = await open({ token: ADMIN_TOKEN, path });
  const dialog = page.getByRole('dialog');
  const save = () => dialog.getByRole('button', { name: 'Save' }).click();
  await edit(page, 'Spare sensor');
  await dialog.getByLabel('Name').fill('Moved sensor');
  await dialog.getByLabel('Room').selectOption('Room 8');
  await save();
  await said(page, 'Moved sensor was saved.');
  await room(page, 'Room 8').getByRole('link', { name: 'Moved sensor' }).waitFor();
  await edit(page, 'Lounge');
  await dialog.getByLabel('Group').selectOption('Upper floor');
  await save();
  await said(page, 'Lounge was saved.');
  expect(await found(home, 'devices', 'Moved sensor')).toMatchObject({ roomId: eight });
  expect(await found(home, 'rooms', 'Lounge')).toMatchObject({ groupId: upper });
  await remove(page, home.name);
  await dialog.getByRole('alert').getByText('still in this home').waitFor();
  await page.keyboard.press('Escape');
  await edit(page, 'Moved sensor');
  await dialog.getByLabel('Home').selectOption(goal.locationId);
  await save();
  await page.getByRole('link', { name: 'Moved sensor' }).waitFor({ state: 'detached' });
  const moved = (await goal.must('GET', `./devices/${loose.id}`)).json;
  expect(moved).toMatchObject({ locationId: goal.locationId, roomId: null });
  // Whatever another changes while the dialog is open.
  for (const [name, read, change, field, wanted] of [
    ['Room 7', `/rooms/${seven}`, { name: 'Room 7b' }, 'Name', 'Room 7a'],
    ['Fall sensor, bed 1', `/devices/${bed.id}`, { name: 'Bed 1b' }, 'Room', 'Room 8'],
  ] as const) {
    const opened = page.waitForResponse((response) => response.url().endsWith(read));
    await edit(page, name);
    await opened;
    await home.must('PATCH', `.${read}`, { json: change });
    if (field === 'Name') await dialog.getByLabel(field).fill(wanted);
    else await dialog.getByLabel(field).selectOption(wanted);
    await save();
    await dialog.getByRole('alert').getByText('Somebody else has changed this').waitFor();
    expect((await home.must('GET', `.${read}`)).string('name')).toBe(change.name);
    await page.keyboard.press('Escape');
    await page.getByText(change.name).first().waitFor();
  }
  expect(await found(home, 'devices', 'Bed 1b')).toMatchObject({ roomId: seven });
});

test('works by keyboard alone: a room, a device, and a move', async ({ home, open }) => {
  const { path } = await furnished(home);
  const page = await open({ role: 'manager', path });
  const focus = async (role: 'button' | 'combobox' | 'textbox', name: string) => {
    const wanted = page.getByRole(role, { name, exact: true });
    await wanted.waitFor();
    for (let count = 0; count < 80; count++) {
      if (await wanted.evaluate((element) => element === document.activeElement)) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`no way to ${name} by keyboard`);
  };
  const press = async (name: string) => {
    await focus('button', name);
    await page.keyboard.press('Enter');
  };
  // So that a screen reader says where its user is.
  const onHeading = (name: string) =>
    page.waitForFunction((text) => {
      const { activeElement } = document;
      return activeElement?.matches('h1') === true && activeElement.textContent === text;
    }, name);
  await press('New room');
  await focus('textbox', 'Name');
  await page.keyboard.type('Room 9');
  await focus('combobox', 'Group');
  await page.keyboard.press('G');
  await press('Create');
  await said(page, 'Room 9 was created.');
  await press('New device');
  await focus('textbox', 'Name');
  await page.keyboard.type('Door sensor');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Set up the device' }).waitFor();
  await press('Done');
  await page.getByRole('link', { name: 'Door sensor' }).waitFor();
  await onHeading(home.name);
  await press('Edit Door sensor');
  await focus('combobox', 'Room');
  await page.keyboard.type('Room 9');
  await press('Save');
  await said(page, 'Door sensor was saved.');
  const made = await found(home, 'rooms', 'Room 9');
  expect(await found(home, 'devices', 'Door sensor')).toMatchObject({ roomId: made?.['id'] });
  await page.getByRole('link', { name: 'Door sensor' }).press('Enter');
  await onHeading('Door sensor');
});

test('shows what is behind a hub, and which sensors are silent, and sets their silence time', async ({
  own,
  open,
}) => {
  const home = await own.home({ env: { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: '60' } });
  const { seven, path } = await furnished(home);
  const mat = await home.deviceIn(seven, 'Mat');
  const door = await home.deviceIn(seven, 'Door sensor');
  const hub = await home.client(await home.token('publisher', 'Zigbee hub'));
  for (const { id } of [mat, door]) await hub.publish(`devices/${id}/battery`, '80');
  const { token } = await home.token('manager');
  const page = await open({ url: home.gateway.httpUrl, token, path });
  const rows = page.locator('.home-device');
  const row = (name: string) => rows.filter({ hasText: name });
  const shows = async (filter: string, ...names: string[]) => {
    await page.getByLabel('Show').selectOption(filter);
    await expect.poll(() => rows.getByRole('link').allTextContents()).toEqual(names);
  };
  await row('Mat').getByText('Online through Zigbee hub').waitFor();
  await shows('Behind a hub', 'Door sensor', 'Mat');
  await home.gateway.clock.advance(61_000);
  await row('Door sensor').getByText('Silent').waitFor();
  await hub.publish(`devices/${mat.id}/battery`, '79');
  await row('Mat').getByText('Online through Zigbee hub').waitFor();
  await shows('Silent', 'Door sensor');
  await row('Door sensor')
    .getByText(/Offline · behind Zigbee hub · last heard/)
    .waitFor();
  await page.getByRole('link', { name: 'Hubs' }).click();
  const section = room(page, 'Zigbee hub');
  await section.getByText('1 of 2').waitFor();
  await expect.poll(() => section.locator('dd').allTextContents()).toContain('1');
  await hub.end();
  await section.getByText('0 of 2').waitFor();
  await section.getByRole('link', { name: 'Mat' }).click();
  // One time, and no two that contradict each other.
  await page.getByText('Offline · behind Zigbee hub', { exact: true }).waitFor();
  const last = await page.getByText(/^Last heard/).count();
  expect(last).toBe(1);
  const dialog = page.getByRole('dialog');
  await button(page, 'Silence time').click();
  await page.getByRole('combobox', { name: 'Time', exact: true }).selectOption('A time of its own');
  await page.getByLabel('Unit').selectOption('Hours');
  await page.getByLabel('Silent after').fill('2');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('2 hours', { exact: true }).waitFor();
  await page.getByRole('link', { name: home.name }).click();
  await page.route(`**/devices/${door.id}`, (route) => route.abort(), { times: 1 });
  await button(page, 'Silence time').click();
  await dialog.getByLabel('Devices').selectOption('Room 7 (3)');
  await dialog.getByLabel('Unit').selectOption('Minutes');
  await dialog.getByLabel('Silent after').fill('0');
  await dialog.getByRole('button', { name: 'Save' }).click();
  expect(await dialog.locator('input:invalid').count()).toBe(1);
  await dialog.getByLabel('Silent after').fill('90');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('Not set for these devices:').waitFor();
  expect(await dialog.locator('li').allTextContents()).toEqual(['Door sensor']);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await said(page, 'The silence time of 3 devices was set.');
  const times = async () =>
    (await home.must('GET', './devices')).list().map(({ supervision }) => supervision);
  const own90 = { silentAfterSeconds: 5_400 };
  expect(await times()).toEqual([own90, undefined, undefined, own90, own90]);
  await button(page, 'Silence time').click();
  await dialog.getByLabel('Devices').selectOption('Those ticked below');
  await dialog.getByLabel('Mat · Room 7').check();
  await dialog
    .getByRole('combobox', { name: 'Time', exact: true })
    .selectOption('As the gateway is configured');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await said(page, 'The silence time was set.');
  expect(await times()).toEqual([own90, undefined, undefined, undefined, own90]);
});

test('leads an administrator in three steps to the first alarm, and tells others whom to ask', async ({
  own,
  open,
}) => {
  const gateway = await own.gateway();
  const { token } = await createToken(gateway, [{ location: randomUUID(), role: 'viewer' }]);
  const asked = await open({ url: gateway.httpUrl, token, path: '/home' });
  await asked.getByText('Ask whoever looks after the gateway').waitFor();
  const page = await open({ url: gateway.httpUrl, token: ADMIN_TOKEN, path: '/home' });
  const dialog = page.getByRole('dialog');
  const done = page.locator('.home-steps .good');
  const name = async (text: string) => {
    await dialog.getByLabel('Name').fill(text);
    await dialog.getByRole('button', { name: 'Create' }).click();
  };
  expect(await button(page, 'Add a device').isDisabled()).toBe(true);
  await requireAccessible(page);
  await button(page, 'Create the home').click();
  await name('Haus Eins');
  await button(page, 'Add a device').click();
  await name('Fall sensor');
  await page.getByText('Haus Eins · No room').waitFor();
  await button(page, 'Done').click();
  await expect.poll(() => done.count()).toBe(2);
  await button(page, 'Send a test alarm').click();
  await dialog.getByRole('button', { name: 'Send' }).click();
  await alarm(page, /Help call/).waitFor();
});

test('offers the manager of one group only what is his', async ({ home, open }) => {
  const { ground, path } = await furnished(home);
  const { token } = await home.token([{ group: ground, role: 'manager' }]);
  const page = await open({ token, path });
  await page.getByRole('heading', { name: 'Room 7' }).waitFor();
  expect(await page.getByText('Upper floor').count()).toBe(0);
  for (const name of ['New group', 'New device']) expect(await button(page, name).count()).toBe(0);
  await button(page, 'New room').click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Room 7b');
  await button(page, 'Create').click();
  await said(page, 'Room 7b was created.');
  expect(await found(home, 'rooms', 'Room 7b')).toMatchObject({ groupId: ground });
});

test('shows a device’s place and messages live, dated by the gateway, and sends a test alarm', async ({
  home,
  open,
}) => {
  const { bed, path } = await furnished(home);
  const nurse = await home.nurse();
  const page = await open({ role: 'manager', path: `${path}/devices/${bed.id}` });
  const message = (text: string) => page.locator('.home-messages li').filter({ hasText: text });
  await page.getByText('Ground floor · Room 7').waitFor();
  await page.getByText('What the device sends appears here').waitFor();
  await page.clock.setSystemTime(Date.now() + 10 * 24 * 60 * 60 * 1000);
  await page.reload();
  const client = await home.client(bed);
  const at = await message('"online": true').first().locator('time').getAttribute('datetime');
  expect(Math.abs(Date.parse(at ?? '') - Date.now())).toBeLessThan(60_000);
  await client.publish(`devices/${bed.id}/battery`, '{"percent":81}');
  await message('"percent": 81').waitFor();
  await button(page, 'Pause').click();
  await client.publish(`devices/${bed.id}/battery`, '{"percent":7}');
  // The alarm comes after the message that must not be shown, on the same stream.
  await button(page, 'Send a test alarm').click();
  await page.getByLabel('Kind').selectOption('fall');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('The test alarm was sent.').waitFor();
  await page.locator('.home-alarms').getByText('Fall').waitFor();
  expect(await message('"percent": 7').filter({ hasNotText: '81' }).count()).toBe(0);
  await button(page, 'Resume').click();
  await message('"percent": 7').filter({ hasNotText: '81' }).waitFor();
  const history = page.getByRole('link', { name: 'All of them in the history' });
  expect(await history.getAttribute('href')).toContain(bed.id);
  await nurse.untilCount(1);
  expect(nurse.messages('/alarms/fall')).toMatchObject([{ data: { test: true } }]);
  // However fast it chatters, the list is read at its own pace.
  let readings = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('alarms?limit=10')) readings += 1;
  });
  for (let count = 0; count < 40; count++) {
    await client.publish(`devices/${bed.id}/alarms`, '{"kind":"noise"}', { qos: 1 });
  }
  await expect.poll(() => page.locator('.home-alarms').getByText('Noise').count()).toBe(10);
  expect(readings).toBeLessThan(10);
});

test('keeps custom data as typed, and lets only the first of two technicians change them', async ({
  home,
  open,
}) => {
  const { bed, path } = await furnished(home);
  const page = await open({ role: 'manager', path: `${path}/devices/${bed.id}` });
  const field = customData(page);
  const save = button(page, 'Save');
  const stored = async () => (await home.must('GET', `./devices/${bed.id}/custom-data`)).text;
  await field.fill('{"n":9007199254740993');
  await page.getByText('This is not valid JSON').waitFor();
  expect(await save.isDisabled()).toBe(true);
  await field.fill('[1]');
  await page.getByText('This must be an object').waitFor();
  await field.fill(`{"ü":"${'ä'.repeat(510)}"}`);
  await page.getByText('1029 of 1024 bytes').waitFor();
  await page.getByText('This is too large.').waitFor();
  const text = '{"n":9007199254740993, "d":1.10}';
  await field.fill(text);
  const history = page.getByRole('link', { name: 'History', exact: true });
  await refuseToLeave(page, 'The custom data is not saved.', () => history.click());
  expect(await field.inputValue()).toBe(text);
  // The page shows what is confirmed, also while reading it again has no answer.
  const isRead = (request: Request) => request.method() === 'GET';
  await page.route('**/custom-data', (route) =>
    isRead(route.request()) ? undefined : route.continue(),
  );
  await save.click();
  await page.getByText('Saved.').waitFor();
  expect(await field.inputValue()).toBe(text);
  await page.unrouteAll();
  expect(await stored()).toBe(text);
  await page.reload();
  await expect.poll(() => field.inputValue()).toBe(text);
  await field.fill('{"bed":2}');
  await home.customData(bed, '{"by":"another"}');
  await save.click();
  await page.getByText('Somebody else has changed this meanwhile.').waitFor();
  expect(await stored()).toContain('another');
  await page.getByText('This is stored now:').waitFor();
  await button(page, 'Save mine instead').click();
  await page.getByText('Saved.').waitFor();
  expect(await stored()).toBe('{"bed":2}');
  await home.customData(bed, '{"by":"a third"}');
  await field.fill('{"bed":3}');
  await save.click();
  await button(page, 'Discard the changes').click();
  await expect.poll(() => field.inputValue()).toContain('a third');
});

test('gives a device a new secret, shown once as text and QR code, which also print', async ({
  home,
  open,
}) => {
  const { bed, path } = await furnished(home);
  const page = await open({ role: 'manager', path: `${path}/devices/${bed.id}` });
  const label = page.locator('.home-label');
  const drawing = () => label.locator('.qr-code path').getAttribute('d');
  const qr = (text: string) => {
    const { data } = encode(text, { ecc: 'M', border: 4 });
    return data
      .flatMap((row, y) => row.map((isBlack, x) => (isBlack ? `M${x} ${y}h1v1h-1z` : '')))
      .join('');
  };
  await customData(page).fill('{"typed":1}');
  await button(page, 'New secret').click();
  await page.getByRole('dialog').getByText('must then be set up again').waitFor();
  await button(page, 'Make a new secret').click();
  await label.waitFor();
  const [deviceId = '', secret = ''] = await label.locator('code').allTextContents();
  expect(deviceId).toBe(bed.id);
  const { mqttPort } = home.gateway;
  const setup = { host: '127.0.0.1', mqttPort, tls: false, deviceId, secret };
  expect(await drawing()).toBe(qr(setupText(setup)));
  await page.getByLabel('Address of the gateway').fill('gw.example');
  await page.getByLabel('Devices connect over TLS').check();
  await page.getByText(`gw.example:${TLS_PORT} · TLS`).waitFor();
  const overTls = { host: 'gw.example', mqttPort: TLS_PORT, tls: true, deviceId, secret };
  await expect.poll(drawing).toBe(qr(JSON.stringify(overTls)));
  await page.emulateMedia({ media: 'print' });
  const printed = await page.locator('body').innerText();
  for (const text of [bed.name, `${home.name} · Room 7`, secret]) expect(printed).toContain(text);
  for (const text of ['Print labels', 'Copy', 'Sign out']) expect(printed).not.toContain(text);
  await page.emulateMedia({ media: null });
  await expect(Client.connect(home.gateway, bed)).rejects.toThrow('CONNACK with 4');
  await home.client({ username: deviceId, password: secret });
  await button(page, 'Done').click();
  await page.getByRole('heading', { level: 1, name: bed.name }).waitFor();
  expect(await page.getByText(secret).count()).toBe(0);
  expect(await customData(page).inputValue()).toBe('{"typed":1}');
});

async function download(page: Page): Promise<string> {
  const downloading = page.waitForEvent('download');
  await button(page, 'Download as CSV').click();
  const file = await downloading;
  expect(file.suggestedFilename()).toMatch(/^devices-Haus-[^-]+-2\d{3}-\d\d-\d\d\.csv$/);
  return readFile(await file.path(), 'utf8');
}

test('creates 50 devices, their rooms and groups from a file, whose secrets connect', async ({
  home,
  open,
}) => {
  const { upper, path } = await furnished(home);
  const page = await open({ role: 'manager', path: `${path}/import` });
  await page.getByRole('heading', { level: 1 }).waitFor();
  const mats = Array.from({ length: 50 }, (_, index) => `Mat ${index}\tRoom ${100 + (index % 5)}`);
  const [first, ...others] = mats;
  const data = `${first}\tAttic\t"{""bed"":9007199254740993}"\t7`;
  const text = ['name\troom\tgroup\tcustomData\tserial', data, ...others].join('\r\n');
  // What Excel calls Unicode text.
  const buffer = Buffer.from(`\uFEFF${text}`, 'utf16le');
  await page
    .getByLabel('File')
    .setInputFiles({ name: 'devices.txt', mimeType: 'text/plain', buffer });
  await page.getByText('Columns that are left out: serial').waitFor();
  await button(page, 'Create 50 devices').click();
  const dialog = page.getByRole('dialog', { name: 'Create 1 group and 5 rooms?' });
  await dialog.getByLabel('Group').selectOption(upper);
  await dialog.getByRole('button', { name: 'Create rooms and devices' }).click();
  await page.getByRole('heading', { name: 'Set up 50 devices' }).waitFor();
  await expect.poll(() => page.locator('.home-label').count()).toBe(50);
  const csv = await download(page);
  expect(parseDevices(csv).rows.map((one) => `${one.name}\t${one.room}`)).toEqual(mats);
  const rows = csv
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(','));
  await page.emulateMedia({ media: 'print' });
  const tops = await page
    .locator('.home-label')
    .evaluateAll((labels) => labels.map((label) => label.getBoundingClientRect().top));
  expect(tops.filter((top) => top === tops[0])).toHaveLength(3);
  await page.emulateMedia({ media: null });
  await each(rows, async ([, , username = '', password = '']) =>
    (await home.client({ username, password })).end(),
  );
  const attic = (await home.must('GET', './groups')).list().find(({ name }) => name === 'Attic');
  for (const [index, name] of ['Room 100', 'Room 104'].entries()) {
    const made = await found(home, 'rooms', name);
    expect(made).toMatchObject({ groupId: index === 0 ? attic?.['id'] : upper });
    const mat = await found(home, 'devices', index === 0 ? 'Mat 0' : 'Mat 4');
    expect(mat).toMatchObject({ roomId: made?.['id'] });
  }
  await button(page, 'Done').click();
  await page.getByRole('link', { name: 'Mat 0', exact: true }).click();
  await expect.poll(() => customData(page).inputValue()).toContain('9007199254740993');
});

test('shows the faults of a CSV before anything is created, and asks before its lines are lost', async ({
  home,
  open,
}) => {
  const { path } = await furnished(home);
  const page = await open({ role: 'manager', path });
  await page.getByRole('link', { name: 'Many devices from a table' }).click();
  const row = (text: string) => page.getByRole('row').filter({ hasText: text });
  await lines(page).fill('name;room;group\nClock;Lounge;Ground floor');
  await row('Clock')
    .getByText('The room is in no group yet. It will be put into this one.')
    .waitFor();
  await lines(page).fill(';Room 7\nBed mat;Room 12\n\u202aMat;Room 8');
  await page.getByText('2 lines have faults').waitFor();
  await row('characters that cannot be shown').waitFor();
  await row('There is no name.').waitFor();
  await row('such a device in this room already').waitFor();
  expect(await button(page, 'Create 3 devices').isDisabled()).toBe(true);
  const history = page.getByRole('link', { name: 'History', exact: true });
  for (const leave of [() => page.goBack(), () => history.click()]) {
    await refuseToLeave(page, 'The lines would be lost.', leave);
    expect(await lines(page).inputValue()).toContain('Bed mat;Room 12');
  }
  expect((await home.must('GET', './devices')).list()).toHaveLength(3);
});

test('continues a creation that stopped half way without creating anything twice', async ({
  home,
  open,
}) => {
  const { path } = await furnished(home);
  const page = await open({ role: 'manager', path: `${path}/import` });
  let posted = 0;
  await page.route('**/devices', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    posted += 1;
    if (posted !== 3) return route.continue();
    // The gateway creates the third device, but its answer is lost.
    await route.fetch();
    return route.abort();
  });
  await lines(page).fill('=A;Room 7\nB;Room 7\nC;Room 8\nD;');
  await button(page, 'Create 4 devices').click();
  await page.getByText('Stopped. 2 of 4 devices were created.').waitFor();
  const states = page.getByRole('row').filter({ hasNot: page.getByRole('columnheader') });
  expect(await states.getByRole('cell').nth(1).textContent()).toBe('C');
  await states.nth(0).getByText('The gateway does not answer.').waitFor();
  expect(await states.filter({ hasText: '✓ Created' }).count()).toBe(2);
  await refuseToLeave(page, 'Their secrets would be lost.', () =>
    page.getByRole('link', { name: 'History', exact: true }).click(),
  );
  await button(page, 'Resume').click();
  await page.getByRole('heading', { name: 'Set up 4 devices' }).waitFor();
  const rows = (await download(page)).trim().split('\r\n').slice(1);
  expect(rows[0]).toMatch(/^"'=A";Room 7;/);
  const [, , username = '', password = ''] = rows[2]?.split(';') ?? [];
  await home.client({ username, password });
  const made = (await home.must('GET', './devices')).list().map(({ name }) => name);
  expect(made.slice(3)).toEqual(['=A', 'B', 'C', 'D']);
});

test('draws a home of 300 devices, and searches it', async ({ home, open }) => {
  await each(
    Array.from({ length: 300 }, (_, number) => number),
    (number) => home.device(`Sensor ${number}`),
  );
  const page = await open({ path: `/home/${home.locationId}` });
  await page.getByRole('link', { name: 'Sensor 299' }).waitFor();
  await page.locator('input[type=search]').fill('Sensor 29');
  await expect.poll(() => page.locator('.home-device').count()).toBe(11);
});
