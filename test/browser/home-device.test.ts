import type { Page, Request } from 'playwright-core';
import { encode } from 'uqr';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { setupText } from '../../src/console/pages/home/issued/setup-text.js';
import { connect, connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { openConsole, refuseToLeave } from './browser.js';
import { makeHomeSite } from './home-site.js';

let gateway: GatewayHere;

beforeAll(async () => {
  gateway = await GatewayHere.start({ GATEWAY_MQTT_TLS_PORT: '9883' });
});

afterAll(() => gateway.remove());

async function openDevice(name: string) {
  const site = await makeHomeSite(gateway, name);
  const path = `/home/${site.locationId}/devices/${site.bed.id}`;
  const { page, faults } = await openConsole(gateway, { token: ADMIN_TOKEN, path });
  await page.getByRole('heading', { level: 1, name: site.bed.name }).waitFor();
  return { site, page, faults };
}

/** The device id and the secret of the label, and the path that draws its QR code. */
async function labelOf(page: Page) {
  const label = page.locator('.home-label');
  await label.waitFor();
  const [deviceId = '', secret = ''] = await label.locator('code').allTextContents();
  const path = (await label.locator('.qr-code path').getAttribute('d')) ?? '';
  return { deviceId, secret, path };
}

/** A drawing of uqr's own encoding of the text. */
function drawn(text: string): string {
  const { data } = encode(text, { ecc: 'M', border: 4 });
  return data
    .flatMap((row, y) => row.map((isBlack, x) => (isBlack ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
}

it('shows place, connection and messages of a device live, and can be paused', async () => {
  const { site, page, faults } = await openDevice('Haus Nachricht');
  await page.getByText('Ground floor · Room 7').waitFor();
  await page.getByText('What the device sends appears here').waitFor();
  const client = await connectDevice(gateway, site.bed);
  await page
    .getByText(/^Online since|since 2|since \d/)
    .first()
    .waitFor();
  await client.publishAsync(`devices/${site.bed.id}/battery`, '{"percent":81}', { qos: 1 });
  await page.locator('.home-messages li').filter({ hasText: '"percent": 81' }).waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await client.publishAsync(`devices/${site.bed.id}/battery`, '{"percent":7}', { qos: 1 });
  // The alarm comes after the message that must not be shown, on the same stream.
  await client.publishAsync(`devices/${site.bed.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
  await page.locator('.home-alarms').getByText('Fall').waitFor();
  expect(await page.getByText('"percent": 7', { exact: false }).count()).toBe(0);
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.locator('.home-messages li').filter({ hasText: '"percent": 7' }).waitFor();
  const history = page.getByRole('link', { name: 'All of them in the history' });
  expect(await history.getAttribute('href')).toContain(site.bed.id);
  await client.endAsync();
  expect(faults).toEqual([]);
});

it('dates messages without a time by the gateway’s clock, not by the tablet’s', async () => {
  const { site, page } = await openDevice('Haus Uhr');
  await page.clock.setSystemTime(Date.now() + 10 * 24 * 60 * 60 * 1000);
  await page.reload();
  const client = await connectDevice(gateway, site.bed);
  const status = page.locator('.home-messages li').filter({ hasText: '"online": true' });
  const at = await status.first().locator('time').getAttribute('datetime');
  expect(Math.abs(Date.parse(at ?? '') - Date.now())).toBeLessThan(60_000);
  await client.endAsync();
});

it('keeps custom data as typed, including numbers beyond 2^53, and counts its bytes', async () => {
  const { site, page } = await openDevice('Haus Daten');
  const field = page.getByRole('textbox', { name: 'Custom data' });
  const save = page.getByRole('button', { name: 'Save' });
  await field.fill('{"n":9007199254740993');
  await page.getByText('This is not valid JSON').waitFor();
  expect(await save.isDisabled()).toBe(true);
  await field.fill('[1]');
  await page.getByText('This must be an object').waitFor();
  await field.fill(`{"ü":"${'ä'.repeat(510)}"}`);
  await page.getByText('1029 of 1024 bytes').waitFor();
  await page.getByText('This is too large.').waitFor();
  const text = '{"n":9007199254740993, "d":1.10}';
  await field.fill(text);
  await refuseToLeave(page, 'The custom data is not saved.');
  expect(await field.inputValue()).toBe(text);
  await save.click();
  await page.getByText('Saved.').waitFor();
  const stored = await site.api.request('GET', `${site.path}/devices/${site.bed.id}/custom-data`);
  expect(await stored.text()).toBe(text);
  await page.reload();
  await expect.poll(() => field.inputValue()).toBe(text);
});

it('lets only the first of two technicians change custom data, and the second look again', async () => {
  const { site, page } = await openDevice('Haus Doppelt');
  const field = page.getByRole('textbox', { name: 'Custom data' });
  const save = page.getByRole('button', { name: 'Save' });
  await field.fill('{"bed":1}');
  await save.click();
  await page.getByText('Saved.').waitFor();
  await field.fill('{"bed":2}');
  await site.api.setCustomData(site.bed, '{"by":"another"}');
  await save.click();
  await page.getByText('Somebody else has changed this meanwhile.').waitFor();
  const stored = await site.api.request('GET', `${site.path}/devices/${site.bed.id}/custom-data`);
  expect(await stored.text()).toBe('{"by":"another"}');
  await page.getByText('This is stored now:').waitFor();
  await page.getByText('{"by":"another"}').waitFor();
  await page.getByRole('button', { name: 'Save mine instead' }).click();
  await page.getByText('Saved.').waitFor();
  expect(await field.inputValue()).toBe('{"bed":2}');
  await site.api.setCustomData(site.bed, '{"by":"a third"}');
  await field.fill('{"bed":3}');
  await save.click();
  await page.getByRole('button', { name: 'Discard the changes' }).click();
  await expect.poll(() => field.inputValue()).toBe('{"by":"a third"}');
});

it('shows stored custom data as soon as the gateway has confirmed it', async () => {
  const { page } = await openDevice('Haus Sofort');
  const field = page.getByRole('textbox', { name: 'Custom data' });
  await field.waitFor();
  const isRead = (request: Request) => request.method() === 'GET';
  await page.route('**/custom-data', (route) =>
    // Reading again gets no answer while the test lasts.
    isRead(route.request()) ? undefined : route.continue(),
  );
  await field.fill('{"bed":2}');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  expect(await field.inputValue()).toBe('{"bed":2}');
});

it('gives a device a new secret, shown once as text and QR code, with which it connects', async () => {
  const { site, page } = await openDevice('Haus Geheimnis');
  const customData = page.getByRole('textbox', { name: 'Custom data' });
  await customData.fill('{"typed":1}');
  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByRole('dialog').getByText('must then be set up again').waitFor();
  await page.getByRole('button', { name: 'Make a new secret' }).click();
  const { deviceId, secret } = await labelOf(page);
  expect(deviceId).toBe(site.bed.id);
  const { mqttPort } = gateway;
  const text = setupText({ host: '127.0.0.1', mqttPort, tls: false, deviceId, secret });
  // The label appears before the page has asked for the gateway's ports.
  await expect.poll(async () => (await labelOf(page)).path).toBe(drawn(text));
  await page.getByLabel('Address of the gateway').fill('gw.example');
  await page.getByLabel('Devices connect over TLS').check();
  await page.getByText('gw.example:9883 · TLS').waitFor();
  const expected = { host: 'gw.example', mqttPort: 9883, tls: true, deviceId, secret };
  await expect.poll(async () => (await labelOf(page)).path).toBe(drawn(JSON.stringify(expected)));
  await expect(connectDevice(gateway, site.bed)).rejects.toThrow();
  await (await connect(gateway, { username: deviceId, password: secret })).endAsync();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('heading', { level: 1, name: site.bed.name }).waitFor();
  expect(await page.getByText(secret).count()).toBe(0);
  expect(await customData.inputValue()).toBe('{"typed":1}');
});

it('prints a label with name, room, id and secret, and nothing else of the page', async () => {
  const { page } = await openDevice('Haus Druck');
  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByRole('button', { name: 'Make a new secret' }).click();
  const { secret } = await labelOf(page);
  await page.emulateMedia({ media: 'print' });
  const printed = await page.locator('body').innerText();
  for (const text of ['Fall sensor, bed 1', 'Haus Druck · Room 7', secret]) {
    expect(printed).toContain(text);
  }
  for (const text of ['Print labels', 'Copy', 'Sign out']) expect(printed).not.toContain(text);
});

it('sends a test alarm, which every subscriber gets, marked as a test', async () => {
  const { site, page } = await openDevice('Haus Probe');
  const viewer = await site.api.viewer(site.locationId);
  const subscriber = await Subscriber.connect(gateway, viewer);
  await subscriber.subscribe(`care-homes/${site.locationId}/devices/+/alarms/#`);
  await page.getByRole('button', { name: 'Send a test alarm' }).click();
  await page.getByLabel('Kind').selectOption('fall');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('The test alarm was sent.').waitFor();
  await subscriber.untilCount(1);
  const [alarm] = subscriber.messages('/alarms/fall');
  const parsed = z.object({ data: z.object({ test: z.literal(true) }) }).safeParse(alarm);
  expect(parsed.success).toBe(true);
  await page.locator('.home-alarms').getByText('Fall').waitFor();
  await subscriber.end();
});
