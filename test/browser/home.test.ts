/** The pages of a home: its rooms and devices, the page of a device with its secret, and many devices from a CSV. */
import { readFile } from 'node:fs/promises';
import type { Page, Request } from 'playwright-core';
import { encode } from 'uqr';
import { parseDeviceCsv } from '../../src/console/pages/home/import/device-csv.js';
import { setupText } from '../../src/console/pages/home/issued/setup-text.js';
import { ADMIN_TOKEN, Client, each, expect, type Home, NO_LIMITS, testWith } from './browser.js';

/** Nothing listens there: the page only says what the gateway is told to offer. */
const TLS_PORT = 9883;
const test = testWith({ env: { ...NO_LIMITS, GATEWAY_MQTT_TLS_PORT: String(TLS_PORT) } });

const room = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name });
const customData = (page: Page) => page.getByRole('textbox', { name: 'Custom data' });
const lines = (page: Page) => page.getByLabel('Or type or paste');
const said = (page: Page, text: string) =>
  page.getByRole('status').filter({ hasText: text }).waitFor();

async function choose(page: Page, name: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}`, exact: true }).click();
  await page.locator('.home-menu-items').getByRole('button', { name: action }).click();
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
  await item.getByText('Never connected').waitFor();
  await page.getByText('3 of 3 devices offline').waitFor();
  const client = await home.client(bed);
  await item.getByText('Online', { exact: true }).waitFor();
  await page.getByText('2 of 3 devices offline').waitFor();
  await client.end();
  await item.getByText(/Offline · (now|\d+ sec)/).waitFor();
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
  expect(await page.locator('[draggable=true]').count()).toBe(0);
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
  await choose(page, 'West wing', 'New room');
  await name('Room 1');
  await room(page, 'West wing').getByRole('heading', { name: 'Room 1' }).waitFor();
  await choose(page, 'Room 1', 'Rename');
  await name('x'.repeat(121), 'Save');
  await dialog.getByRole('alert').getByText('1 to 120 characters').waitFor();
  await name('Room 1a', 'Save');
  await page.getByRole('heading', { name: 'Room 1a' }).waitFor();
  for (const [one, kept] of [
    ['Room 1a', true],
    ['West wing', false],
    ['Haus Neu', false],
  ] as const) {
    await choose(page, one, 'Delete');
    if (kept) await dialog.getByText('The history keeps').waitFor();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    if (one !== 'Haus Neu') await said(page, `${one} was deleted.`);
  }
  await page.getByRole('heading', { name: 'Homes' }).waitFor();
  await expect.poll(() => page.getByRole('link', { name: 'Haus Neu' }).count()).toBe(0);
});

test('moves by dragging, also to another home, and says in place why it cannot', async ({
  home,
  own,
  open,
}) => {
  const { seven, eight, upper, loose, path } = await furnished(home);
  const goal = await own.homeAt(home.gateway, 'Haus Ziel');
  const page = await open({ token: ADMIN_TOKEN, path });
  await page.getByRole('link', { name: 'Spare sensor' }).dragTo(room(page, 'Room 8'));
  await said(page, 'Spare sensor was moved.');
  await room(page, 'Room 8').getByRole('link', { name: 'Spare sensor' }).waitFor();
  await page
    .getByRole('heading', { name: 'Lounge' })
    .dragTo(page.getByRole('heading', { name: 'Upper floor' }));
  await said(page, 'Lounge was moved.');
  expect(await found(home, 'devices', 'Spare sensor')).toMatchObject({ roomId: eight });
  expect(await found(home, 'rooms', 'Lounge')).toMatchObject({ groupId: upper });
  const dialog = page.getByRole('dialog');
  await choose(page, home.name, 'Delete');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('alert').getByText('still in this home').waitFor();
  await page.keyboard.press('Escape');
  await choose(page, 'Spare sensor', 'Move');
  await dialog.getByLabel('Home').selectOption(goal.locationId);
  await dialog.getByRole('button', { name: 'Move' }).click();
  await page.getByRole('link', { name: 'Spare sensor' }).waitFor({ state: 'detached' });
  const moved = (await goal.must('GET', `./devices/${loose.id}`)).json;
  expect(moved).toMatchObject({ locationId: goal.locationId, roomId: null });
  const read = page.waitForResponse(/\/rooms\/[^/]+$/);
  await choose(page, 'Room 7', 'Rename');
  await read;
  await home.must('PATCH', `./rooms/${seven}`, { json: { name: 'Room 7b' } });
  await dialog.getByLabel('Name').fill('Room 7a');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('alert').getByText('Somebody else has changed this').waitFor();
  expect((await home.must('GET', `./rooms/${seven}`)).string('name')).toBe('Room 7b');
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
  await press('Actions for Door sensor');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await focus('combobox', 'Room');
  await page.keyboard.type('Room 9');
  await press('Move');
  await said(page, 'Door sensor was moved.');
  const made = await found(home, 'rooms', 'Room 9');
  expect(await found(home, 'devices', 'Door sensor')).toMatchObject({ roomId: made?.['id'] });
  await page.getByRole('link', { name: 'Door sensor' }).press('Enter');
  await onHeading('Door sensor');
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
  await button(page, 'Go on').click();
  await message('"percent": 7').filter({ hasNotText: '81' }).waitFor();
  const history = page.getByRole('link', { name: 'All of them in the history' });
  expect(await history.getAttribute('href')).toContain(bed.id);
  await nurse.untilCount(1);
  expect(nurse.messages('/alarms/fall')).toMatchObject([{ data: { test: true } }]);
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
  // The label appears before the page has asked for the gateway's ports.
  await expect
    .poll(drawing)
    .toBe(qr(setupText({ host: '127.0.0.1', mqttPort, tls: false, deviceId, secret })));
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
  return readFile(await (await downloading).path(), 'utf8');
}

test('creates 50 devices, their rooms and groups from a file, whose secrets connect', async ({
  home,
  open,
}) => {
  const { upper, path } = await furnished(home);
  const page = await open({ role: 'manager', path: `${path}/import` });
  await page.getByRole('heading', { level: 1 }).waitFor();
  const mats = Array.from({ length: 50 }, (_, index) => `Mat ${index};Room ${100 + (index % 5)}`);
  const [first, ...others] = mats;
  const data = `${first};Attic;"{""bed"":9007199254740993}";7`;
  const text = ['name;room;group;customData;serial', data, ...others].join('\n');
  const buffer = Buffer.from(text);
  await page
    .getByLabel('File')
    .setInputFiles({ name: 'devices.csv', mimeType: 'text/csv', buffer });
  await page.getByText('Columns that are left out: serial').waitFor();
  await button(page, 'Create 50 devices').click();
  const dialog = page.getByRole('dialog', { name: 'Create 1 group and 5 rooms?' });
  await dialog.getByLabel('Group').selectOption(upper);
  await dialog.getByRole('button', { name: 'Create rooms and devices' }).click();
  await page.getByRole('heading', { name: 'Set up 50 devices' }).waitFor();
  await expect.poll(() => page.locator('.home-label').count()).toBe(50);
  const csv = await download(page);
  expect(parseDeviceCsv(csv).lines.map((one) => `${one.name};${one.room}`)).toEqual(mats);
  const rows = csv
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(';'));
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
  await page.getByRole('link', { name: 'Many devices from a CSV' }).click();
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
  expect(await page.locator('.home-names li').allTextContents()).toEqual(['C (Room 8)', 'D']);
  await button(page, 'Go on with the rest').click();
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
