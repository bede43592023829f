import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { accessibilityFaults } from './accessibility.js';
import { type ConsoleOptions, openConsole, setClockAhead } from './browser.js';
import { HistoryHome } from './history-home.js';

const COUNT = 400;
const TWO_DAYS = '&view=chart&from=2026-01-02T20:00:00Z&to=2026-01-03T08:00:00Z';

let gateway: GatewayHere;
/** A home with alarms on two days, as Berlin counts them. */
let home: HistoryHome;
/** A home with enough alarms for several answers of the gateway. */
let large: HistoryHome;

beforeAll(async () => {
  gateway = await GatewayHere.start();
  home = await HistoryHome.create(gateway);
  const [bed, detector] = home.devices;
  await home.publish(bed, [
    { kind: 'outOfBed', detectedAt: '2026-01-02T22:10:00Z' },
    { kind: 'outOfBed', detectedAt: '2026-01-02T22:50:00Z' },
    { kind: 'outOfBed', detectedAt: '2026-01-02T23:00:00Z' },
  ]);
  await home.publish(detector, [
    { kind: 'fall', detectedAt: '2026-01-02T22:20:00Z', place: 'at "the" door,\r\ninside' },
    { kind: 'fall', detectedAt: '2026-01-03T05:00:00Z' },
  ]);
  large = await HistoryHome.create(gateway, 'Haus am Meer');
  const startMs = Date.parse('2026-02-01T00:00:00Z');
  const alarms = Array.from({ length: COUNT }, (_none, at) => ({
    kind: 'noise',
    text: 'x'.repeat(500),
    detectedAt: new Date(startMs + at * 60_000).toISOString(),
  }));
  await large.publish(large.devices[0], alarms);
});

afterAll(() => gateway.remove());

function open({ locationId }: HistoryHome, query: string, options: ConsoleOptions = {}) {
  const path = `/history?location=${locationId}${query}`;
  const common = { token: ADMIN_TOKEN, timeZone: 'Europe/Berlin' };
  return openConsole(gateway, { ...common, path, ...options });
}

/** Slows down every answer, like a bad connection. */
async function slowDown(page: Page, bytesPerSecond: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  onTestFinished(() => session.detach());
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: bytesPerSecond,
    uploadThroughput: bytesPerSecond,
  });
}

async function tableOf(page: Page): Promise<string[][]> {
  const rows = await page.locator('.history-numbers tr').all();
  return Promise.all(rows.map((row) => row.locator('th, td').allTextContents()));
}

it('uses the gateway’s clock, not that of a tablet that is days ahead', async () => {
  const today = await HistoryHome.create(gateway, 'Haus am Tag');
  await today.publish(today.devices[0], [{ kind: 'fall' }]);
  const { page } = await open(today, '', { prepare: setClockAhead });
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Last 24 hours' }).click();
  await page.locator('.history-table tbody tr').waitFor();
  await page.getByRole('button', { name: 'Chart' }).click();
  // This hour, and back to the same hour of yesterday.
  await expect.poll(() => page.locator('.history-bars > g[transform]').count()).toBe(25);
  await page.getByRole('button', { name: 'Last night' }).click();
  const now = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin' }).format();
  expect(await page.getByLabel('To (not included)').inputValue()).toBe(`${now}T07:00`);
});

describe('the chart', () => {
  it('shows what was published, by the reader’s hours and days, as bars and as a table', async () => {
    const { page, faults } = await open(home, TWO_DAYS);
    const chart = page.getByRole('img', { name: 'Stacked bars: 5 alarms by Hour' });
    await chart.waitFor();
    expect(await chart.getAttribute('aria-label')).toContain('the most (3) at Fri 2 Jan, 23:00');
    expect(await tableOf(page)).toEqual([
      ['Time', 'Fall', 'Out of bed', 'Total'],
      ['Fri 2 Jan, 23:00', '1', '2', '3'],
      ['Sat 3 Jan, 00:00', '0', '1', '1'],
      ['Sat 3 Jan, 06:00', '1', '0', '1'],
      ['Total', '2', '3', '5'],
    ]);
    expect(await page.locator('.history-bar').count()).toBe(4);
    const names = await page.locator('.history-bars title').allTextContents();
    expect(names[0]).toBe('Fri 2 Jan, 23:00\nFall: 1\nOut of bed: 2');

    await page.getByRole('button', { name: 'Day', exact: true }).click();
    await page.getByRole('img', { name: 'Stacked bars: 5 alarms by Day' }).waitFor();
    expect(await tableOf(page)).toEqual([
      ['Time', 'Fall', 'Out of bed', 'Total'],
      ['Fri, 2 Jan 2026', '1', '2', '3'],
      ['Sat, 3 Jan 2026', '1', '1', '2'],
      ['Total', '2', '3', '5'],
    ]);
    expect(faults).toEqual([]);
  });

  it('respects the filters', async () => {
    const [, roomId] = home.roomIds;
    const { page } = await open(home, `&view=chart&room=${roomId}&to=2026-01-03T00:00:00Z`);
    await page.getByRole('img', { name: 'Stacked bars: 1 alarms' }).waitFor();
  });

  it('says that there is nothing in this period', async () => {
    const { page } = await open(home, '&view=chart&kinds=noise');
    await page.getByText('No alarms in this time.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('takes one request for a year', async () => {
    const { page } = await open(large, '');
    await page.getByText(/Alarms shown: 100/).waitFor();
    const requests: URL[] = [];
    page.on('request', (request) => requests.push(new URL(request.url())));
    await page.getByRole('button', { name: 'Chart' }).click();
    await page.getByRole('img', { name: `Stacked bars: ${COUNT} alarms by Day` }).waitFor();
    // The line of open alarms reads by state.
    const counts = requests.filter(
      ({ pathname, searchParams }) =>
        /\/alarm(s|-counts)$/.test(pathname) && !searchParams.has('state'),
    );
    const paths = counts.map(({ pathname }) => pathname);
    expect(paths).toEqual([`/care-homes/${large.locationId}/alarm-counts`]);
  });

  it.each([
    ['en-GB', 1280],
    ['de-DE', 360],
  ] as const)(
    'has no accessibility fault in %s, in light and dark colours, %i px wide',
    async (language, widthPx) => {
      const { page } = await open(home, '&view=chart', { language, widthPx });
      await page.getByRole('img').first().waitFor();
      await page.locator('.history-chart summary').click();
      expect(await accessibilityFaults(page)).toEqual([]);
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await accessibilityFaults(page)).toEqual([]);
      const overflowPx: unknown = await page.evaluate('document.body.scrollWidth - innerWidth');
      expect(overflowPx).toBe(0);
    },
  );
});

describe('the CSV', () => {
  async function downloaded(page: Page, name = 'Download as CSV'): Promise<string> {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name }).click();
    return readFile(await (await download).path(), 'utf8');
  }

  async function fromApi(query: string): Promise<string> {
    const path = `/care-homes/${home.locationId}/alarms?${query}`;
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, Accept: 'text/csv' };
    return (await fetch(gateway.httpUrl + path, { headers })).text();
  }

  it('is that of the gateway with the same filters, marked as UTF-8', async () => {
    const [bed] = home.devices;
    const query = `&device=${bed.id}&kinds=outOfBed&from=2026-01-02T22:50:00Z`;
    const { page, faults } = await open(home, query);
    const expected = await fromApi(
      `device=${bed.id}&kinds=outOfBed&after=2026-01-02T22:49:59.999Z`,
    );
    expect(expected.split('\r\n')).toHaveLength(4);
    expect(await downloaded(page)).toBe(`\uFEFF${expected}`);
    await page.getByText(/^Downloaded, /).waitFor();
    expect(faults).toEqual([]);
  });

  it('contains the alarms of one room only, as the gateway wrote them; in German with semicolons', async () => {
    const [, roomId] = home.roomIds;
    const [, detector] = home.devices;
    const { page } = await open(home, `&room=${roomId}`);
    const expected = await fromApi(`device=${detector.id}`);
    expect(expected).toContain('""at \\""the\\""');
    expect(await downloaded(page)).toBe(`\uFEFF${expected}`);
    await page.getByRole('combobox', { name: 'Language' }).selectOption('Deutsch');
    const german = await downloaded(page, 'Als CSV herunterladen');
    expect(german).toContain('id;kind;detectedAt;');
  });

  it('can be cancelled, and then saves nothing', async () => {
    const { page } = await open(large, '');
    await page.getByText(/Alarms shown: 100/).waitFor();
    await slowDown(page, 20_000);
    const downloads: unknown[] = [];
    page.on('download', (download) => downloads.push(download));
    await page.getByRole('button', { name: 'Download as CSV' }).click();
    await page.getByText(/^[\d.]+ kB read/).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Download as CSV' }).waitFor();
    expect(downloads).toEqual([]);
  });
});
