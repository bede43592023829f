import { randomUUID } from 'node:crypto';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { GatewayProcess } from '../harness/gateway-process.js';
import { WrongClock } from '../harness/wrong-clock.js';
import { boardReady, changeState, makeWard, publishAlarm, type Ward } from './board-ward.js';
import { type ConsoleOptions, openConsole, startBrowser } from './browser.js';

/** The repetition comes every 20 s. */
const TIMEOUT_MS = 90_000;

let gateway: GatewayProcess;
let browser: Browser;
let ward: Ward;

beforeAll(async () => {
  gateway = await GatewayProcess.start();
  browser = await startBrowser();
});

afterAll(async () => {
  await browser.close();
  await gateway.remove();
});

async function openBoard(options: ConsoleOptions = {}, of = gateway) {
  ward = await makeWard(of);
  const { token } = await ward.api.viewer(ward.locationId);
  const opened = await openConsole(browser, of, { token, ...options });
  await boardReady(opened.page);
  await listen(opened.page);
  return opened;
}

/** Keeps the frequencies of the tones that the page plays, in their order. */
async function listen(page: Page): Promise<void> {
  await page.evaluate(() => {
    const heard: number[] = [];
    Object.assign(globalThis, { heard });
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (whenS) {
      heard.push(this.frequency.value);
      start.call(this, whenS);
    };
  });
}

function heard(page: Page): Promise<number[]> {
  return page.evaluate(() => [...Reflect.get(globalThis, 'heard')]);
}

/** Waits until so many tones have been played. */
async function tones(page: Page, count: number): Promise<number[]> {
  await page.waitForFunction((wanted) => Reflect.get(globalThis, 'heard').length >= wanted, count);
  return heard(page);
}

const ALARM = [880, 660, 880, 660];

describe('the sound of the board', () => {
  it('is off until somebody switches it on, and can be tested', async () => {
    const { page } = await openBoard();
    await page.getByText('Sound is off').waitFor();
    await publishAlarm(gateway, ward.device, { kind: 'noise' });
    await page.getByRole('article').waitFor();
    expect(await heard(page)).toEqual([]);
    await page.getByRole('button', { name: 'Switch sound on' }).click();
    await page.getByText('Sound is on').waitFor();
    await page.getByRole('button', { name: 'Test the sound' }).click();
    expect(await tones(page, 4)).toEqual(ALARM);
    await page.getByRole('button', { name: 'Switch sound off' }).click();
    await page.getByText('Sound is off').waitFor();
  });

  it(
    'sounds for a new alarm, again until it is acknowledged, and otherwise when the gateway is lost',
    async () => {
      const { page } = await openBoard();
      await page.getByRole('button', { name: 'Switch sound on' }).click();
      await page.getByText('Sound is on').waitFor();
      const id = randomUUID();
      await publishAlarm(gateway, ward.device, { id, kind: 'fall' });
      expect(await tones(page, 4)).toEqual(ALARM);
      expect(await tones(page, 8)).toEqual([...ALARM, ...ALARM]);

      await changeState(ward, id, 'acknowledge');
      await page.getByText('Acknowledged by admin').waitFor();
      await gateway.kill();
      await page.locator('.lost-banner').waitFor();
      expect((await tones(page, 11)).slice(8)).toEqual([240, 240, 240]);
      await gateway.start();
    },
    TIMEOUT_MS,
  );

  it('is taken up after a reload, as far as the browser allows it', async () => {
    const { page } = await openBoard();
    await page.getByRole('button', { name: 'Switch sound on' }).click();
    await page.getByText('Sound is on').waitFor();
    // Looking into the page counts as a gesture of its user: not before the board is there.
    const streaming = page.waitForResponse((response) => response.url().includes('/events'));
    await page.reload();
    await streaming;
    await page.getByText('Sound is blocked').waitFor();
    await page.getByText('The browser allows no sound until').waitFor();
    await page.keyboard.press('Tab');
    await page.getByText('Sound is on').waitFor();
  });

  it('is unblocked by one tap on a touch screen', async () => {
    const { page } = await openBoard({ hasTouch: true });
    await page.getByRole('button', { name: 'Switch sound on' }).click();
    await page.getByText('Sound is on').waitFor();
    // Looking into the page counts as a gesture of its user: it says by itself what it shows.
    await page.addInitScript(() => {
      const tell = () => {
        const state = document.querySelector('.board-sound-state')?.textContent;
        // biome-ignore lint/suspicious/noConsole: the one way out of a page that is no gesture
        if (state) console.info(state);
      };
      new MutationObserver(tell).observe(document, { subtree: true, childList: true });
    });
    const says = (text: string) =>
      page.waitForEvent('console', (message) => message.text().includes(text));
    const blocked = says('Sound is blocked');
    await page.reload();
    await blocked;
    const on = says('Sound is on');
    await page.touchscreen.tap(5, 5);
    await on;
  });

  it(
    'sounds for an alarm of a long outage as for one that has just come, until it is acknowledged',
    async () => {
      const clock = new WrongClock(-2 * 60 * 60);
      onTestFinished(() => clock.remove());
      const away = await GatewayProcess.start(clock.environment);
      onTestFinished(() => away.remove());
      const { page } = await openBoard({}, away);
      await page.getByRole('button', { name: 'Switch sound on' }).click();
      await page.getByText('Sound is on').waitFor();
      await away.kill();
      await page.locator('.lost-banner').waitFor();
      await page.context().setOffline(true);
      await away.start();
      await publishAlarm(away, ward.device, { kind: 'fall' });
      clock.set(0);
      await away.kill();
      await away.start();
      await page.context().setOffline(false);
      await page.getByText('2 hr. ago').waitFor();
      const before = (await heard(page)).filter((hertz) => hertz === 240).length;
      expect((await tones(page, before + 8)).slice(before)).toEqual([...ALARM, ...ALARM]);
    },
    TIMEOUT_MS,
  );
});
