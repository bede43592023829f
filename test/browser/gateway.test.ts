/** The page of the gateway for its administrator: faults, connections, bridges, webhooks, tokens, the audit trail. */
import { randomUUID } from 'node:crypto';
import type { Page, Route } from 'playwright-core';
import { WEBHOOK_SECRET, WebhookReceiver } from '../harness/receivers.js';
import { Mosquitto } from '../harness/upstream.js';
import {
  ADMIN_TOKEN,
  Client,
  createToken,
  expect,
  type Gateway,
  must,
  NO_LIMITS,
  type Own,
  raise,
  requireAccessible,
  testWith,
  times,
} from './browser.js';

const test = testWith({ env: NO_LIMITS });

const button = (page: Page, name: string) => page.getByRole('button', { name });
const dialog = (page: Page) => page.getByRole('dialog');
const action = (page: Page) => page.getByRole('combobox', { name: /^Action/ });

/** The row of a list with this text. */
const row = (page: Page, list: string, text: string) =>
  page.getByRole('region', { name: list }).getByRole('row').filter({ hasText: text });

/** A bridge to a broker of the test's own. */
async function bridged(gateway: Gateway, own: Own) {
  const mosquitto = await own.keep(Mosquitto.start(), (one) => one.remove());
  const bridge = { name: 'head-office', url: mosquitto.url };
  const follow = async (...bridges: readonly object[]) => {
    await gateway.configure({ bridges });
    await gateway.reload();
  };
  own.onEnd(async () => {
    await follow();
    await must(gateway, 'DELETE', `/bridges/${bridge.name}`);
  });
  await follow(bridge);
  return { mosquitto, bridge, follow };
}

test('says that the gateway is ready, what is wrong and what to do, in German, too', async ({
  home,
  gateway,
  own,
  open,
}) => {
  const { mosquitto } = await bridged(gateway, own);
  const page = await open({ token: ADMIN_TOKEN, path: '/gateway' });
  await page.getByText('The gateway is ready').waitFor();
  await page.getByText(/Version \d+\.\d+\.\d+/).waitFor();
  await page.getByText('Nothing is wrong.').waitFor();
  await mosquitto.stop();
  await page.getByText('A bridge is down: the upstream cannot be reached').waitFor();
  await page.getByText('Bridge head-office').waitFor();
  await page.getByText('Check its name, address and port').waitFor();
  await requireAccessible(page);
  await mosquitto.start();
  await page.getByText('Nothing is wrong.').waitFor();
  await page.getByRole('combobox', { name: 'Language' }).selectOption('de');
  const store = await home.store();
  store.freeze();
  try {
    await page.getByText('Das Gateway ist nicht bereit').waitFor();
    await page.getByText('Der Speicher antwortet nicht.').waitFor();
    await page.getByText('Der Server ist überlastet').waitFor();
  } finally {
    store.thaw();
  }
  await page.getByText('Das Gateway ist bereit').waitFor();
  // A store that has lost its last write.
  await store.redis.decr('{site}:sequence:site');
  await page.getByText('Der Speicher hat verloren: Änderungen der Stammdaten: 1').waitFor();
  await button(page, 'Quittieren').click();
  await page.getByText('Alles in Ordnung.').waitFor();
});

test('leads to the certificate authority of a gateway that has its own', async ({
  gateway,
  open,
}) => {
  const prepare = (page: Page) =>
    page.route(`${gateway.httpUrl}/`, async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace('data-ca=""', 'data-ca="ca.pem"');
      await route.fulfill({ response, body });
    });
  const page = await open({ token: ADMIN_TOKEN, path: '/gateway', prepare });
  const link = page.getByRole('link', { name: `${gateway.httpUrl}/ca.pem` });
  await link.waitFor();
  expect(await link.getAttribute('href')).toBe(`${gateway.httpUrl}/ca.pem`);
  await page.getByRole('img', { name: 'The link as a QR code' }).waitFor();
  await requireAccessible(page);
});

test('shows a fault of many devices once, with a link to each', async ({ home, open }) => {
  const devices = await times(8, (index) => home.device(`Bed ${index}`));
  const silent = { code: 'device-silent', stops: false, since: new Date().toISOString() };
  const said = { ...silent, advice: 'Check its `battery`.', acknowledgeable: false };
  const faults = devices.map(({ id }, index) => {
    const subject = { type: 'device', id, name: `Bed ${index}` };
    return { ...said, message: 'A device is silent.', subject };
  });
  const others = { ...said, message: 'A device is silent (12 more).', more: 12 };
  const prepare = (page: Page) =>
    page.route('**/faults', (route) => route.fulfill({ json: [...faults, others] }));
  const page = await open({ token: ADMIN_TOKEN, path: '/gateway', prepare });
  await page.getByText(/^20 devices: Bed 0, .*Bed 5 and 14 more$/).waitFor();
  expect(await page.getByText('What to do: Check its battery.').count()).toBe(1);
  await requireAccessible(page);
  await button(page, 'and 14 more').click();
  await page.getByText(/Bed 7 and 12 more$/).waitFor();
  await page.getByRole('link', { name: 'Bed 7' }).click();
  await page.waitForURL(`**/#/home/${home.locationId}/devices/${devices[7]?.id}`);
});

test('shows the rejected publishes of a home, and creates a device for which a hub publishes', async ({
  home,
  own,
  open,
}) => {
  const id = randomUUID();
  const publisher = await createToken(
    home.gateway,
    [{ location: '*', role: 'publisher' }],
    'Zigbee',
  );
  const hub = await home.client(publisher);
  await hub.publish(`devices/${id}/alarms`, '{"kind":"fall"}');
  await raise(home, await home.device(), { kind: 'fell' });
  const other = await own.homeAt(home.gateway, 'Haus am Berg');
  const page = await open({ token: ADMIN_TOKEN, path: '/gateway' });
  await page.getByText('through Zigbee').waitFor();
  await button(page, 'Create this device').click();
  await dialog(page).getByLabel('Name').fill('Bed 7');
  await dialog(page).getByRole('combobox').selectOption({ label: home.name });
  await dialog(page).getByRole('button', { name: 'Create' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  await page.getByText('through Zigbee').waitFor({ state: 'detached' });
  await hub.publish(`devices/${id}/alarms`, '{"kind":"fall"}');
  expect(await home.alarms({ id })).toMatchObject([{ kind: 'fall' }]);
  await page.getByRole('combobox', { name: /^Home/ }).selectOption(home.locationId);
  const rejected = row(page, 'Rejected publishes', 'none of the eight');
  await rejected.waitFor();
  expect(await rejected.textContent()).toContain('{"kind":"fell"}');
  await page.getByRole('combobox', { name: /^Home/ }).selectOption(other.locationId);
  await rejected.waitFor({ state: 'detached' });
});

test('shows for whom alarms wait, who is connected, and why a login failed', async ({
  home,
  open,
}) => {
  const device = await home.device();
  const away = await home.nurse({ clientId: 'nurse-call-at-night', isDurable: true });
  await away.leave();
  await home.nurse({ clientId: 'nurse-call-here' });
  await raise(home, device, { kind: 'fall' });
  await Client.connect(home.gateway, { ...device, secret: 'not-the-secret' }).catch(
    () => undefined,
  );
  const page = await open({ token: ADMIN_TOKEN, path: '/gateway/connections' });
  const waiting = row(page, 'Sessions', 'nurse-call-at-night');
  await waiting.filter({ hasText: /nurse call.*away.*1/ }).waitFor();
  const here = row(page, 'Connected now', 'nurse-call-here');
  await here.waitFor();
  expect(await here.textContent()).toMatch(/127\.0\.0\.1.*mqtt, MQTT 3\.1\.1.*60 s/);
  await row(page, 'Denied', 'The password is not the secret of the device').first().waitFor();
  const list = page.getByRole('region', { name: 'Connected now' });
  const search = list.getByLabel('Search', { exact: true });
  await search.fill('nobody-has-this');
  await list.getByText('Nothing found.').waitFor();
  await search.fill('CALL-HERE');
  await here.waitFor();
  await list.getByRole('button', { name: 'Pause' }).click();
  await list.getByText('Paused').waitFor();
});

test('shows the connections page by page, keeps them at a refresh, and tells equal denials apart', async ({
  home,
  open,
}) => {
  await home.nurse({ clientId: 'the-last' });
  const at = new Date().toISOString();
  const name = { name: null, username: null, clientId: null, topic: null };
  const denial = {
    at,
    address: '192.0.2.7',
    operation: 'connect',
    code: 'x',
    detail: 'No.',
    ...name,
  };
  let denials = [denial, denial];
  const prepare = async (page: Page) => {
    await page.clock.install();
    await page.route('**/connections', (route) =>
      route.fulfill({ json: { connections: [], nextCursor: 'next' } }),
    );
    await page.route('**/connections?cursor=next', (route) =>
      route.continue({ url: route.request().url().split('?')[0] }),
    );
    await page.route('**/connections/denied', (route) => route.fulfill({ json: denials }));
  };
  const page = await open({ token: ADMIN_TOKEN, path: '/gateway/connections', prepare });
  const last = row(page, 'Connected now', 'the-last');
  await button(page, 'Show more').click();
  await last.waitFor();
  await expect.poll(() => row(page, 'Denied', 'No.').count()).toBe(2);
  denials = [denial, denial, denial];
  const refreshed = page.waitForRequest('**/connections?cursor=next');
  await page.clock.fastForward(6_000);
  await refreshed;
  await expect.poll(() => row(page, 'Denied', 'No.').count()).toBe(3);
  expect(await last.count()).toBe(1);
});

test('shows a bridge with its dead letters, and deletes the queue of one that is no longer configured', async ({
  gateway,
  own,
  open,
}) => {
  const { bridge, follow } = await bridged(gateway, own);
  await follow(bridge, { ...bridge, name: 'regoin' });
  await follow(bridge);
  const page = await open({ token: ADMIN_TOKEN, path: '/gateway/bridges' });
  const shown = row(page, 'Bridges', 'head-office');
  await shown.filter({ hasText: /connected|down/ }).waitFor();
  await button(page, 'Dead letters of head-office').click();
  await page.getByText('There are none.').waitFor();
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  const missing = row(page, 'Bridges', 'regoin');
  await missing.getByText('missing from the configuration', { exact: true }).waitFor();
  await button(page, 'Delete the queue of regoin').click();
  await dialog(page).getByRole('button', { name: 'Delete', exact: true }).click();
  await missing.waitFor({ state: 'detached' });
  await shown.waitFor();
});

test('sends the dead letters of a webhook again, and shows who acknowledged a drill', async ({
  home,
  gateway,
  own,
  open,
}) => {
  const receiver = await own.keep(WebhookReceiver.start(), (one) => one.stop());
  const topics = ['care-homes/+/devices/+/alarms/+'];
  const url = `http://127.0.0.1:${receiver.port}/`;
  const webhook = { name: 'nurse-app', type: 'webhook', url, secret: WEBHOOK_SECRET, topics };
  await gateway.configure({ outputs: [{ ...webhook, allowPrivate: true }] });
  await gateway.restart();
  own.onEnd(async () => {
    await gateway.configure({});
    await gateway.restart();
  });
  receiver.answer = () => ({ status: 400 });
  const device = await home.device('Bett am Fenster');
  await raise(home, device, { kind: 'fall' });
  const page = await open({ token: ADMIN_TOKEN, path: '/gateway/webhooks' });
  const line = page.getByRole('row').filter({ hasText: 'nurse-app' });
  await line.getByText('1 refused').waitFor();
  expect(await line.textContent()).toContain('the receiver refuses alarms');
  await button(page, 'Dead letters of nurse-app').click();
  await dialog(page).getByText('/alarms/fall').waitFor();
  await dialog(page).getByRole('button', { name: 'Send again' }).click();
  await dialog(page).getByText('0 delivered, then: the receiver answers 400.').waitFor();
  await requireAccessible(page);
  receiver.answer = () => ({ status: 204 });
  await dialog(page).getByRole('button', { name: 'Send again' }).click();
  await dialog(page).getByText('There are none.').waitFor();
  await dialog(page).getByText('1 delivered.').waitFor();
  expect(receiver.received.map(({ status }) => status)).toEqual([400, 400, 204]);
  await page.goto(`${gateway.httpUrl}/#/home/${home.locationId}`);
  await page.getByRole('link', { name: 'Drills' }).click();
  await page.getByText('There has been no drill yet.').waitFor();
  await button(page, 'Start a drill').click();
  await requireAccessible(page);
  await dialog(page).getByRole('button', { name: 'Start a drill' }).click();
  await line.getByText(/after [\d,]+ ms/).waitFor();
  await line.getByText('passed').waitFor();
  await requireAccessible(page);
  await page.goto(`${gateway.httpUrl}/#/history?location=${home.locationId}`);
  await button(page, 'Details: Fall').click();
  await page.getByRole('link', { name: 'Alarm report' }).click();
  await page.getByText('nurse-app: not delivered, left out,').waitFor();
});

test('creates an access token, shown once, changes, renews and revokes it; all is in the audit trail', async ({
  home,
  open,
}) => {
  const expiresAt = new Date(Date.now() + 24 * 60 * 60 * 1000).toISOString();
  const grants = [{ location: home.locationId, role: 'viewer' }];
  await createToken(home.gateway, grants, 'Until tomorrow', expiresAt);
  // Whether a token has ended is for the gateway's clock to say.
  const prepare = (page: Page) =>
    page.addInitScript(() => {
      const rightNow = Date.now.bind(Date);
      Date.now = () => rightNow() + 10 * 24 * 60 * 60 * 1000;
    });
  const page = await open({ token: ADMIN_TOKEN, prepare });
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Gateway', exact: true }).click();
  await page.getByRole('link', { name: 'Access tokens' }).click();
  const kept = row(page, 'Access tokens', 'Until tomorrow');
  await kept.waitFor();
  expect(await kept.textContent()).not.toContain('has expired');
  const create = button(page, 'New access token');
  await create.click();
  await dialog(page).getByLabel('Name').fill('Night shift');
  await dialog(page).getByRole('combobox', { name: /^Home/ }).selectOption({ label: home.name });
  await dialog(page).getByRole('button', { name: 'Create' }).click();
  const field = page.getByLabel('Access token', { exact: true });
  const token = await field.inputValue();
  const statusOf = async (of: string) =>
    (await home.ask('GET', '/access-tokens/current', { token: of })).status;
  expect(await statusOf(token)).toBe(200);
  const asked = page.waitForEvent('dialog');
  const pressed = page.keyboard.press('Escape');
  await (await asked).dismiss();
  await pressed;
  expect(await field.inputValue()).toBe(token);
  await button(page, 'Done').click();
  await expect.poll(() => create.evaluate((one) => one === document.activeElement)).toBe(true);
  const made = row(page, 'Access tokens', 'Night shift');
  await made.filter({ hasText: `Viewer: ${home.name}` }).waitFor();
  expect(await made.textContent()).toContain('nevernever');
  await button(page, 'Change Night shift').click();
  await dialog(page).getByRole('combobox', { name: /^Role/ }).selectOption('responder');
  await dialog(page).getByLabel('Name').fill('Late shift');
  await dialog(page)
    .getByLabel(/^Only from these networks/)
    .fill('127.0.0.0/8, ::1/128');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  const changed = row(page, 'Access tokens', 'Late shift');
  await changed.getByText('127.0.0.0/8, ::1/128').waitFor();
  await changed.filter({ hasText: `Responder: ${home.name}` }).waitFor();
  await button(page, 'Revoke Late shift').click();
  await dialog(page).getByText('the alarms that wait in them').waitFor();
  await dialog(page).getByRole('button', { name: 'Renew keeps them' }).click();
  await dialog(page).getByText('connections with it are closed').waitFor();
  await dialog(page).getByRole('button', { name: 'Renew' }).click();
  const renewed = await field.inputValue();
  expect([await statusOf(token), await statusOf(renewed)]).toEqual([401, 200]);
  const { id } = await home.must('GET', '/access-tokens/current', { token: renewed });
  expect(await dialog(page).getByLabel('MQTT user name').inputValue()).toBe(id);
  await dialog(page).getByLabel('Address of the gateway').fill('https://gateway.example.org');
  const link = await dialog(page).getByLabel('Link that signs in').inputValue();
  expect(link).toBe(`https://gateway.example.org/#/?token=${renewed}`);
  await dialog(page).getByRole('img', { name: 'The link as a QR code' }).waitFor();
  await requireAccessible(page);
  await button(page, 'Done').click();
  await button(page, 'Revoke Late shift').click();
  await dialog(page).getByRole('button', { name: 'Revoke', exact: true }).click();
  await changed.waitFor({ state: 'detached' });
  expect(await statusOf(renewed)).toBe(401);
  await page.getByRole('link', { name: 'Audit trail' }).click();
  const revoked = row(page, 'Who did what', 'Access token revoked');
  await revoked.filter({ hasText: /Administrator.*Late shift/ }).waitFor();
  await action(page).selectOption({ label: 'Access token created' });
  await revoked.waitFor({ state: 'detached' });
  const created = row(page, 'Who did what', 'Night shift');
  await created.getByText('Details').click();
  await created.getByText(`Viewer: ${home.name}`).waitFor();
  await action(page).selectOption({ label: 'Access token changed' });
  const change = row(page, 'Who did what', 'Late shift');
  await change.getByText('Details').click();
  await change.getByText(`Viewer: ${home.name}`).waitFor();
  await change.getByText(`Responder: ${home.name}`).waitFor();
});

test('names in the audit trail what was changed, and shows only that, and older records, on request', async ({
  home,
  open,
}) => {
  const device = await home.device('Bed 7');
  const room = await home.room('Room 7');
  await home.move(device, { targetRoomId: room });
  const gone = await home.device('Bed 8');
  await home.must('DELETE', `./devices/${gone.id}`);
  const page = await open({ token: ADMIN_TOKEN, path: '/gateway/audit' });
  const list = page.getByRole('region', { name: 'Who did what' });
  const moved = row(page, 'Who did what', 'Device moved');
  await moved.getByRole('link', { name: 'Bed 7' }).waitFor();
  await moved.getByText('Details').click();
  await moved.getByText('Room 7').waitFor();
  await row(page, 'Who did what', 'Device deleted').getByText('deleted', { exact: true }).waitFor();
  await moved.getByRole('button', { name: 'Only this: Bed 7' }).click();
  await page.getByText('Only about Bed 7').waitFor();
  await row(page, 'Who did what', 'Bed 8').first().waitFor({ state: 'detached' });
  const all = button(page, 'Show all again');
  await expect.poll(() => all.evaluate((one) => one === document.activeElement)).toBe(true);
  await all.press('Enter');
  await row(page, 'Who did what', 'Bed 8').first().waitFor();
  await moved.getByRole('link', { name: 'Bed 7' }).click();
  await page.getByRole('heading', { name: 'Bed 7' }).waitFor();
  await page.goBack();
  await times(110, (index) => home.group(`Group ${String(index).padStart(3, '0')}`));
  await page.getByRole('combobox', { name: /^Home/ }).selectOption(home.locationId);
  const older = button(page, 'Older records');
  const groups = row(page, 'Who did what', 'Group created');
  await expect.poll(() => groups.count()).toBe(50);
  await older.press('Enter');
  await expect.poll(() => groups.count()).toBe(100);
  expect(await older.evaluate((element) => element === document.activeElement)).toBe(true);
  await older.press('Enter');
  await older.waitFor({ state: 'detached' });
  await moved.waitFor();
  const held = new Promise<Route>((resolve) => {
    void page.route('**/audit?*', resolve, { times: 1 });
  });
  await action(page).selectOption({ label: 'Home created' });
  const search = await held;
  // Nothing of the search that is over.
  await list.getByText('Group created').first().waitFor({ state: 'detached' });
  await search.continue();
  await row(page, 'Who did what', 'Home created').first().waitFor();
});

test('shows what a check of the box has found, in German, too', async ({ open }) => {
  const page = await open({ token: ADMIN_TOKEN, path: '/gateway' });
  await page.getByRole('link', { name: 'Check', exact: true }).click();
  const found = page.getByRole('listitem').filter({ hasText: 'its settings are safe' });
  await found.getByText('Fine').waitFor();
  await button(page, 'Check again').click();
  await found.waitFor();
  const german = await open({ token: ADMIN_TOKEN, path: '/gateway/doctor', language: 'de-DE' });
  await german.getByText('Das laufende Gateway hat sie.').waitFor();
});
