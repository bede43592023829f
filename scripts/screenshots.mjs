// npm run screenshots: takes the pictures of the console in docs/images/, with the demo's home on the real gateway.
// With --all DIRECTORY it takes every page at three widths in both colour schemes, into that directory.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { newAlarm, openHome, requester, spawnGateway } from './demo/home.mjs';

const PROGRAM = '/usr/bin/chromium-headless-shell';
const DOCS = join(import.meta.dirname, '../docs/images');
const PAGES = {
  board: '/',
  history: '/history?view=chart',
  home: '/home/:home',
  gateway: '/gateway',
};
const HOUR_MS = 3_600_000;
/** The number of alarms in each hour of the day: a home has busy nights. */
const ALARMS_BY_HOUR = [3, 2, 2, 4, 3, 5, 6, 4, 2, 2, 1, 2, 3, 2, 1, 2, 2, 3, 4, 3, 4, 5, 4, 3];
const PASSED_HOURS = 48;
/** The open alarms in the picture: minutes ago, the sensor, the kind, and whether someone has acknowledged it. */
const OPEN = [
  [9, 'Seat pad 104', 'outOfSeat', true],
  [6, 'Corridor 1F', 'wandering', true],
  [3, 'Bed mat 101 A', 'outOfBed', false],
  [1, 'Room sensor 105', 'helpCall', false],
  [0, 'Fall sensor 102', 'fall', false],
];

const { all } = parseArgs({ options: { all: { type: 'string' } } }).values;
const directory = mkdtempSync(join(tmpdir(), 'care-home-screenshots-'));
const gateway = spawnGateway(directory);
try {
  const { httpUrl, ...ready } = await gateway.ready;
  const home = await openHome({ httpUrl, ...ready });
  const grants = [{ location: home.id, role: 'responder' }];
  const asAdmin = requester(httpUrl, ready.adminToken);
  const nurse = await asAdmin('POST', '/access-tokens', { name: 'Station 1', grants });
  await live(home, requester(httpUrl, nurse.token));
  await takePictures(home);
  await Promise.all(home.sensors.map(({ client }) => client.endAsync(true)));
} finally {
  await gateway.stop();
  rmSync(directory, { recursive: true });
}

/** Plays two days of the home: the resolved alarms, and those that are open now. */
async function live({ id, sensors }, asNurse) {
  const publish = async ({ topic, client }, kind, detectedAtMs) => {
    const alarm = newAlarm(kind, detectedAtMs);
    await client.publishAsync(`${topic}/alarms`, JSON.stringify(alarm), { qos: 1 });
    return `/care-homes/${id}/alarms/${alarm.id}`;
  };
  const nowMs = Date.now();
  for (let hour = PASSED_HOURS; hour > 0; hour--) {
    const beganMs = nowMs - hour * HOUR_MS;
    const count = ALARMS_BY_HOUR[new Date(beganMs).getHours()];
    for (let number = 0; number < count; number++) {
      const sensor = sensors[(hour * 7 + number * 3) % sensors.length];
      const kind = sensor.kinds[Math.floor((hour + number) / 2) % sensor.kinds.length];
      const alarm = await publish(sensor, kind, beganMs + (number / count) * HOUR_MS);
      await asNurse('POST', `${alarm}/resolve`, {});
    }
  }
  const named = (name) => sensors.find((sensor) => sensor.name === name);
  for (const [minutes, name, kind, isSeen] of OPEN) {
    const alarm = await publish(named(name), kind, Date.now() - minutes * 60_000);
    if (isSeen) await asNurse('POST', `${alarm}/acknowledge`, { note: 'On my way' });
  }
  await named('Bed mat 101 B').client.endAsync(true);
}

async function takePictures({ boardUrl, id }) {
  const to = all ?? DOCS;
  mkdirSync(to, { recursive: true });
  const browser = await chromium.launch({ executablePath: PROGRAM, args: ['--no-sandbox'] });
  for (const width of all === undefined ? [1280] : [360, 1280, 2560]) {
    for (const colorScheme of all === undefined ? ['light'] : ['light', 'dark']) {
      const height = all === undefined ? 880 : width < 600 ? 740 : 900;
      const page = await browser.newPage({
        locale: 'en-GB',
        colorScheme,
        viewport: { width, height },
      });
      await page.goto(boardUrl);
      await page.locator('.connection.good').waitFor();
      for (const [name, path] of Object.entries(PAGES)) {
        await page.evaluate((place) => location.assign(`#${place}`), path.replace(':home', id));
        await page.locator('main h1').waitFor();
        // A fixed time for the page's requests: the network is never idle while the stream of events is open.
        await page.waitForTimeout(1_500);
        const suffix = all === undefined ? '' : `-${width}-${colorScheme}`;
        await page.screenshot({ path: join(to, `console-${name}${suffix}.png`) });
      }
      await page.close();
    }
  }
  await browser.close();
}
