// npm run screenshots: takes the pictures of the console in docs/images/, with the demo's home on the real gateway.
// With --all DIRECTORY it takes every page at three widths in both colour schemes, into that directory.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { spawnGateway } from './demo/gateway.mjs';
import { newAlarm, openHome, requester } from './demo/home.mjs';

const PROGRAM = '/usr/bin/chromium-headless-shell';
const DOCS = join(dirname(dirname(fileURLToPath(import.meta.url))), 'docs/images');
const PAGES = [
  { name: 'board', path: '/' },
  { name: 'history', path: '/history?view=chart' },
  { name: 'home', path: '/home/:home' },
  { name: 'gateway', path: '/gateway' },
];
const IN_DOCS = [{ widthPx: 1280, heightPx: 880, colours: 'light' }];
const ALL = [360, 1280, 2560].flatMap((widthPx) =>
  ['light', 'dark'].map((colours) => ({ widthPx, heightPx: widthPx < 600 ? 740 : 900, colours })),
);
const HOUR_MS = 3_600_000;
/** The number of alarms in each hour of the day: a home has busy nights. */
const ALARMS_BY_HOUR = [3, 2, 2, 4, 3, 5, 6, 4, 2, 2, 1, 2, 3, 2, 1, 2, 2, 3, 4, 3, 4, 5, 4, 3];
const PASSED_DAYS = 2;
/** The open alarms in the picture: minutes ago, the sensor, the kind, and whether someone has acknowledged it. */
const OPEN = [
  [9, 'Seat pad 104', 'outOfSeat', true],
  [6, 'Corridor 1F', 'wandering', true],
  [3, 'Bed mat 101 A', 'outOfBed', false],
  [1, 'Room sensor 105', 'helpCall', false],
  [0, 'Fall sensor 102', 'fall', false],
];

const { values } = parseArgs({
  options: { all: { type: 'string' }, language: { type: 'string' } },
});
const directory = mkdtempSync(join(tmpdir(), 'care-home-screenshots-'));
const gateway = spawnGateway(directory);
try {
  const ready = await gateway.ready();
  const home = await openHome(ready);
  const request = requester(ready.httpUrl, ready.adminToken);
  const grants = [{ location: home.id, role: 'responder' }];
  const nurse = await request('POST', '/access-tokens', { name: 'Station 1', grants });
  await live(home, requester(ready.httpUrl, nurse.token));
  await takePictures(home);
  await Promise.all(home.sensors.map(({ client }) => client.endAsync(true)));
} finally {
  await gateway.stop();
  rmSync(directory, { recursive: true });
}

/** Plays two days of the home: the resolved alarms, and those that are open now. */
async function live(home, asNurse) {
  const at = `/care-homes/${home.id}/alarms`;
  const nowMs = Date.now();
  for (let hour = 24 * PASSED_DAYS; hour > 0; hour--) {
    const beganMs = nowMs - hour * HOUR_MS;
    const count = ALARMS_BY_HOUR[new Date(beganMs).getHours()];
    for (let number = 0; number < count; number++) {
      const sensor = home.sensors[(hour * 7 + number * 3) % home.sensors.length];
      const kind = sensor.kinds[Math.floor((hour + number) / 2) % sensor.kinds.length];
      const id = await publish(sensor, kind, beganMs + (number / count) * HOUR_MS);
      await asNurse('POST', `${at}/${id}/resolve`, {});
    }
  }
  for (const [minutes, name, kind, isSeen] of OPEN) {
    const sensor = home.sensors.find((one) => one.name === name);
    const id = await publish(sensor, kind, Date.now() - minutes * 60_000);
    if (isSeen) await asNurse('POST', `${at}/${id}/acknowledge`, { note: 'On my way' });
  }
  await home.sensors.find(({ name }) => name === 'Bed mat 101 B').client.endAsync(true);
}

/** Publishes an alarm detected at this time. */
async function publish({ topic, client }, kind, detectedAtMs) {
  const alarm = { ...newAlarm(kind), detectedAt: new Date(detectedAtMs).toISOString() };
  await client.publishAsync(`${topic}/alarms`, JSON.stringify(alarm), { qos: 1 });
  return alarm.id;
}

async function takePictures({ boardUrl, id }) {
  const to = values.all ?? DOCS;
  mkdirSync(to, { recursive: true });
  const browser = await chromium.launch({ executablePath: PROGRAM, args: ['--no-sandbox'] });
  for (const { widthPx, heightPx, colours } of values.all === undefined ? IN_DOCS : ALL) {
    const page = await browser.newPage({
      locale: values.language ?? 'en-GB',
      colorScheme: colours,
      viewport: { width: widthPx, height: heightPx },
    });
    await page.goto(boardUrl);
    await page.locator('.connection.good').waitFor();
    for (const { name, path } of PAGES) {
      await page.evaluate(
        (place) => {
          location.hash = place;
        },
        path.replace(':home', id),
      );
      await page.locator('main h1').waitFor();
      // A fixed time for the page's requests: the network is never idle while the stream of events is open.
      await page.waitForTimeout(1_500);
      // The filters of the history would leave no room for its chart.
      await page.evaluate(() =>
        document.querySelector('main details[open]')?.removeAttribute('open'),
      );
      const suffix = values.all === undefined ? '' : `-${widthPx}-${colours}`;
      await page.screenshot({ path: join(to, `console-${name}${suffix}.png`) });
    }
    await page.close();
  }
  await browser.close();
}
