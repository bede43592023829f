/**
 * The board: which alarms it shows to whom, in which order and for how long, and what a nurse does there.
 *
 * What it does in trouble is in board-trouble.test.ts; walls and sound are in board-wall.test.ts.
 */
import { randomUUID } from 'node:crypto';
import type { Locator, Page } from 'playwright-core';
import { alarm, bedSensor, boardReady, expect, type Home, raise, test, until } from './browser.js';

const alarms = (page: Page) => page.locator('.board-alarm');
const titles = (page: Page) => page.getByRole('article').getByRole('heading').allInnerTexts();
const isFocused = (element: Element) => element === document.activeElement;
const change = (home: Home, id: string, action: 'acknowledge' | 'resolve', note?: string) =>
  home.must('POST', `./alarms/${id}/${action}`, { json: { note } });
const button = (within: Page | Locator, name: string) => within.getByRole('button', { name });
const choice = (page: Page) => page.getByRole('combobox', { name: 'Home', exact: true });

/** A responder's or viewer's token for several homes. */
const tokenFor = async (role: string, ...homes: readonly Home[]) =>
  (await homes[0]?.token(homes.map(({ locationId }) => ({ location: locationId, role }))))?.token ??
  '';

test('shows and announces an alarm, what became of it elsewhere, and that it is over', async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  await home.customData(
    device,
    '{"bed":2,"mobile":false,"languages":["de","tr"],"phone":9007199254740993,"nurseCallId":"7","more":{"d":1.10}}',
  );
  const page = await open();
  await page.getByText('No open alarms').waitFor();
  const id = randomUUID();
  await raise(home, device, { id, kind: 'fall' });
  const fall = alarm(page, 'Fall, Room 12');
  // Numbers as they were written, live and after a reload.
  const written =
    /bed:?\s+2\s+mobile:?\s+no\s+languages:?\s+de, tr\s+phone:?\s+9007199254740993\s+More/;
  // It gets its text with its first drawing, a moment after it is there.
  await expect.poll(() => fall.innerText()).toMatch(/First floor · Bed sensor/);
  expect(await fall.innerText()).toMatch(written);
  expect(await fall.innerText()).toMatch(/Raised\s+New/);
  expect(await page.locator('[role="alert"]').allInnerTexts()).toEqual([
    'New alarm: Fall, Room 12, Bed sensor',
  ]);
  await expect.poll(() => page.title()).toContain('(1)');
  expect(await fall.getByRole('button').count()).toBe(0);
  expect(await button(page, 'Link for a wall screen').count()).toBe(0);
  await page.reload();
  await boardReady(page);
  await expect.poll(() => fall.innerText()).toMatch(written);
  // Only programs use the rest.
  expect(await fall.innerText()).not.toContain('nurseCallId');
  await fall.getByText('More', { exact: true }).click();
  expect(await fall.innerText()).toMatch(/nurseCallId:?\s+7\s+more:?\s+\{"d":1\.10\}/);
  await change(home, id, 'acknowledge', 'On my way');
  await page.getByText('Acknowledged by admin').waitFor();
  await page.getByText('Note: On my way').waitFor();
  await change(home, id, 'resolve');
  await page.getByText('No open alarms').waitFor();
  await expect.poll(() => page.title()).toMatch(/^Board/);
});

test('reads the alarms that were open before, however old, on a tablet whose clock is days ahead', async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  const id = randomUUID();
  await raise(home, device, { id, kind: 'fall' }, { kind: 'noise' });
  await raise(home, device, { kind: 'inactivity', detectedAt: '2024-05-01T12:00:00Z' });
  await change(home, id, 'acknowledge');
  const prepare = (page: Page) =>
    page.addInitScript(() => {
      const rightNow = Date.now.bind(Date);
      Date.now = () => rightNow() + 10 * 24 * 60 * 60 * 1000;
    });
  const page = await open({ prepare });
  await boardReady(page);
  const all = ['Inactivity, Room 12', 'Noise, Room 12', 'Fall, Room 12'];
  await expect.poll(() => titles(page)).toEqual(all);
  await expect.poll(() => alarm(page, 'Noise, Room 12').innerText()).toMatch(/\d sec\. ago|now/);
  await page.reload();
  await boardReady(page);
  await expect.poll(() => titles(page)).toEqual(all);
  await page.getByText('Acknowledged by admin').waitFor();
  // Somebody sets the clock of the tablet back.
  await page.evaluate(() => {
    const before = Date.now.bind(Date);
    Date.now = () => before() - 11 * 24 * 60 * 60 * 1000;
  });
  await raise(home, device, { kind: 'helpCall' });
  await alarm(page, 'Help call, Room 12').waitFor();
});

test('shows a group’s token only what happens in the group', async ({ home, open }) => {
  const group = await home.group('First floor');
  const device = await home.deviceIn(await home.room('Room 12', group), 'Bed sensor');
  const elsewhere = await home.device('Kitchen sensor');
  await raise(home, device, { kind: 'outOfBed' });
  await raise(home, elsewhere, { kind: 'noise' });
  const { token } = await home.token([{ group, role: 'responder' }]);
  const page = await open({ token });
  await page.getByText('All sensors of First floor are offline.').waitFor();
  await raise(home, elsewhere, { kind: 'noise' });
  await raise(home, device, { kind: 'fall' });
  await alarm(page, 'Fall, Room 12').waitFor();
  expect(await alarms(page).count()).toBe(2);
  await button(alarm(page, 'Fall, Room 12'), 'Acknowledge').click();
  await page.getByText('Acknowledged by').waitFor();
});

test('labels alarms with their home when there are several, and shows the selected home until it is deleted', async ({
  home,
  own,
  open,
}) => {
  const hill = await own.homeAt(home.gateway, 'Haus am Berg');
  const [device, other] = [await bedSensor(home), await bedSensor(hill)];
  const token = await tokenFor('responder', home, hill);
  const page = await open({ token, hasClock: true });
  await boardReady(page);
  await raise(home, device, { kind: 'fall' });
  await raise(hill, other, { kind: 'noise' });
  const label = page.getByText(`${home.name} · First floor`);
  await label.waitFor();
  await page.getByText('Haus am Berg · First floor').waitFor();
  await choice(page).selectOption('Haus am Berg');
  await label.waitFor({ state: 'hidden' });
  expect(await alarms(page).count()).toBe(1);
  await hill.must('DELETE', `./devices/${other.id}`);
  await hill.must('DELETE', hill.path);
  await page.clock.fastForward('05:00');
  await choice(page).waitFor({ state: 'detached' });
  await alarm(page, 'Fall, Room 12').waitFor();
  expect(await alarms(page).count()).toBe(1);
  await raise(home, device, { kind: 'noise' });
  await page.getByText('New alarm: Noise, Room 12').waitFor({ state: 'attached' });
});

test('drops an alarm of a deleted home that somebody acknowledges', async ({ home, own, open }) => {
  const hill = await own.homeAt(home.gateway, 'Haus am Berg');
  const [device, other] = [await bedSensor(home), await bedSensor(hill)];
  const page = await open({ token: await tokenFor('responder', home, hill) });
  await boardReady(page);
  await raise(home, device, { kind: 'fall' });
  await raise(hill, other, { kind: 'fall' });
  await alarms(page).nth(1).waitFor();
  await hill.must('DELETE', `./devices/${other.id}`);
  await hill.must('DELETE', hill.path);
  const gone = page.locator('.board-alarm', { hasText: 'Haus am Berg' });
  await button(gone, 'Acknowledge').click();
  await gone.waitFor({ state: 'detached' });
  expect(await alarms(page).count()).toBe(1);
});

test('sends a resolve after ten seconds, during which it can be undone', async ({ home, open }) => {
  const device = await bedSensor(home);
  const page = await open({ role: 'responder', hasClock: true });
  await boardReady(page);
  const sent: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.endsWith('/resolve')) sent.push(request.url());
  });
  await raise(home, device, { kind: 'fall' });
  const fall = alarm(page, 'Fall, Room 12');
  const note = fall.getByRole('textbox', { name: 'Note' });
  await button(fall, 'Add a note').click();
  await note.fill('Lies beside the bed');
  await button(fall, 'Resolve').click();
  await fall.getByText('Resolved').waitFor();
  // The clock also runs on: far enough from the end for a machine that stalls.
  await page.clock.fastForward(3_000);
  await button(fall, 'Undo').click();
  expect(await note.inputValue()).toBe('Lies beside the bed');
  await page.clock.fastForward(20_000);
  expect(sent).toEqual([]);
  await button(fall, 'Acknowledge').click();
  await page.getByText('Acknowledged by nurse call').waitFor();
  await page.getByText('Note: Lies beside the bed').waitFor();
  expect(await button(fall, 'Acknowledge').count()).toBe(0);
  await button(fall, 'Resolve').click();
  await button(fall, 'Undo').waitFor();
  await page.clock.fastForward(10_000);
  await page.getByText('Resolved: Fall, Room 12').waitFor();
  await page.getByText('No open alarms').waitFor();
  expect(sent).toHaveLength(1);
  // It would seem to be of the next alarm in the room.
  await page.clock.fastForward(20_000);
  await page.getByText('Resolved: Fall, Room 12').waitFor({ state: 'detached' });
});

test('sends a resolve at once when its page is left, and when somebody signs out', async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  const { token } = await home.token('responder');
  const page = await open({ token });
  const leaving = [
    () => page.getByRole('link', { name: 'History' }).click(),
    () => button(page, 'Sign out').click(),
    () => page.goto('about:blank'),
  ];
  for (const leave of leaving) {
    const id = randomUUID();
    await raise(home, device, { id, kind: 'fall' });
    await page.goto(`${home.gateway.httpUrl}/#/?token=${token}`);
    await button(page, 'Resolve').click();
    await button(page, 'Undo').waitFor();
    const state = async () =>
      (await home.must('GET', `./alarms?state=resolved`))
        .list('events')
        .some((one) => one['id'] === id);
    expect(await state()).toBe(false);
    await leave();
    // Less than the ten seconds that an open page waits.
    await until(state, 'the resolved alarm', 8_000);
  }
});

test('resolves all of three hundred alarms when their page is left', { timeout: 60_000 }, async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  const page = await open({ role: 'responder' });
  await boardReady(page);
  await raise(home, device, ...Array.from({ length: 300 }, () => ({ kind: 'noise' })));
  await button(page, 'Resolve (300)').click();
  await button(page, 'Undo').waitFor();
  await page.getByRole('link', { name: 'History' }).click();
  const resolved = async () => {
    const all = await home.alarms(device);
    return all.filter(({ state }) => state === 'resolved').length === 300;
  };
  await until(resolved, 'all resolved', 30_000);
});

test('keeps what is typed while others change alarms of its row, and undoes all of a row', async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  const page = await open({ role: 'responder', hasClock: true });
  await boardReady(page);
  const [one, two, three] = [randomUUID(), randomUUID(), randomUUID()];
  await raise(home, device, { id: one, kind: 'noise' });
  await alarms(page).waitFor();
  await raise(home, device, { id: two, kind: 'noise' });
  const note = page.getByRole('textbox', { name: 'Note' });
  await alarms(page).getByText('2 alarms, the first').waitFor();
  await button(page, 'Add a note').click();
  await note.fill('Half a sen');
  await change(home, one, 'acknowledge');
  await alarms(page).nth(1).waitFor();
  expect(await alarms(page).first().getByRole('textbox').inputValue()).toBe('Half a sen');
  await change(home, one, 'resolve');
  await alarms(page).nth(1).waitFor({ state: 'detached' });
  expect(await note.inputValue()).toBe('Half a sen');
  await button(page, 'Resolve').click();
  await button(page, 'Undo').waitFor();
  await raise(home, device, { id: three, kind: 'noise' });
  await button(page, 'Resolve').click();
  await alarms(page).getByText('2 alarms, the first').waitFor();
  await button(page, 'Undo').click();
  await button(page, 'Resolve (2)').waitFor();
  expect(await note.inputValue()).toBe('Half a sen');
});

test('moves to the next alarm with the keyboard, and keeps a second tap off it', async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  const page = await open({ role: 'responder', hasClock: true });
  await boardReady(page);
  await raise(home, device, { kind: 'outOfBed' });
  await raise(home, device, { kind: 'noise' });
  const first = alarm(page, 'Noise, Room 12');
  const next = alarm(page, 'Out of bed, Room 12');
  const resolve = button(first, 'Resolve');
  // It watches before the button goes.
  await resolve.evaluate((element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    const tapped = new Promise((done) => {
      const observer = new MutationObserver(() => {
        if (document.querySelectorAll('.board-alarm').length !== 1) return;
        done(document.elementFromPoint(x + width / 2, y + height / 2)?.tagName);
      });
      observer.observe(document.body, { childList: true, subtree: true });
    });
    Object.assign(window, { tapped });
  });
  await resolve.press('Enter');
  await page.clock.fastForward(1_000);
  await expect.poll(() => first.evaluate(isFocused)).toBe(true);
  await page.clock.fastForward(10_000);
  expect(await page.evaluate(() => Reflect.get(window, 'tapped'))).not.toBe('BUTTON');
  await page.clock.fastForward(1_000);
  await expect.poll(() => next.evaluate(isFocused)).toBe(true);
});

test('keeps taps off the rows while a notice above moves them', async ({ home, open }) => {
  const [device, other] = [await bedSensor(home), await bedSensor(home, 'Room 13')];
  const page = await open({ role: 'responder' });
  await boardReady(page);
  // Of the gateway: the sensor was not heard.
  await home.must('POST', `./devices/${device.id}/test-alarm`, { json: { kind: 'fall' } });
  const list = page.locator('.board-list:has(li)');
  const tappable = (element: Element) => getComputedStyle(element).pointerEvents;
  await expect.poll(() => list.evaluate(tappable)).toBe('auto');
  const moved = list.evaluate(async (element) => {
    const { top } = element.getBoundingClientRect();
    while (element.getBoundingClientRect().top === top) await new Promise(requestAnimationFrame);
    // Observers of sizes run after this frame's functions.
    await new Promise((painted) => setTimeout(painted));
    return getComputedStyle(element).pointerEvents;
  });
  await home.publish(other, 'battery', ['{}']);
  await page.locator('.board-notices-line').waitFor();
  expect(await moved).toBe('none');
  await expect.poll(() => list.evaluate(tappable)).toBe('auto');
});

test('resolves all test alarms together, listed after all raised alarms', async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  const page = await open({ role: 'responder', hasClock: true });
  await boardReady(page);
  await raise(home, device, { kind: 'noise' });
  for (const kind of ['fall', 'helpCall']) {
    await home.must('POST', `./devices/${device.id}/test-alarm`, { json: { kind } });
  }
  await button(page, 'Resolve all 2 tests').waitFor();
  expect(await titles(page)).toEqual(['Noise, Room 12', 'Help call, Room 12', 'Fall, Room 12']);
  await button(page, 'Resolve all 2 tests').click();
  await button(page, 'Undo').nth(1).waitFor();
  await page.clock.fastForward(10_000);
  await alarms(page).nth(1).waitFor({ state: 'detached' });
  expect(await alarms(page).count()).toBe(1);
});

test('has one row for the equal alarms of a chattering sensor, with one tap for all', async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  const page = await open({ role: 'responder', hasClock: true });
  await boardReady(page);
  await raise(home, device, ...Array.from({ length: 12 }, () => ({ kind: 'noise' })));
  await page.getByRole('heading', { name: 'Open alarms: 12' }).waitFor();
  expect(await alarms(page).count()).toBe(1);
  await alarms(page).getByText('12 alarms, the first').waitFor();
  const states = async () => (await home.alarms(device)).map(({ state }) => state);
  await button(page, 'Acknowledge (12)').click();
  await page.getByText('Acknowledged by nurse call').waitFor();
  await until(async () => (await states()).every((one) => one === 'acknowledged'), 'all');
  await button(page, 'Resolve (12)').click();
  await page.locator('.board-alarm.resolved').waitFor();
  // What comes meanwhile is not taken for resolved.
  await raise(home, device, { kind: 'noise' });
  await button(page, 'Acknowledge').waitFor();
  expect(await alarms(page).count()).toBe(2);
  await page.clock.fastForward(10_000);
  await page.getByRole('heading', { name: 'Open alarms: 1', exact: true }).waitFor();
  expect((await states()).filter((one) => one === 'resolved')).toHaveLength(12);
});

test('shows a phone the first alarm in its upper third, a note on a line of its own, and buttons for fingers', async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  await (await home.client(device)).end();
  await raise(home, device, { kind: 'fall' });
  const page = await open({ role: 'responder', widthPx: 390, heightPx: 844, hasTouch: true });
  await boardReady(page);
  // Notices are one line, which opens.
  const notice = page.locator('summary', { hasText: 'All sensors' });
  await notice.waitFor();
  const box = async (one: Locator) =>
    (await one.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  expect((await box(alarms(page))).y).toBeLessThan(844 / 3);
  const fall = alarm(page, 'Fall, Room 12');
  await button(fall, 'Add a note').click();
  const note = await box(page.getByRole('textbox', { name: 'Note' }));
  const row = await box(fall);
  expect(note.width).toBeGreaterThan(0.8 * row.width);
  for (const one of await page.getByRole('button').all()) {
    if (await one.isVisible()) expect((await box(one)).height).toBeGreaterThanOrEqual(48);
  }
  await notice.click();
  await page.getByRole('link', { name: 'Show the home' }).waitFor();
});

test('names the device where there is no room', async ({ home, open }) => {
  const page = await open();
  await boardReady(page);
  await raise(home, await home.device('Sensor in the corridor'), { kind: 'fall' });
  await alarm(page, 'Fall, Sensor in the corridor').waitFor();
});

test('says why an alarm could not be changed, and who was first', async ({ home, open }) => {
  const device = await bedSensor(home);
  const page = await open({ role: 'responder' });
  await boardReady(page);
  const ids = [randomUUID(), randomUUID()] as const;
  await raise(home, device, { id: ids[0], kind: 'fall' });
  const acknowledge = button(page, 'Acknowledge');
  const before = (work: () => Promise<unknown>) =>
    page.route('**/acknowledge?*', async (route) => {
      await work();
      await route.continue();
    });
  await page.route('**/acknowledge?*', (route) => route.abort(), { times: 1 });
  await acknowledge.press('Enter');
  await alarms(page).getByText('The gateway does not answer.').waitFor();
  expect(await acknowledge.evaluate(isFocused)).toBe(true);
  expect(await alarms(page).getByText('Raised').count()).toBe(1);
  await before(() => change(home, ids[0], 'resolve'));
  await acknowledge.click();
  await page.getByText('Somebody has resolved this alarm already.').waitFor();
  await page.getByText('No open alarms').waitFor();
  await page.unrouteAll();
  await before(() => change(home, ids[1], 'acknowledge', 'On the way'));
  await raise(home, device, { id: ids[1], kind: 'fall' });
  await button(page, 'Add a note').click();
  await page.getByLabel('Note').fill('Lies beside the bed');
  await acknowledge.click();
  await page.getByText('your note was not saved').waitFor();
  await page.getByText('Note: On the way').waitFor();
});

test('shows each alarm’s own recording when two devices used the same id', async ({
  home,
  open,
}) => {
  const devices = [await bedSensor(home), await home.device('Door sensor')];
  const page = await open();
  await boardReady(page);
  const same = { id: randomUUID(), kind: 'fall', detectedAt: new Date().toISOString() };
  for (const device of devices) {
    await raise(home, device, { ...same, footage: { video: `devices/${device.id}/fall.mp4` } });
  }
  for (const device of devices) {
    const row = alarms(page).filter({ hasText: device.name });
    await button(row, 'Show the recording').click();
    // The camera has not uploaded it.
    await row.getByText('The recording cannot be played.').waitFor();
    const link = row.getByRole('link', { name: /Open the recording/ });
    const address = await link.getAttribute('href');
    expect(address).toMatch(new RegExp(`${device.id}/fall\\.mp4\\?.*signature=`));
    await button(row, 'Hide the recording').click();
    expect(await link.count()).toBe(0);
  }
});

test('changes the alarm that was tapped when two devices used the same id', async ({
  home,
  open,
}) => {
  const devices = [await bedSensor(home), await home.device('Door sensor')];
  const page = await open({ role: 'responder', hasClock: true });
  await boardReady(page);
  const same = { id: randomUUID(), kind: 'fall', detectedAt: new Date().toISOString() };
  for (const device of devices) await raise(home, device, same);
  const older = alarms(page).filter({ hasText: 'Bed sensor' });
  await button(older, 'Acknowledge').click();
  await older.getByText('Acknowledged by nurse call').waitFor();
  await button(older, 'Resolve').click();
  await button(page, 'Undo').waitFor();
  await page.clock.fastForward(10_000);
  await older.waitFor({ state: 'detached' });
  expect(await titles(page)).toEqual(['Fall, Door sensor']);
  const states = devices.map(async (device) => (await home.alarms(device)).map((one) => one.state));
  expect(await Promise.all(states)).toEqual([['resolved'], ['raised']]);
});

test('names the offline sensors with their rooms, but not those behind a hub', async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  const door = await home.device('Door sensor');
  await home.device('In its box');
  for (const one of [door, device]) await (await home.client(one)).end();
  const page = await open();
  const all = page.getByText(`All sensors of ${home.name} are offline.`);
  await all.waitFor();
  await page.getByText('No open alarms').waitFor();
  const client = await home.client(device);
  await page.getByText('1 sensor is offline: Door sensor').waitFor();
  expect(await page.getByText('In its box').count()).toBe(0);
  await client.end();
  await all.waitFor();
  await page.getByText('Bed sensor (Room 12)').waitFor();
  const link = page.getByRole('link', { name: 'Show the home' });
  expect(await link.getAttribute('href')).toBe(`#/home/${home.locationId}`);
  const hub = await home.client(await home.token('publisher', 'Zigbee'));
  for (const one of [door, device])
    await hub.publish(`devices/${one.id}/alarms`, '{"kind":"fall"}');
  await alarms(page).nth(1).waitFor();
  await all.waitFor({ state: 'detached' });
  expect(await page.getByText('offline').count()).toBe(0);
  await hub.end();
  await all.waitFor();
});
