/** The board on a wall: the link that opens it, what fits on it, and the sound that it and the other pages make. */
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import {
  ADMIN_TOKEN,
  alarm,
  bedSensor,
  boardReady,
  expect,
  raise,
  requireAccessible,
  testWith,
  times,
} from './browser.js';

/** A gateway of its own: a fault of another test would take room on the board. */
const test = testWith({});

const alarms = (page: Page) => page.locator('.board-alarm');
const button = (page: Page, name: string) => page.getByRole('button', { name });

test('opens from a link that an administrator makes for a group, under the address that he types', async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  const elsewhere = await home.device('Kitchen sensor');
  const page = await open({ token: ADMIN_TOKEN });
  await boardReady(page);
  await button(page, 'Link for a wall screen').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name of the screen').fill('Station 1');
  await dialog.getByRole('combobox', { name: 'Home', exact: true }).selectOption(home.name);
  await dialog.getByLabel('Group').selectOption('First floor');
  await button(page, 'Make the link').click();
  await dialog.getByText('Under this address only this machine reaches the gateway.').waitFor();
  await dialog.getByLabel('Address of the gateway').fill('https://gateway.example:8443');
  await page.getByRole('img', { name: 'The link as a QR code' }).waitFor();
  const link = await page.getByLabel('Link that signs in').inputValue();
  expect(link).toMatch(/^https:\/\/gateway\.example:8443\/#\/\?kiosk&token=/);

  const screen = await open({
    token: null,
    path: new URL(link).hash.slice(1),
    widthPx: 2560,
    heightPx: 1440,
  });
  await screen.getByText('No open alarms').waitFor();
  expect(screen.url()).not.toContain('token');
  expect(await screen.getByRole('navigation').count()).toBe(0);
  await screen.getByText(home.name, { exact: true }).waitFor();
  await screen
    .locator('.board-clock')
    .getByText(/^\d\d:\d\d$/)
    .waitFor();
  await raise(home, elsewhere, { kind: 'noise' });
  await raise(home, device, { kind: 'fall' });
  const fall = alarm(screen, 'Fall, Room 12');
  await fall.waitFor();
  expect(await alarms(screen).count()).toBe(1);
  expect(await fall.getByRole('button').count()).toBe(0);
  const sizePx = await fall
    .getByRole('heading')
    .evaluate((element) => Number.parseFloat(getComputedStyle(element).fontSize));
  expect(sizePx).toBeGreaterThan(48);
});

test('shows 16 of 65 alarms and every fall in full HD, and counts the others', async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  await raise(home, device, { kind: 'fall' });
  await raise(home, device, { kind: 'helpCall' });
  // Equal alarms of one device would be one row.
  const kinds = ['noise', 'wandering', 'inactivity'].map((kind) => ({ kind }));
  await times(21, async (index) => raise(home, await home.device(`Sensor ${index}`), ...kinds));
  const page = await open({ path: '/?kiosk', widthPx: 1920, heightPx: 1080 });
  await alarms(page).nth(64).waitFor({ state: 'attached' });
  const line = page.locator('.board-below');
  const below = async () => Number(/^\+(\d+) more/.exec(await line.innerText())?.[1]);
  await expect.poll(below).toBeLessThanOrEqual(65 - 16);
  expect(await line.innerText()).not.toContain('fall');
  const titles = await page.getByRole('article').getByRole('heading').allInnerTexts();
  expect(titles.slice(0, 2)).toEqual(['Help call, Room 12', 'Fall, Room 12']);
  await page.setViewportSize({ width: 1920, height: 240 });
  await page.getByText('more, 1 fall').waitFor();
});

/** Keeps the frequencies of the tones that the page plays, in order; tones repeat after one second, not 10 or 20. */
const listen = (page: Page) =>
  page.addInitScript(() => {
    const heard: number[] = [];
    Object.assign(globalThis, { heard });
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (whenS) {
      heard.push(this.frequency.value);
      start.call(this, whenS);
    };
    const wait = setTimeout;
    Object.assign(globalThis, {
      setTimeout: (run: () => void, ms?: number) =>
        wait(run, ms === 20_000 || ms === 10_000 ? 1_000 : ms),
    });
  });

const heard = (page: Page): Promise<number[]> =>
  page.evaluate(() => [...Reflect.get(globalThis, 'heard')]);

/** Waits until the page has played this many tones after the first `from`, and resolves to them. */
async function tones(page: Page, count: number, from = 0): Promise<number[]> {
  await page.waitForFunction((all) => Reflect.get(globalThis, 'heard').length >= all, from + count);
  return (await heard(page)).slice(from, from + count);
}

const ALARM = [880, 660, 880, 660];
const URGENT = [988, 1245, 1568, 988, 1245, 1568, 988, 1245, 1568];
const TEST = [440];
const LOST = [240, 240, 240];

async function switchOn(page: Page): Promise<void> {
  await button(page, 'Switch sound on').click();
  await page.getByText('Sound is on').waitFor();
}

test('sounds once it is switched on, for each alarm until it is acknowledged, softly for a test', async ({
  home,
  own,
  open,
}) => {
  const device = await bedSensor(home);
  const proxy = await own.proxy(home.gateway.httpPort);
  const page = await open({ url: `http://127.0.0.1:${proxy.port}`, prepare: listen });
  const acknowledge = async (id: string) => {
    await home.must('POST', `./alarms/${id}/acknowledge`, { json: {} });
    await alarms(page).filter({ hasText: 'Acknowledged by admin' }).first().waitFor();
  };
  await boardReady(page);
  await page.getByText('Sound is off').waitFor();
  const [noise, fall] = [randomUUID(), randomUUID()];
  await raise(home, device, { id: noise, kind: 'noise' });
  await alarm(page, 'Noise, Room 12').waitFor();
  expect(await heard(page)).toEqual([]);
  await acknowledge(noise);
  await switchOn(page);
  await button(page, 'Test the sound').click();
  expect(await tones(page, 4)).toEqual(ALARM);
  await home.must('POST', `./devices/${device.id}/test-alarm`, { json: { kind: 'fall' } });
  expect(await tones(page, 1, 4)).toEqual(TEST);
  await raise(home, device, { kind: 'noise' }, { id: fall, kind: 'fall' });
  await alarms(page).filter({ hasText: 'Fall' }).nth(1).waitFor();
  // The fall has its own sound, though another alarm has just sounded, and repeats it.
  const rest = (all: number[]) => all.slice(5).filter((hertz) => !ALARM.includes(hertz));
  await expect
    .poll(async () => rest(await heard(page)).length, { interval: 100 })
    .toBeGreaterThanOrEqual(18);
  expect(rest(await heard(page)).slice(0, 18)).toEqual([...URGENT, ...URGENT]);
  for (const one of (await home.alarms(device)).filter(({ id }) => id !== noise)) {
    await acknowledge(one.id);
  }
  await expect
    .poll(() => alarms(page).filter({ hasText: 'Acknowledged by admin' }).count())
    // The two noises have one row.
    .toBe(3);
  const { length } = await heard(page);
  proxy.refuse();
  await page.locator('.lost-banner').waitFor();
  expect(await tones(page, 6, length)).toEqual([...LOST, ...LOST]);
  await page.getByText('Sound is on').waitFor();
  await button(page, 'Switch sound off').click();
  await page.getByText('Sound is off').waitFor();
});

test('sounds for an alarm from a long outage as for a new one', async ({ own, open }) => {
  const home = await own.home();
  const device = await bedSensor(home);
  await home.gateway.clock.jump(-2.5 * 60 * 60 * 1000);
  const proxy = await own.proxy(home.gateway.httpPort);
  const page = await open({
    token: home.viewer.token,
    url: `http://127.0.0.1:${proxy.port}`,
    prepare: listen,
  });
  await boardReady(page);
  await switchOn(page);
  proxy.refuse();
  await page.locator('.lost-banner').waitFor();
  await raise(home, device, { kind: 'fall' });
  await home.gateway.clock.jump(2.5 * 60 * 60 * 1000);
  proxy.mend();
  await page.evaluate(() => dispatchEvent(new Event('online')));
  await page.getByText('2 hr. ago').waitFor();
  const before = (await heard(page)).filter((hertz) => hertz === 240).length;
  expect(await tones(page, 18, before)).toEqual([...URGENT, ...URGENT]);
});

test('shows alarms in a browser that has no sound', async ({ open }) => {
  const prepare = (tab: Page) =>
    tab.addInitScript(() => {
      localStorage.setItem('care-home-gateway.sound', 'on');
      Reflect.deleteProperty(globalThis, 'AudioContext');
    });
  const page = await open({ prepare });
  await page.getByText('No open alarms').waitFor();
  await page.getByText('Sound is blocked').waitFor();
});

test('resumes its sound after a reload with the first key or tap', async ({ open }) => {
  // Looking into the page counts as a gesture of its user, so the page itself says what it shows.
  const prepare = async (page: Page) => {
    await listen(page);
    await page.addInitScript(() => {
      const tell = () => {
        const state = document.querySelector('.board-sound-state')?.textContent;
        if (!state) return;
        queueMicrotask(() => {
          throw new Error(state);
        });
      };
      new MutationObserver(tell).observe(document, { subtree: true, childList: true });
    });
  };
  const page = await open({ hasTouch: true, prepare, causes: /Sound is/ });
  const says = (text: string) =>
    page.waitForEvent('pageerror', ({ message }) => message.includes(text));
  await switchOn(page);
  for (const gesture of [() => page.touchscreen.tap(5, 5), () => page.keyboard.press('Tab')]) {
    const blocked = says('Sound is blocked');
    await page.reload();
    await blocked;
    const on = says('Sound is on');
    await gesture();
    await on;
  }
});

test('is heard on the other pages too, with a line that leads to the board', async ({
  home,
  open,
}) => {
  const device = await bedSensor(home);
  const page = await open({ prepare: listen });
  await boardReady(page);
  await switchOn(page);
  const id = randomUUID();
  await page.getByRole('link', { name: 'History' }).click();
  await raise(home, device, { id, kind: 'fall' });
  const line = page.getByRole('alert').filter({ hasText: 'Open alarm' });
  await line.filter({ hasText: 'Open alarm: Fall, Room 12, Bed sensor' }).waitFor();
  await page.waitForFunction(() => Reflect.get(globalThis, 'heard').includes(1568));
  await page.getByRole('link', { name: 'Home', exact: true }).click();
  await page.locator('main h1').waitFor();
  await line.waitFor();
  await requireAccessible(page);
  await home.must('POST', `./alarms/${id}/acknowledge`, { json: {} });
  await line.waitFor({ state: 'detached' });
  await raise(home, device, { kind: 'outOfBed' });
  await line.filter({ hasText: 'Open alarm: Out of bed, Room 12' }).waitFor();
  await page.waitForFunction(() => Reflect.get(globalThis, 'heard').includes(880));
  await line.getByRole('link', { name: 'To the board' }).click();
  await alarm(page, 'Out of bed, Room 12').waitFor();
  expect(await line.count()).toBe(0);
});
