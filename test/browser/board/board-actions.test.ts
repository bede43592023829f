import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { installClock } from '../browser.js';
import { alarmsOn, changeState, openBoard, publishAlarm, raiseTest } from './board-ward.js';

let gateway: GatewayHere;

beforeAll(async () => {
  gateway = await GatewayHere.start();
});

afterAll(() => gateway.remove());

describe('acting on the board', () => {
  it('acknowledges and resolves for a responder, with a note', async () => {
    const { page, ward } = await openBoard(gateway, 'responder', undefined, {
      prepare: installClock,
    });
    const id = randomUUID();
    await publishAlarm(gateway, ward.device, { id, kind: 'fall' });
    await page.getByRole('button', { name: 'Add a note' }).click();
    await page.getByLabel('Note').fill('Lies beside the bed');
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText('Acknowledged by Nurses').waitFor();
    await page.getByText('Note: Lies beside the bed').waitFor();
    expect(await page.getByRole('button', { name: 'Acknowledge' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Resolve' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await page.clock.fastForward(10_000);
    await page.getByText('No open alarms').waitFor();
    await page.getByText('Resolved: Fall, Room 12').waitFor();
  });

  it('sends a resolve only after ten seconds, during which it can be undone', async () => {
    const { page, ward } = await openBoard(gateway, 'responder', undefined, {
      prepare: installClock,
    });
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/resolve')) sent.push(request.url());
    });
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    const alarm = page.getByRole('article', { name: 'Fall, Room 12' });
    await alarm.getByRole('button', { name: 'Add a note' }).click();
    await alarm.getByRole('textbox', { name: 'Note' }).fill('helped up');
    await alarm.getByRole('button', { name: 'Resolve' }).click();
    await alarm.getByText('Resolved').waitFor();
    // The clock also runs on: far enough from the end for a machine that stalls.
    await page.clock.fastForward(3_000);
    await alarm.getByRole('button', { name: 'Undo' }).click();
    await alarm.getByRole('button', { name: 'Acknowledge' }).waitFor();
    expect(await alarm.getByRole('textbox', { name: 'Note' }).inputValue()).toBe('helped up');
    await page.clock.fastForward(20_000);
    expect(sent).toEqual([]);
    await alarm.getByRole('button', { name: 'Resolve' }).click();
    await alarm.getByText('Resolved').waitFor();
    await page.clock.fastForward(10_000);
    await page.getByText('No open alarms').waitFor();
    expect(sent).toHaveLength(1);
  });

  it.each([
    ['the page is left for another', (page: Page) => page.goto('about:blank')],
    [
      'another page of the console is shown',
      (page: Page) => page.getByRole('link', { name: 'History' }).click(),
    ],
    ['somebody signs out', (page: Page) => page.getByRole('button', { name: 'Sign out' }).click()],
  ])('sends a resolve immediately when %s', async (_, leave) => {
    const { page, ward } = await openBoard(gateway, 'responder');
    const other = await openBoard(gateway, 'viewer', ward);
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    await alarmsOn(other.page).waitFor();
    await page.getByRole('button', { name: 'Resolve' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    expect(await alarmsOn(other.page).count()).toBe(1);
    await leave(page);
    await other.page.getByText('No open alarms').waitFor({ timeout: 8_000 });
  });

  it('moves to the next alarm with the keyboard when one is resolved', async () => {
    const { page, ward } = await openBoard(gateway, 'responder', undefined, {
      prepare: installClock,
    });
    await publishAlarm(gateway, ward.device, { kind: 'outOfBed' });
    await publishAlarm(gateway, ward.device, { kind: 'noise' });
    const resolved = page.getByRole('article', { name: 'Noise, Room 12' });
    await resolved.getByRole('button', { name: 'Resolve' }).press('Enter');
    const isFocused = (element: Element) => element === document.activeElement;
    await page.clock.fastForward(1_000);
    await expect.poll(() => resolved.evaluate(isFocused)).toBe(true);
    await page.clock.fastForward(10_000);
    await resolved.waitFor({ state: 'detached' });
    await page.clock.fastForward(1_000);
    const next = page.getByRole('article', { name: 'Out of bed, Room 12' });
    await expect.poll(() => next.evaluate(isFocused)).toBe(true);
  });

  it('keeps the second of two taps off the alarm that moves up when the first one resolves', async () => {
    const { page, ward } = await openBoard(gateway, 'responder', undefined, {
      prepare: installClock,
    });
    await publishAlarm(gateway, ward.device, { kind: 'outOfBed' });
    await publishAlarm(gateway, ward.device, { kind: 'noise' });
    await alarmsOn(page).nth(1).waitFor();
    const first = page.getByRole('button', { name: 'Resolve' }).first();
    const tapped = first.evaluate(async (button) => {
      const { x, y, width, height } = button.getBoundingClientRect();
      await new Promise<void>((resolve) => {
        const observer = new MutationObserver(() => {
          if (document.querySelectorAll('.board-alarm').length === 1) resolve();
        });
        observer.observe(document.body, { childList: true, subtree: true });
      });
      return document.elementFromPoint(x + width / 2, y + height / 2)?.tagName;
    });
    await first.click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await page.clock.fastForward(10_000);
    expect(await tapped).not.toBe('BUTTON');
  });

  it('resolves all test alarms together, listed after all raised alarms', async () => {
    const { page, ward } = await openBoard(gateway, 'responder', undefined, {
      prepare: installClock,
    });
    await publishAlarm(gateway, ward.device, { kind: 'noise' });
    for (const kind of ['fall', 'helpCall']) await raiseTest(ward, kind);
    await page.getByRole('button', { name: 'Resolve all 2 tests' }).waitFor();
    const titles = await page.getByRole('article').getByRole('heading').allInnerTexts();
    expect(titles).toEqual(['Noise, Room 12', 'Help call, Room 12', 'Fall, Room 12']);
    await page.getByRole('button', { name: 'Resolve all 2 tests' }).click();
    await page.getByRole('button', { name: 'Undo' }).nth(1).waitFor();
    await page.clock.fastForward(10_000);
    await alarmsOn(page).nth(1).waitFor({ state: 'detached' });
    expect(await alarmsOn(page).count()).toBe(1);
  });

  it('keeps the focus on a button whose action the gateway refuses', async () => {
    const { page, ward } = await openBoard(gateway, 'responder');
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    await page.route('**/acknowledge', (route) => route.abort());
    const acknowledge = page.getByRole('button', { name: 'Acknowledge' });
    await acknowledge.press('Enter');
    await page.getByText('The gateway does not answer.').waitFor();
    expect(await acknowledge.evaluate((button) => button === document.activeElement)).toBe(true);
  });

  it('says so when an alarm has been resolved before it is acknowledged here', async () => {
    const { page, ward } = await openBoard(gateway, 'responder');
    const id = randomUUID();
    await publishAlarm(gateway, ward.device, { id, kind: 'fall' });
    await page.route('**/acknowledge', async (route) => {
      await changeState(ward, id, 'resolve');
      await route.continue();
    });
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText('Somebody has resolved this alarm already.').waitFor();
    await page.getByText('No open alarms').waitFor();
  });

  it('says so when somebody else’s acknowledgement came first, and the note was not kept', async () => {
    const { page, ward } = await openBoard(gateway, 'responder');
    const id = randomUUID();
    await publishAlarm(gateway, ward.device, { id, kind: 'fall' });
    await page.route('**/acknowledge', async (route) => {
      await changeState(ward, id, 'acknowledge', 'On the way');
      await route.continue();
    });
    await page.getByRole('button', { name: 'Add a note' }).click();
    await page.getByLabel('Note').fill('Lies beside the bed');
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText('your note was not saved').waitFor();
    await page.getByText('Note: On the way').waitFor();
  });

  it('has no buttons for a viewer', async () => {
    const { page, ward } = await openBoard(gateway, 'viewer');
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    const alarm = page.getByRole('article', { name: 'Fall, Room 12' });
    await alarm.waitFor();
    expect(await alarm.getByRole('button').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Link for a wall screen' }).count()).toBe(0);
  });

  it('requests the URL of a recording from the history when somebody wants to see it', async () => {
    const { page, ward, faults } = await openBoard(gateway, 'viewer');
    const video = `devices/${ward.device.id}/fall.mp4`;
    await publishAlarm(gateway, ward.device, { kind: 'fall', footage: { video } });
    await page.getByRole('button', { name: 'Show the recording' }).click();
    // The camera has not uploaded it.
    await page.getByText('The recording cannot be played.').waitFor();
    const address = await page
      .getByRole('link', { name: /Open the recording/ })
      .getAttribute('href');
    expect(address).toMatch(/fall\.mp4\?.*signature=/);
    await page.getByRole('button', { name: 'Hide the recording' }).click();
    expect(await page.getByRole('link', { name: /Open the recording/ }).count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('shows each alarm’s own recording when two devices used the same id', async () => {
    const { page, ward } = await openBoard(gateway, 'viewer');
    const other = await ward.api.createDevice(ward.locationId, 'Door sensor');
    const alarm = { id: randomUUID(), kind: 'fall', detectedAt: new Date().toISOString() };
    for (const device of [ward.device, other]) {
      const video = `devices/${device.id}/fall.mp4`;
      await publishAlarm(gateway, device, { ...alarm, footage: { video } });
    }
    for (const device of [ward.device, other]) {
      const row = alarmsOn(page).filter({ hasText: device.name });
      await row.getByRole('button', { name: 'Show the recording' }).click();
      const link = row.getByRole('link', { name: /Open the recording/ });
      expect(await link.getAttribute('href')).toContain(device.id);
    }
  });
});
