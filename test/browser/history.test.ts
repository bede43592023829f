import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { accessibilityFaults } from './accessibility.js';
import { type ConsoleOptions, installClock, openConsole } from './browser.js';
import { HistoryHome } from './history-home.js';

const ROWS = '.history-table tbody th';

let gateway: GatewayHere;
let home: HistoryHome;

beforeAll(async () => {
  gateway = await GatewayHere.start();
  home = await HistoryHome.create(gateway);
  const [bed, detector] = home.devices;
  await home.api.setCustomData(bed, '{"phone":9007199254740993}');
  await home.publish(bed, [
    { kind: 'outOfBed', detectedAt: '2026-01-02T20:00:00Z', confidence: 0.97 },
    { kind: 'noise', detectedAt: '2026-01-02T19:00:00Z' },
    { kind: 'fall', detectedAt: '2026-01-01T12:00:00Z' },
  ]);
  await home.publish(detector, [
    { kind: 'fall', detectedAt: '2026-01-02T19:30:00Z' },
    { kind: 'wandering', detectedAt: '2026-01-03T07:00:00Z' },
  ]);
});

afterAll(() => gateway.remove());

function open(query: string, options: ConsoleOptions = {}) {
  const path = `/history?location=${home.locationId}${query}`;
  return openConsole(gateway, { token: ADMIN_TOKEN, path, ...options });
}

/** The kinds in the list, the newest first. */
function kindsOn(page: Page) {
  return expect.poll(() => page.locator(ROWS).allInnerTexts());
}

describe('the list of the history', () => {
  it('shows the alarms of all homes, each with its own', async () => {
    const other = await HistoryHome.create(gateway, 'Haus am Bach');
    const detectedAt = '2026-01-03T08:00:00Z';
    await other.publish(other.devices[0], [{ kind: 'helpCall', detectedAt }]);
    const path = '/history?location=*&from=2026-01-03T00:00:00Z&to=2026-01-04T00:00:00Z';
    const { page, faults } = await openConsole(gateway, { token: ADMIN_TOKEN, path });
    await kindsOn(page).toEqual(['Help call', 'Wandering']);
    const rows = page.locator('.history-table tbody tr');
    await rows
      .filter({ hasText: 'Haus am Bach' })
      .getByText('Help call', { exact: true })
      .waitFor();
    await rows.filter({ hasText: 'Haus am See' }).getByText('Wandering', { exact: true }).waitFor();
    await rows
      .first()
      .getByRole('button', { name: /^Details/ })
      .click();
    await page.getByText('Delivered to').or(page.getByText('Custom data')).first().waitFor();
    await page.getByRole('button', { name: 'Chart' }).click();
    await page.getByText('Choose a home to see the chart.').waitFor();
    expect(faults).toEqual([]);
  });

  it('is filtered by home, room, device, kinds and time, one after the other', async () => {
    const other = await HistoryHome.create(gateway, 'Haus am Wald');
    await other.publish(other.devices[0], [{ kind: 'inactivity' }]);
    const { page, faults } = await open('');
    await kindsOn(page).toEqual(['Wandering', 'Out of bed', 'Fall', 'Noise', 'Fall']);
    await page.getByRole('combobox', { name: 'Home', exact: true }).selectOption('Haus am Wald');
    await kindsOn(page).toEqual(['Inactivity']);
    await page.getByRole('combobox', { name: 'Home', exact: true }).selectOption('Haus am See');
    await page.getByRole('combobox', { name: 'Room', exact: true }).selectOption('Zimmer 2');
    await kindsOn(page).toEqual(['Wandering', 'Fall']);
    await page.getByRole('combobox', { name: 'Room', exact: true }).selectOption('All rooms');
    await page
      .getByRole('combobox', { name: 'Device', exact: true })
      .selectOption('Bett 1, Zimmer 1');
    await kindsOn(page).toEqual(['Out of bed', 'Noise', 'Fall']);
    await page.getByLabel('Fall', { exact: true }).check();
    await page.getByLabel('Noise', { exact: true }).check();
    await kindsOn(page).toEqual(['Noise', 'Fall']);
    await page.getByLabel('From').fill('2026-01-02T19:00');
    await kindsOn(page).toEqual(['Noise']);
    await page.getByLabel('To (not included)').fill('2026-01-02T19:00');
    await page.getByText('No alarms in this time.').waitFor();
    await page.getByRole('button', { name: 'Any time' }).last().click();
    await kindsOn(page).toEqual(['Noise', 'Fall']);
    await page.getByRole('button', { name: 'Remove the filters' }).click();
    await kindsOn(page).toEqual(['Wandering', 'Out of bed', 'Fall', 'Noise', 'Fall']);
    expect(faults).toEqual([]);
  });

  it('acknowledges and resolves open alarms there, for a responder', async () => {
    const ward = await HistoryHome.create(gateway, 'Haus am Meer');
    await ward.publish(ward.devices[0], [{ kind: 'fall' }]);
    const path = `/history?location=${ward.locationId}`;
    const tokenOf = async (role: string) =>
      (await ward.api.createToken([{ location: ward.locationId, role }], 'Nurses')).token;
    const { page: watching } = await openConsole(gateway, { token: await tokenOf('viewer'), path });
    await kindsOn(watching).toEqual(['Fall']);
    expect(await watching.getByRole('button', { name: 'Resolve' }).count()).toBe(0);
    const token = await tokenOf('responder');
    const { page } = await openConsole(gateway, { token, path, prepare: installClock });
    await page.getByRole('button', { name: 'Acknowledge', exact: true }).click();
    await page.locator('.history-state').getByText('Acknowledged').waitFor();
    await page.locator('.history-state').getByText('Nurses').waitFor();
    await page.getByRole('button', { name: 'Resolve' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await page.clock.fastForward(10_000);
    await page.locator('.history-state').getByText('Resolved').waitFor();
    expect(await page.getByRole('button', { name: 'Resolve' }).count()).toBe(0);
    await watching.locator('.history-state').getByText('Resolved').waitFor();
  });

  it('tells of newer alarms of the search, and shows them when asked', async () => {
    const ward = await HistoryHome.create(gateway, 'Haus am Berg');
    await ward.publish(ward.devices[0], [{ kind: 'fall', detectedAt: '2026-01-01T12:00:00Z' }]);
    const { page } = await openConsole(gateway, {
      token: ADMIN_TOKEN,
      path: `/history?location=${ward.locationId}&kinds=fall,noise`,
    });
    await kindsOn(page).toEqual(['Fall']);
    const newer = page.getByText('Newer alarms have come.');
    await ward.publish(ward.devices[0], [{ kind: 'noise' }]);
    await newer.waitFor();
    await page.getByRole('button', { name: 'Show the newest' }).click();
    await kindsOn(page).toEqual(['Noise', 'Fall']);
    expect(await newer.count()).toBe(0);
  });

  it('shows the same from a link, even to a reader in another time zone', async () => {
    const { page } = await open('', { timeZone: 'Europe/Berlin' });
    await page.getByLabel('Fall', { exact: true }).check();
    await page.getByLabel('From').fill('2026-01-02T20:00');
    await page.getByLabel('To (not included)').fill('2026-01-03T08:00');
    await kindsOn(page).toEqual(['Fall']);
    const { hash } = new URL(page.url());
    expect(new URLSearchParams(hash.split('?')[1]).get('from')).toBe(
      '2026-01-02T20:00:00.000+01:00',
    );

    const elsewhere = { token: ADMIN_TOKEN, path: hash.slice(1), timeZone: 'America/New_York' };
    const { page: same } = await openConsole(gateway, elsewhere);
    await kindsOn(same).toEqual(['Fall']);
    expect(await same.getByLabel('From').inputValue()).toBe('2026-01-02T14:00');
    expect(await same.getByLabel('To (not included)').inputValue()).toBe('2026-01-03T02:00');
    expect(await same.getByLabel('Fall', { exact: true }).isChecked()).toBe(true);
  });

  it('accepts a year typed over another, digit by digit', async () => {
    // After one digit the year is 2; that long ago Berlin was 53 minutes and 28 seconds ahead.
    const { page } = await open('', { timeZone: 'Europe/Berlin' });
    const from = page.getByLabel('From');
    await from.fill('2026-01-02T21:00');
    await kindsOn(page).toEqual(['Wandering', 'Out of bed']);
    await from.focus();
    for (const key of ['Tab', 'Tab', '2', '0', '2', '5']) await page.keyboard.press(key);
    expect(await from.inputValue()).toBe('2025-01-02T21:00');
    await kindsOn(page).toEqual(['Wandering', 'Out of bed', 'Fall', 'Noise', 'Fall']);
  });

  it('covers yesterday 20:00 to today 07:00 for last night', async () => {
    const { page } = await open('', { timeZone: 'Europe/Berlin' });
    await page.getByRole('button', { name: 'Last night' }).click();
    await page.getByText('No alarms in this time.').waitFor();
    const [from, to] = [
      await page.getByLabel('From').inputValue(),
      await page.getByLabel('To (not included)').inputValue(),
    ];
    const today = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin' }).format();
    const yesterday = new Date(Date.parse(today) - 24 * 3_600_000).toISOString().slice(0, 10);
    expect([from, to]).toEqual([`${yesterday}T20:00`, `${today}T07:00`]);
  });

  it('shows on demand what the device sent, its custom data, and when it was received', async () => {
    const { page } = await open('&kinds=outOfBed');
    await page.getByRole('button', { name: 'Details: Out of bed' }).click();
    const details = page.locator('.history-details');
    await details.waitFor();
    const text = await details.innerText();
    expect(text).toContain('"confidence": 0.97');
    expect(text).toContain('"phone": 9007199254740993');
    await details.getByText('Nobody with a queue').waitFor();
    expect(await page.locator('.history-late').innerText()).toContain('Received: ');
  });

  it('is filtered by state, and shows who set it, when, and with which note', async () => {
    const [, detector] = home.devices;
    const [newest, oldest] = (await home.api.alarms(detector)).events;
    const change = (id: string | undefined, action: string, body: object) =>
      home.api.json('POST', `/care-homes/${home.locationId}/alarms/${id}/${action}`, body);
    const { page } = await open('&state=acknowledged');
    await page.getByText('No alarms in this time.').waitFor();
    await change(newest?.id, 'acknowledge', {});
    await change(oldest?.id, 'resolve', { note: 'Helped back into bed' });
    await page.getByLabel('Resolved', { exact: true }).check();
    await kindsOn(page).toEqual(['Wandering', 'Fall']);
    await page.getByLabel('Acknowledged', { exact: true }).uncheck();
    await kindsOn(page).toEqual(['Fall']);
    expect(new URL(page.url()).hash).toContain('state=resolved');
    await page.getByRole('button', { name: 'Details: Fall' }).click();
    const text = await page.locator('.history-details').innerText();
    expect(text).toContain('Resolved by ');
    expect(text).toContain('Helped back into bed');
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('says that this token may not see that home', async () => {
    const { id } = await home.api.createLocation('Geheim');
    const { token } = await home.api.viewer(home.locationId);
    const path = `/history?location=${id}`;
    const { page } = await openConsole(gateway, { token, path });
    await page.getByRole('alert').filter({ hasText: 'may not do that' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('says that the gateway does not answer, and continues when it does again', async () => {
    const { page } = await open('');
    await kindsOn(page).toHaveLength(5);
    await page.context().setOffline(true);
    await page.getByLabel('Noise', { exact: true }).check();
    const failure = page.locator('.history-list .failure');
    await failure.waitFor();
    expect(await failure.innerText()).toContain('The gateway does not answer.');
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.context().setOffline(false);
    await failure.getByRole('button', { name: 'Try again' }).click();
    await kindsOn(page).toEqual(['Noise']);
  });
});

describe('a long history', () => {
  it('is shown in pages, of which a browser never holds more than 300 rows', async () => {
    const long = await HistoryHome.create(gateway, 'Haus am Meer');
    const [bed, detector] = long.devices;
    const startMs = Date.parse('2026-02-01T00:00:00Z');
    const alarms = Array.from({ length: 450 }, (_none, at) => ({
      kind: 'noise',
      detectedAt: new Date(startMs + at * 1_000).toISOString(),
    }));
    await long.publish(bed, alarms);
    await long.publish(detector, [{ kind: 'fall', detectedAt: '2026-01-31T00:00:00Z' }]);
    const path = `/history?location=${long.locationId}`;
    const { page, faults } = await openConsole(gateway, { token: ADMIN_TOKEN, path });
    const rows = () => expect.poll(() => page.locator(ROWS).count());
    await rows().toBe(100);
    for (const count of [200, 300, 300, 300]) {
      await page.getByRole('button', { name: 'Older alarms' }).click();
      await rows().toBe(count);
      await page.locator('.history-list[aria-busy="false"]').waitFor();
    }
    await page.getByText('These are all.').waitFor();
    await kindsOn(page).toContain('Fall');
    await page.getByRole('button', { name: 'Show the newest' }).click();
    await rows().toBe(100);

    await page.getByRole('combobox', { name: 'Room', exact: true }).selectOption('Zimmer 2');
    await kindsOn(page).toEqual(['Fall']);
    await page.getByText('These are all.').waitFor();
    expect(faults).toEqual([]);
  });
});

describe.each([
  ['en-GB', 'light', 'Details', 'Help call', 'No alarms in this time.'],
  ['de-DE', 'dark', 'Einzelheiten', 'Hilferuf', 'Keine Alarme in diesem Zeitraum.'],
] as const)('on a phone in %s and %s colours', (language, colorScheme, details, help, empty) => {
  it('shows cards that fit its width, or that there is nothing, without an accessibility fault', async () => {
    const { page, faults } = await open('', { language, colorScheme, widthPx: 360 });
    const cards = page.locator('.history-cards > li');
    await expect.poll(() => cards.count()).toBe(5);
    await page.getByRole('button', { name: details }).first().click();
    await page.locator('.history-filters summary').click();
    expect(await accessibilityFaults(page)).toEqual([]);
    const overflowPx: unknown = await page.evaluate('document.body.scrollWidth - innerWidth');
    expect(overflowPx).toBe(0);
    await page.getByLabel(help, { exact: true }).check();
    await page.getByText(empty).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(faults).toEqual([]);
  });
});
