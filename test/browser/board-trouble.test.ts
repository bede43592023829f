/**
 * The board while something is wrong: with the store, with a bridge, with a receiver of alarms, with sensors. It never
 * says that there are no alarms when it does not know.
 */
import { randomUUID } from 'node:crypto';
import type { Page, Route } from 'playwright-core';
import type { CutProxy } from '../harness/proxy.js';
import { WEBHOOK_SECRET, WebhookReceiver } from '../harness/receivers.js';
import { Mosquitto } from '../harness/upstream.js';
import {
  ADMIN_TOKEN,
  alarm,
  bedSensor,
  boardReady,
  expect,
  NO_LIMITS,
  raise,
  requireAccessible,
  testWith,
  times,
  until,
} from './browser.js';

const test = testWith({ env: { ...NO_LIMITS, GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: '600' } });

/** The board retries a failed read after this time. */
const READ_AGAIN_MS = 3_000;
const MINUTE_MS = 60_000;
const UNREAD = 'The alarms from before could not be read';

const speak = (page: Page, language: 'de' | 'en') =>
  page
    .getByRole('combobox', { name: language === 'de' ? 'Language' : 'Sprache' })
    .selectOption(language);

const READINGS = '**/alarms?*';

/** Holds the next request for the open alarms. */
function heldReading(page: Page): Promise<Route> {
  return new Promise((resolve) => {
    void page.route(READINGS, resolve, { times: 1 });
  });
}

/** Makes the stream begin anew: the gateway cannot tell what came since, as after a restored backup. */
const forget = (page: Page) =>
  page.route('**/events?*', (route) => {
    const headers = { ...route.request().headers(), 'last-event-id': 'deadbeef-1-' };
    return route.continue({ headers });
  });

async function cut(proxy: CutProxy, page: Page): Promise<void> {
  proxy.refuse();
  await page.locator('.lost-banner').waitFor();
}

async function mend(proxy: CutProxy, page: Page): Promise<void> {
  proxy.mend();
  await page.evaluate(() => dispatchEvent(new Event('online')));
}

test('reads again what it missed, and says nothing that it does not know', async ({
  home,
  own,
  open,
}) => {
  const device = await bedSensor(home);
  const hill = await own.homeAt(home.gateway, 'Haus am Berg');
  const proxy = await own.proxy(home.gateway.httpPort);
  const grants = [home, hill].map(({ locationId }) => ({ location: locationId, role: 'viewer' }));
  const { token } = await home.token(grants);
  const page = await open({ token, url: `http://127.0.0.1:${proxy.port}`, hasClock: true });
  await boardReady(page);
  await forget(page);
  await page.route(READINGS, (route) => route.abort());
  await cut(proxy, page);
  await raise(home, device, { kind: 'fall' });
  const held = heldReading(page);
  await mend(proxy, page);
  const reading = await held;
  await page.getByText('Connected', { exact: true }).waitFor();
  expect(await page.getByText('No open alarms').count()).toBe(0);
  await reading.continue();
  await page.getByText(UNREAD).waitFor();
  await page.unroute(READINGS);
  await page.clock.fastForward(READ_AGAIN_MS);
  await page.getByText('New alarm: Fall, Room 12').waitFor({ state: 'attached' });
  await page.getByRole('heading', { name: 'Open alarms: 1' }).waitFor();
});

test('shows an alarm once that comes live and is stored later, also when it reads all alarms between', async ({
  home,
  own,
  open,
}) => {
  const device = await bedSensor(home);
  const proxy = await own.proxy(home.gateway.httpPort);
  const page = await open({ url: `http://127.0.0.1:${proxy.port}` });
  await boardReady(page);
  await forget(page);
  const store = await home.store();
  const sensor = await home.sensor({ device });
  const id = randomUUID();
  const readAgain = async () => {
    const held = heldReading(page);
    await cut(proxy, page);
    await mend(proxy, page);
    return held;
  };
  await store.redis.config('SET', 'maxmemory', 1);
  try {
    sensor.alarm({ id });
    await alarm(page, 'Fall, Room 12').waitFor();
    const reading = await readAgain();
    await page.getByRole('heading', { name: 'Open alarms', exact: true }).waitFor();
    await reading.continue();
    await page.getByRole('heading', { name: 'Open alarms: 1' }).waitFor();
  } finally {
    await store.redis.config('SET', 'maxmemory', 0);
  }
  await sensor.untilAcknowledged();
  await (await readAgain()).continue();
  await page.getByRole('heading', { name: 'Open alarms: 1' }).waitFor();
  await raise(home, device, { kind: 'noise' });
  await alarm(page, 'Noise, Room 12').waitFor();
  expect(await page.locator('.board-alarm').count()).toBe(2);
  await home.must('POST', `./alarms/${id}/acknowledge`, { json: {} });
  await page.getByText('Acknowledged by admin').waitFor();
});

test('says that earlier alarms are unknown while the store cannot be read, in the words of a wall, too', async ({
  home,
  open,
}) => {
  await raise(home, await bedSensor(home), { kind: 'fall' });
  const { token } = await home.token();
  const wall = await open({
    token,
    path: '/?kiosk',
    language: 'de-DE',
    colorScheme: 'dark',
    widthPx: 1920,
    heightPx: 1080,
  });
  await wall.locator('.board-alarm').waitFor();
  const line = wall.getByRole('status').filter({ hasText: 'Das Gateway ist nicht bereit:' });
  expect(await line.count()).toBe(0);
  const store = await home.store();
  store.freeze();
  let page: Page;
  try {
    await line.waitFor();
    const text = await line.innerText();
    expect(text).toContain('Der Speicher antwortet nicht.');
    expect(text).toContain('Bitte geben Sie der Technik Bescheid.');
    expect(await line.getByRole('link').count()).toBe(0);
    await requireAccessible(wall);
    page = await open({ token, hasClock: true });
    await page.getByText(UNREAD).waitFor();
    expect(await page.getByText('No open alarms').count()).toBe(0);
  } finally {
    store.thaw();
  }
  await page.clock.fastForward(READ_AGAIN_MS);
  await alarm(page, 'Fall, Room 12').waitFor();
  await page.getByText(UNREAD).waitFor({ state: 'hidden' });
  await line.waitFor({ state: 'detached' });
});

test('names a fault of the gateway and who gets no alarms, while it lasts', async ({
  home,
  own,
  gateway,
  open,
}) => {
  const receiver = await own.keep(WebhookReceiver.start(), (one) => one.stop());
  const mosquitto = await own.keep(Mosquitto.start(), (one) => one.remove());
  receiver.answer = () => ({ status: 401 });
  const output = {
    name: 'night-app',
    type: 'webhook',
    url: `http://127.0.0.1:${receiver.port}/`,
    secret: WEBHOOK_SECRET,
    topics: ['care-homes/+/devices/+/alarms/+'],
    allowPrivate: true,
  };
  await gateway.configure({
    bridges: [{ name: 'head-office', url: mosquitto.url }],
    outputs: [output],
  });
  await gateway.restart();
  own.onEnd(async () => {
    await gateway.configure({});
    await gateway.restart();
  });
  const station = await home.nurse({ clientId: 'station-1', isDurable: true });
  await station.leave();
  await raise(home, await bedSensor(home), { kind: 'fall' });
  await until(() => receiver.received.length > 0, 'the request to the receiver');
  await gateway.clock.advance(MINUTE_MS);
  const page = await open({ token: ADMIN_TOKEN });
  await page.getByText(/The nurse call station-1 has got no alarms since .*\d/).waitFor();
  await page.getByText(/The receiver night-app has taken no alarms since .*\d/).waitFor();
  await requireAccessible(page);
  await speak(page, 'de');
  await page.getByText(/Die Rufanlage station-1 bekommt seit .*\d.* keine Alarme/).waitFor();
  await page.getByText(/Der Empfänger night-app nimmt seit .*\d.* keine Alarme an/).waitFor();
  await speak(page, 'en');
  receiver.answer = () => ({ status: 204 });
  await gateway.clock.advance(MINUTE_MS);
  await station.connect();
  await page.getByText(/The receiver night-app/).waitFor({ state: 'detached' });
  await page.getByText(/The nurse call station-1/).waitFor({ state: 'detached' });
  const line = page.getByRole('status').filter({ hasText: 'Fault of the gateway:' });
  await line.waitFor({ state: 'detached' });
  await mosquitto.stop();
  await line.getByText('A bridge is down: the upstream cannot be reached (head-office).').waitFor();
  await requireAccessible(page);
  // Beside an alarm all is in one line, which opens.
  await page.locator('summary', { hasText: 'A bridge is down' }).click();
  await line.getByRole('link', { name: 'What to do' }).click();
  await page.getByText('Check its name, address and port').waitFor();
  await page.goBack();
  await line.waitFor();
  await mosquitto.start();
  await line.waitFor({ state: 'detached' });
});

test('asks again for the faults after a failure', async ({ open }) => {
  let asked = 0;
  const prepare = (tab: Page) =>
    tab.route('**/faults', (route) => {
      asked += 1;
      return asked === 1 ? route.abort() : route.continue();
    });
  await open({ prepare });
  await until(async () => asked > 1, 'another request', 15_000);
});

test('names the silent sensors in one line, and says when it does not know them', async ({
  home,
  gateway,
  open,
}) => {
  await (await home.client(await bedSensor(home))).end();
  await times(7, async (index) => (await home.client(await home.device(`Bed ${index}`))).end());
  await gateway.clock.advance(11 * MINUTE_MS);
  await expect.poll(async () => (await home.must('GET', './supervision')).list()).toHaveLength(8);
  const page = await open();
  const line = page.getByText('Nothing comes from 8 sensors any more:').locator('..');
  await line.waitFor();
  expect(await line.count()).toBe(1);
  expect(await line.innerText()).toMatch(/Bed sensor \(Room 12\).*2 more/);
  await requireAccessible(page);
  await speak(page, 'de');
  await page.getByText('Von 8 Sensoren kommt nichts mehr:').waitFor();
  await page.route('**/supervision', (route) => route.abort());
  await page.reload();
  await page.getByText('Welche Sensoren verstummt sind, ist zurzeit nicht bekannt.').waitFor();
});
