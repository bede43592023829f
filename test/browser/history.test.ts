/** The history: search, states, chart, CSV, pages of a long one, recordings, and the report of an alarm. */
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { S3Server } from '../harness/receivers.js';
import {
  alarm,
  boardReady,
  expect,
  type Home,
  raise,
  requireAccessible,
  startBrowser,
  type TestDevice,
  test,
} from './browser.js';

const FIVE = ['Wandering', 'Out of bed', 'Fall', 'Noise', 'Fall'];

/** The kinds in the list, the newest first. */
const kindsOn = (page: Page) =>
  expect.poll(() => page.locator('.history-table tbody th').allInnerTexts());
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const choice = (page: Page, name: string) => page.getByRole('combobox', { name, exact: true });
const chart = (page: Page, name: string) => page.getByRole('img', { name });

/** A home with five alarms of two devices in two rooms. */
async function filled(home: Home): Promise<readonly [TestDevice, TestDevice]> {
  const [first, second] = [await home.group('Station 1'), await home.group('Station 2')];
  const bed = await home.deviceIn(await home.room('Zimmer 1', first), 'Bett 1');
  const detector = await home.deviceIn(await home.room('Zimmer 2', second), 'Sturzmelder 2');
  await home.customData(bed, '{"phone":9007199254740993}');
  const at = (kind: string, detectedAt: string, more = {}) => ({ kind, detectedAt, ...more });
  await raise(
    home,
    bed,
    at('outOfBed', '2026-01-02T20:00:00Z', { confidence: 0.97 }),
    at('noise', '2026-01-02T19:00:00Z'),
    at('fall', '2026-01-01T12:00:00Z'),
  );
  await raise(
    home,
    detector,
    at('fall', '2026-01-02T19:30:00Z', { place: 'at "the" door,\r\ninside' }),
    at('wandering', '2026-01-03T07:00:00Z'),
  );
  return [bed, detector];
}

async function downloaded(page: Page, name = 'Download as CSV') {
  const waiting = page.waitForEvent('download');
  await button(page, name).click();
  const download = await waiting;
  return {
    name: download.suggestedFilename(),
    text: await readFile(await download.path(), 'utf8'),
  };
}

test('is filtered by home, room, device, kinds and time, and tells of newer alarms', async ({
  home,
  own,
  open,
}) => {
  const [bed] = await filled(home);
  const wood = await own.homeAt(home.gateway, 'Haus am Wald');
  await raise(wood, await wood.device('Tür'), { kind: 'inactivity' });
  const places = [home, wood].map(({ locationId }) => ({ location: locationId, role: 'viewer' }));
  const { token } = await home.token(places);
  const page = await open({ token, path: `/history?location=${home.locationId}` });
  await kindsOn(page).toEqual(FIVE);
  await choice(page, 'Home').selectOption('Haus am Wald');
  await kindsOn(page).toEqual(['Inactivity']);
  await choice(page, 'Home').selectOption(home.name);
  await choice(page, 'Room').selectOption('Zimmer 2');
  await kindsOn(page).toEqual(['Wandering', 'Fall']);
  await choice(page, 'Room').selectOption('All rooms');
  await choice(page, 'Group').selectOption('Station 2');
  await kindsOn(page).toEqual(['Wandering', 'Fall']);
  const rooms = choice(page, 'Room').locator('option');
  expect(await rooms.allTextContents()).toEqual(['All rooms', 'Zimmer 2']);
  await button(page, 'Chart').click();
  await chart(page, 'Stacked bars: 2 alarms').waitFor();
  await button(page, 'Chart').click();
  await choice(page, 'Group').selectOption('All groups');
  await choice(page, 'Device').selectOption('Bett 1, Zimmer 1');
  await kindsOn(page).toEqual(['Out of bed', 'Noise', 'Fall']);
  await page.getByLabel('Fall', { exact: true }).check();
  await page.getByLabel('Noise', { exact: true }).check();
  await kindsOn(page).toEqual(['Noise', 'Fall']);
  await page.getByLabel('From').fill('2026-01-02T19:00');
  await kindsOn(page).toEqual(['Noise']);
  await page.getByLabel('To (not included)').fill('2026-01-02T19:00');
  await page.getByText('No alarms in this time.').waitFor();
  await button(page, 'Any time').last().click();
  await kindsOn(page).toEqual(['Noise', 'Fall']);
  const newer = page.getByText('Newer alarms have come.');
  await raise(home, bed, { kind: 'noise' });
  await newer.waitFor();
  await button(page, 'Show the newest').click();
  await kindsOn(page).toEqual(['Noise', 'Noise', 'Fall']);
  expect(await newer.count()).toBe(0);
  await button(page, 'Remove the filters').click();
  await kindsOn(page).toEqual(['Noise', ...FIVE]);
  await page.goto(`${home.gateway.httpUrl}/#/history?location=*&from=2026-01-03T00:00:00Z`);
  const rows = page.locator('.history-table tbody tr');
  await rows.filter({ hasText: 'Haus am Wald' }).filter({ hasText: 'Inactivity' }).waitFor();
  await rows.filter({ hasText: home.name }).filter({ hasText: 'Wandering' }).waitFor();
  await button(page, 'Chart').click();
  await chart(page, 'Stacked bars: 3 alarms').waitFor();
  const ofMany = Array.from({ length: 13 }, (_none, at) => ({ id: `${at}`, name: `Haus ${at}` }));
  await page.route('**/care-homes', (route) => route.fulfill({ json: ofMany }));
  await page.reload();
  await page.getByText('Choose a home to see the chart: there are more than 12.').waitFor();
});

test('is the same from a link, in the time zone of its reader', async ({ home, open }) => {
  await filled(home);
  const path = `/history?location=${home.locationId}`;
  const page = await open({ path, timeZone: 'Europe/Berlin' });
  await kindsOn(page).toEqual(FIVE);
  await button(page, 'Last night').click();
  await page.getByText('No alarms in this time.').waitFor();
  const day = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin' }).format();
  const before = new Date(Date.parse(day) - 24 * 3_600_000).toISOString().slice(0, 10);
  const [from, to] = [page.getByLabel('From'), page.getByLabel('To (not included)')];
  expect(await from.inputValue()).toBe(`${before}T20:00`);
  expect(await to.inputValue()).toBe(`${day}T07:00`);
  await to.fill('');
  // After one digit of the year it is 2; that long ago Berlin was 53 minutes and 28 seconds ahead.
  await from.fill('2026-01-02T21:00');
  await kindsOn(page).toEqual(['Wandering', 'Out of bed']);
  await from.focus();
  for (const key of ['Tab', 'Tab', '2', '0', '2', '5']) await page.keyboard.press(key);
  expect(await from.inputValue()).toBe('2025-01-02T21:00');
  await kindsOn(page).toEqual(FIVE);
  await page.getByLabel('Fall', { exact: true }).check();
  await from.fill('2026-01-02T20:00');
  await to.fill('2026-01-03T08:00');
  await kindsOn(page).toEqual(['Fall']);
  const { hash } = new URL(page.url());
  expect(new URLSearchParams(hash.split('?')[1]).get('from')).toBe('2026-01-02T20:00:00.000+01:00');
  const same = await open({ path: hash.slice(1), timeZone: 'America/New_York' });
  await kindsOn(same).toEqual(['Fall']);
  expect(await same.getByLabel('From').inputValue()).toBe('2026-01-02T14:00');
  expect(await same.getByLabel('To (not included)').inputValue()).toBe('2026-01-03T02:00');
  expect(await same.getByLabel('Fall', { exact: true }).isChecked()).toBe(true);
});

test('shows on request what a device sent, and who gave an alarm which state', async ({
  home,
  open,
}) => {
  const [, detector] = await filled(home);
  const page = await open({ path: `/history?location=${home.locationId}&kinds=outOfBed` });
  await button(page, 'Details: Out of bed').click();
  const details = page.locator('.history-details');
  await details.getByText('Nobody: no nurse-call system').waitFor();
  expect(await details.innerText()).toContain('"confidence": 0.97');
  expect(await details.innerText()).toContain('"phone": 9007199254740993');
  expect(await page.locator('.history-late').innerText()).toContain('Received: ');
  const [newest, oldest] = await home.alarms(detector);
  await page.goto(
    `${home.gateway.httpUrl}/#/history?location=${home.locationId}&state=acknowledged`,
  );
  await page.getByText('No alarms in this time.').waitFor();
  await home.must('POST', `./alarms/${newest?.id}/acknowledge`, { json: {} });
  await home.must('POST', `./alarms/${oldest?.id}/resolve`, {
    json: { note: 'Helped back into bed' },
  });
  await page.getByLabel('Resolved', { exact: true }).check();
  await kindsOn(page).toEqual(['Wandering', 'Fall']);
  await page.getByLabel('Acknowledged', { exact: true }).uncheck();
  await kindsOn(page).toEqual(['Fall']);
  expect(new URL(page.url()).hash).toContain('state=resolved');
  await button(page, 'Details: Fall').click();
  await details.getByText('Resolved by ').waitFor();
  expect(await details.innerText()).toContain('Helped back into bed');
  await page.getByRole('link', { name: 'Alarm report' }).click();
  await page.getByRole('heading', { name: 'Alarm report' }).waitFor();
  await page.getByText(`Sturzmelder 2 (${detector.id})`).waitFor();
  await requireAccessible(page);
  await page.emulateMedia({ media: 'print' });
  expect(await button(page, 'Print').isVisible()).toBe(false);
  expect(await page.getByRole('navigation').isVisible()).toBe(false);
});

test('lets a responder change the state of an alarm, and leaves out tests', async ({
  home,
  open,
}) => {
  const device = await home.device();
  await raise(home, device, { kind: 'fall' });
  const page = await open({ role: 'responder', path: '/history?location=*', hasClock: true });
  // All homes are the only one that the token sees.
  expect(await choice(page, 'Home').inputValue()).toBe(home.locationId);
  const state = page.locator('.history-state');
  await button(page, 'Acknowledge').click();
  await state.getByText('Acknowledged').waitFor();
  await state.getByText('nurse call').waitFor();
  await button(page, 'Resolve').click();
  await button(page, 'Undo').waitFor();
  await page.clock.fastForward(10_000);
  await state.getByText('Resolved').waitFor();
  await page.getByText('Resolved: Fall, ').waitFor();
  expect(await button(page, 'Resolve').count()).toBe(0);
  await home.must('POST', `./devices/${device.id}/test-alarm`, { json: { kind: 'noise' } });
  await page.getByLabel('Without tests and drills').check();
  await kindsOn(page).toEqual(['Fall']);
  await page.getByLabel('Without tests and drills').uncheck();
  await kindsOn(page).toEqual(['Noise', 'Fall']);
});

test('says why there is no list, and continues when there is an answer', async ({
  home,
  own,
  open,
}) => {
  await filled(home);
  const secret = await own.homeAt(home.gateway, 'Geheim');
  const page = await open({ path: `/history?location=${secret.locationId}` });
  await page.getByRole('alert').filter({ hasText: 'may not do that' }).waitFor();
  await requireAccessible(page);
  await page.goto(`${home.gateway.httpUrl}/#/history?location=${home.locationId}`);
  await kindsOn(page).toEqual(FIVE);
  await page.context().setOffline(true);
  await page.getByLabel('Noise', { exact: true }).check();
  const failure = page.locator('.history-list .failure');
  await failure.getByText('The gateway does not answer.').waitFor();
  await page.context().setOffline(false);
  await failure.getByRole('button', { name: 'Try again' }).click();
  await kindsOn(page).toEqual(['Noise']);
});

test('counts alarms by the hours and days of the reader, as bars and as a table', async ({
  home,
  open,
}) => {
  const [bed] = await filled(home);
  const period = '&view=chart&from=2026-01-02T18:00:00Z&to=2026-01-03T08:00:00Z';
  const path = `/history?location=${home.locationId}${period}`;
  const prepare = (page: Page) =>
    page.addInitScript(() => {
      const rightNow = Date.now.bind(Date);
      Date.now = () => rightNow() + 10 * 24 * 60 * 60 * 1000;
    });
  const page = await open({ path, timeZone: 'Europe/Berlin', prepare });
  const table = async () => {
    const rows = await page.locator('.history-numbers tr').all();
    const cells = rows.map((row) => row.locator('th, td').allTextContents());
    return (await Promise.all(cells)).map((row) => row.map((text) => text.trim()));
  };
  await chart(page, 'Stacked bars: 4 alarms by hour').waitFor();
  expect(await page.locator('.history-bars title').first().textContent()).toBe(
    'Fri 2 Jan, 20:00\nFall: 1\nNoise: 1',
  );
  await button(page, 'The same as a table').click();
  expect(await table()).toEqual([
    ['Time', 'Fall 1', 'Out of bed 1', 'Wandering 1', 'Noise 1', 'Total 4'],
    ['Fri 2 Jan, 20:00', '1', '0', '0', '1', '2'],
    ['Fri 2 Jan, 21:00', '0', '1', '0', '0', '1'],
    ['Sat 3 Jan, 08:00', '0', '0', '1', '0', '1'],
  ]);
  // In sight at once, on a phone and on a desk.
  for (const [width, height] of [
    [390, 844],
    [1280, 800],
  ] as const) {
    await page.setViewportSize({ width, height });
    await page.reload();
    const { y = 0, height: drawn = 0 } = (await page.locator('.history-bars').boundingBox()) ?? {};
    expect(y + drawn).toBeLessThan(height);
    expect(drawn).toBeGreaterThan(0);
  }
  await choice(page, 'Count by').selectOption('by day');
  await chart(page, 'Stacked bars: 4 alarms by day').waitFor();
  await button(page, 'The same as a table').click();
  expect((await table()).slice(1)).toEqual([
    ['Fri, 2 Jan 2026', '1', '1', '0', '1', '3'],
    ['Sat, 3 Jan 2026', '0', '0', '1', '0', '1'],
  ]);
  await choice(page, 'Room').selectOption('Zimmer 2');
  await chart(page, 'Stacked bars: 2 alarms').waitFor();
  // By the gateway's clock, not by that of a tablet that is days ahead: from this hour back to the same of yesterday.
  await choice(page, 'Room').selectOption('All rooms');
  await raise(home, bed, { kind: 'fall' });
  await page.getByText('Connected', { exact: true }).waitFor();
  await button(page, 'Last 24 hours').click();
  await choice(page, 'Count by').selectOption('by hour');
  await chart(page, 'Stacked bars: 1 alarms by hour').waitFor();
  await expect.poll(() => page.locator('.history-bars > g[transform]').count()).toBe(25);
});

test('saves the gateway’s CSV for the spreadsheet of its reader, and nothing when it is cancelled', async ({
  home,
  open,
}) => {
  const [bed, detector] = await filled(home);
  await home.must('PATCH', home.path, { json: { name: 'Haus „Am/Wald“' } });
  const csv = async (query: string) => {
    const headers = { Accept: 'text/csv' };
    const form = 'footage=list&timeZone=Europe/Berlin';
    return (await home.must('GET', `./alarms?${form}&${query}`, { headers })).text;
  };
  const page = await open({
    path: `/history?location=${home.locationId}&device=${bed.id}&kinds=outOfBed&from=2026-01-02T20:00:00Z&to=2026-01-03T23:00:00Z`,
    timeZone: 'Europe/Berlin',
  });
  await kindsOn(page).toEqual(['Out of bed']);
  const expected = await csv(
    `device=${bed.id}&kinds=outOfBed&after=2026-01-02T19:59:59.999Z&before=2026-01-03T23:00:00Z`,
  );
  // A byte order mark says that it is UTF-8.
  expect(await downloaded(page)).toEqual({
    name: 'alarms-Haus-Am-Wald-2026-01-02-2026-01-03.csv',
    text: `\uFEFF${expected}`,
  });
  expect(expected).toContain('2026-01-02 21:00:00');
  await page.getByText(/^Downloaded, /).waitFor();
  await page.goto(
    `${home.gateway.httpUrl}/#/history?location=${home.locationId}&device=${detector.id}`,
  );
  await kindsOn(page).toEqual(['Wandering', 'Fall']);
  await choice(page, 'Language').selectOption('Deutsch');
  const { name, text } = await downloaded(page, 'Als CSV herunterladen');
  expect(name).toMatch(/^alarms-Haus-Am-Wald-\d{4}-\d\d-\d\d\.csv$/);
  const [head = '', ...rows] = text.split('\r\n');
  const [, ...same] = (await csv(`device=${detector.id}&separator=;`)).split('\r\n');
  expect(rows).toEqual(same);
  // Every column has a German name.
  expect(head).toMatch(/^\uFEFFKennung;Art;Erkannt;.*;Notiz$/);
  expect(head).not.toMatch(/[a-z][A-Z]|state|kind|note/);
  await choice(page, 'Sprache').selectOption('English');
  const saved: unknown[] = [];
  page.on('download', (download) => saved.push(download));
  await page.route('**/alarms?*', () => undefined);
  await button(page, 'Download as CSV').click();
  await button(page, 'Cancel').click();
  await button(page, 'Download as CSV').waitFor();
  expect(saved).toEqual([]);
});

test('shows a long history in pages, never more than 300 rows, and counts it in one request', async ({
  home,
  open,
}) => {
  const bed = await home.device();
  const startMs = Date.parse('2026-02-01T00:00:00Z');
  const alarms = Array.from({ length: 450 }, (_none, at) => ({
    kind: at === 0 ? 'fall' : 'noise',
    detectedAt: new Date(startMs + at * 1_000).toISOString(),
  }));
  await raise(home, bed, ...alarms);
  const page = await open({ path: `/history?location=${home.locationId}` });
  const rows = () => expect.poll(() => page.locator('.history-table tbody th').count());
  await rows().toBe(100);
  for (const count of [200, 300, 300, 300]) {
    await button(page, 'Older alarms').click();
    await rows().toBe(count);
    await page.locator('.history-list[aria-busy="false"]').waitFor();
  }
  await page.getByText('These are all.').waitFor();
  await kindsOn(page).toContain('Fall');
  await button(page, 'Show the newest').click();
  await rows().toBe(100);
  const counted: string[] = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    // The line of open alarms reads by state.
    if (/\/alarm(s|-counts)$/.test(pathname) && !searchParams.has('state')) counted.push(pathname);
  });
  await button(page, 'Chart').click();
  await chart(page, 'Stacked bars: 450 alarms by day').waitFor();
  expect(counted).toEqual([`${home.path}/alarm-counts`]);
});

/** Announces and uploads a recording as the device; resolves to its key. */
async function record(home: Home, device: TestDevice, contentType: string, body: Uint8Array) {
  const json = { type: contentType.split('/')[0], contentType };
  const announced = await home.must('POST', `/devices/${device.id}/footage`, { device, json });
  const uploaded = await fetch(announced.string('uploadUrl'), {
    method: 'PUT',
    headers: { 'Content-Type': contentType },
    body: new Uint8Array(body),
  });
  expect(uploaded.status).toBe(200);
  return announced.string('key');
}

/** A fall with a sound of 20 s and a film of 2 s. */
async function recorded(home: Home): Promise<TestDevice> {
  const device = await home.device();
  const audio = await record(home, device, 'audio/wav', wavFile(20));
  const video = await record(home, device, 'video/webm', await webmFile(2));
  await raise(home, device, { kind: 'fall', footage: { audio, video } });
  return device;
}

const isPlaying = (page: Page, player: 'audio' | 'video') =>
  expect
    .poll(() => page.evaluate(`document.querySelector('${player}')?.currentTime ?? 0`))
    .toBeGreaterThan(0);

/** Sets the time of the player; resolves to its position once it gets there. */
function seek(page: Page, player: 'audio' | 'video', seconds: number): Promise<unknown> {
  return page.evaluate(`new Promise((resolve, reject) => {
    const player = document.querySelector('${player}');
    player.pause();
    player.addEventListener('seeked', () => resolve(player.currentTime), { once: true });
    player.addEventListener('error', () => reject(new Error(player.error.message)), { once: true });
    player.currentTime = ${seconds};
  })`);
}

const policy = async ({ gateway: { httpUrl } }: Home) =>
  (await fetch(httpUrl)).headers.get('content-security-policy') ?? '';

test('plays a recording from any position, on the board too, and again when its URL has ended', async ({
  own,
  open,
}) => {
  const home = await own.home();
  const device = await recorded(home);
  expect(await policy(home)).not.toContain('media-src');
  const url = home.gateway.httpUrl;
  const { token } = home.viewer;
  const page = await open({ url, token });
  /** Requests that sign URLs, which the audit trail records. */
  const signed: string[] = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (/\/alarms\/[^/]+$/.test(pathname) && !searchParams.has('footage')) signed.push(pathname);
  });
  await boardReady(page);
  await alarm(page, 'Fall').getByRole('button', { name: 'Show the recording' }).click();
  for (const player of ['video', 'audio'] as const) {
    await page.locator(player).waitFor();
    await page.evaluate(`document.querySelector('${player}').play()`);
    await isPlaying(page, player);
  }
  expect(signed).toHaveLength(1);
  await page.goto(`${url}/#/history`);
  await button(page, 'Play audio').waitFor();
  expect(signed).toHaveLength(1);
  await button(page, 'Play audio').click();
  await isPlaying(page, 'audio');
  expect(await seek(page, 'audio', 15)).toBe(15);
  await button(page, 'Play video').click();
  await isPlaying(page, 'video');
  expect(await page.locator('audio').count()).toBe(0);
  expect(await seek(page, 'video', 1)).toBe(1);
  await requireAccessible(page);
  // With another key the URLs given out so far are void.
  await home.gateway.stop();
  await rm(join(home.gateway.dataDir, 'footage.key'));
  await page.reload().catch(() => undefined);
  await home.gateway.start();
  const missing = `devices/${device.id}/${randomUUID()}.webm`;
  await raise(home, device, { kind: 'helpCall', footage: { video: missing } });
  await page.goto(`${url}/#/history?token=${token}`);
  await button(page, /^Play audio/).click();
  await isPlaying(page, 'audio');
  await button(page, 'Play video: Help call').click();
  await page.getByText('The recording cannot be played.').waitFor();
});

test('plays a recording from an S3 server, the only other host that a page may ask', async ({
  own,
  open,
}) => {
  const s3 = new S3Server();
  await s3.start();
  own.onEnd(() => s3.stop());
  const { endpoint, region, bucket, accessKeyId, secretAccessKey } = s3.options;
  const home = await own.home({
    env: {
      GATEWAY_FOOTAGE_S3_ENDPOINT: endpoint,
      GATEWAY_FOOTAGE_S3_REGION: region,
      GATEWAY_FOOTAGE_S3_BUCKET: bucket,
      GATEWAY_FOOTAGE_S3_ACCESS_KEY_ID: accessKeyId,
      GATEWAY_FOOTAGE_S3_SECRET_ACCESS_KEY: secretAccessKey,
    },
  });
  await recorded(home);
  const { origin } = new URL(endpoint);
  expect(await policy(home)).toContain(`media-src 'self' ${origin};`);
  const causes = new RegExp(`^request to ${origin}$`);
  const { token } = home.viewer;
  const page = await open({ url: home.gateway.httpUrl, token, path: '/history', causes });
  await button(page, 'Play audio').click();
  await isPlaying(page, 'audio');
});

/** A tone as a WAV file: 8,000 samples a second of one byte each. */
function wavFile(seconds: number): Uint8Array {
  const rate = 8_000;
  const samples = Array.from(
    { length: seconds * rate },
    (_, at) => 128 + Math.round(60 * Math.sin(at / 3)),
  );
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, Buffer.from(samples)]);
}

/** A film of a moving square, from the browser's own recorder. */
async function webmFile(seconds: number): Promise<Uint8Array> {
  const page = await (await startBrowser()).newPage();
  const bytes: unknown = await page.evaluate(`(async () => {
    const canvas = document.createElement('canvas');
    const context = canvas.getContext('2d');
    const recorder = new MediaRecorder(canvas.captureStream(10), { mimeType: 'video/webm;codecs=vp8' });
    const pieces = [];
    recorder.ondataavailable = ({ data }) => pieces.push(data);
    const stopped = new Promise((resolve) => { recorder.onstop = resolve; });
    recorder.start(200);
    let frame = 0;
    const drawing = setInterval(() => {
      frame += 1;
      context.clearRect(0, 0, 300, 150);
      context.fillRect(frame * 4 % 140, 50, 20, 20);
      if (frame === ${seconds} * 10) recorder.stop();
    }, 100);
    await stopped;
    clearInterval(drawing);
    return [...new Uint8Array(await new Blob(pieces).arrayBuffer())];
  })()`);
  await page.close();
  return new Uint8Array(z.array(z.number()).parse(bytes));
}
