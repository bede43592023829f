import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import type { RunningGateway } from '../../former/gateway/running-gateway.js';
import { accessibilityFaults } from '../accessibility.js';
import { type ConsoleOptions, Network, openConsole } from '../browser.js';
import {
  boardReady,
  changeState,
  makeWard,
  publishAlarm,
  raiseTest,
  type Ward,
} from './board-ward.js';

let gateway: GatewayHere;
let ward: Ward;

beforeAll(async () => {
  gateway = await GatewayHere.start();
});

afterAll(() => gateway.remove());

async function openBoard(options: ConsoleOptions = {}, of: RunningGateway = gateway) {
  ward = await makeWard(of);
  const { token } = await ward.api.viewer(ward.locationId);
  const network = await Network.to(of);
  const opened = await openConsole(network, { token, prepare: listen, ...options });
  await boardReady(opened.page);
  return { ...opened, network };
}

/** Keeps the frequencies of the tones that the page plays, in order; tones repeat after one second, not 10 or 20. */
async function listen(page: Page): Promise<void> {
  await page.addInitScript(() => {
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
}

function heard(page: Page): Promise<number[]> {
  return page.evaluate(() => [...Reflect.get(globalThis, 'heard')]);
}

/** Waits until the page has played this many tones. */
async function tones(page: Page, count: number): Promise<number[]> {
  await page.waitForFunction((wanted) => Reflect.get(globalThis, 'heard').length >= wanted, count);
  return heard(page);
}

const ALARM = [880, 660, 880, 660];
const URGENT = [988, 1245, 1568, 988, 1245, 1568, 988, 1245, 1568];
const TEST = [440];
const LOST = [240, 240, 240];

describe('the sound of the board', () => {
  it('is off until somebody switches it on, and can be tested', async () => {
    const { page } = await openBoard();
    await page.getByText('Sound is off').waitFor();
    const id = randomUUID();
    await publishAlarm(gateway, ward.device, { id, kind: 'noise' });
    await page.getByRole('article').waitFor();
    expect(await heard(page)).toEqual([]);
    await changeState(ward, id, 'acknowledge');
    await page.getByText('Acknowledged by admin').waitFor();
    await page.getByRole('button', { name: 'Switch sound on' }).click();
    await page.getByText('Sound is on').waitFor();
    await page.getByRole('button', { name: 'Test the sound' }).click();
    expect(await tones(page, 4)).toEqual(ALARM);
    await page.getByRole('button', { name: 'Switch sound off' }).click();
    await page.getByText('Sound is off').waitFor();
  });

  it('sounds for a new alarm until it is acknowledged, and differently when the gateway is lost', async () => {
    const { page, network } = await openBoard();
    await page.getByRole('button', { name: 'Switch sound on' }).click();
    await page.getByText('Sound is on').waitFor();
    const id = randomUUID();
    await publishAlarm(gateway, ward.device, { id, kind: 'fall' });
    expect((await tones(page, 18)).slice(0, 18)).toEqual([...URGENT, ...URGENT]);

    await changeState(ward, id, 'acknowledge');
    await page.getByText('Acknowledged by admin').waitFor();
    const { length } = await heard(page);
    await network.cut(page);
    expect((await tones(page, length + 6)).slice(length, length + 6)).toEqual([...LOST, ...LOST]);
  });

  it('is one soft tone for a test, and another for a fall, even when other alarms have just sounded', async () => {
    const { page } = await openBoard();
    await page.getByRole('button', { name: 'Switch sound on' }).click();
    await page.getByText('Sound is on').waitFor();
    await raiseTest(ward, 'fall');
    expect(await tones(page, 1)).toEqual(TEST);
    await publishAlarm(gateway, ward.device, { kind: 'noise' });
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    await page.getByRole('article', { name: 'Fall, Room 12' }).nth(1).waitFor();
    const all = (await tones(page, 14)).filter((hertz) => !ALARM.includes(hertz));
    expect(all.slice(0, 10)).toEqual([...TEST, ...URGENT]);
  });

  it('resumes after a reload, once the browser allows it', async () => {
    const { page } = await openBoard();
    await page.getByRole('button', { name: 'Switch sound on' }).click();
    await page.getByText('Sound is on').waitFor();
    // Looking into the page counts as a gesture of its user, so wait until the board is there.
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
    // Looking into the page counts as a gesture of its user, so the page itself says what it shows.
    await page.addInitScript(() => {
      const tell = () => {
        const state = document.querySelector('.board-sound-state')?.textContent;
        // biome-ignore lint/suspicious/noConsole: the only way out of a page that is not a gesture
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

  it('sounds for an alarm from a long outage as for a new one, until it is acknowledged', async () => {
    let behindMs = 2.5 * 60 * 60 * 1000;
    const away = await GatewayHere.start({}, { now: () => Date.now() - behindMs });
    onTestFinished(() => away.remove());
    const { page, network } = await openBoard({}, away);
    await page.getByRole('button', { name: 'Switch sound on' }).click();
    await page.getByText('Sound is on').waitFor();
    await network.cut(page);
    await publishAlarm(away, ward.device, { kind: 'fall' });
    behindMs = 0;
    await network.mend(page);
    await page.getByText('2 hr. ago').waitFor();
    const before = (await heard(page)).filter((hertz) => hertz === 240).length;
    const all = await tones(page, before + 18);
    expect(all.slice(before, before + 18)).toEqual([...URGENT, ...URGENT]);
  });

  it('is heard on the other pages too, with a line that leads to the board', async () => {
    const { page } = await openBoard();
    await page.getByRole('button', { name: 'Switch sound on' }).click();
    const id = randomUUID();
    await page.getByRole('link', { name: 'History' }).click();
    await publishAlarm(gateway, ward.device, { id, kind: 'fall' });
    const line = page.getByRole('alert').filter({ hasText: 'Open alarm' });
    await line.filter({ hasText: 'Open alarm: Fall, Room 12, Bed sensor' }).waitFor();
    await page.waitForFunction(() => Reflect.get(globalThis, 'heard').includes(1568));
    await page.getByRole('link', { name: 'Home', exact: true }).click();
    await page.getByRole('heading', { name: 'Haus am See' }).first().waitFor();
    await line.waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await changeState(ward, id, 'acknowledge');
    await line.waitFor({ state: 'detached' });
    await publishAlarm(gateway, ward.device, { kind: 'outOfBed' });
    await line.filter({ hasText: 'Open alarm: Out of bed, Room 12' }).waitFor();
    await page.waitForFunction(() => Reflect.get(globalThis, 'heard').includes(880));
    await line.getByRole('link', { name: 'To the board' }).click();
    await page.getByRole('article', { name: 'Out of bed, Room 12' }).waitFor();
    expect(await line.count()).toBe(0);
  });
});
