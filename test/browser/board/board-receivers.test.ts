import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../former/clients/mqtt-clients.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { SECRET, WebhookReceiver } from '../../outputs/webhook-receiver.js';
import { accessibilityFaults } from '../accessibility.js';
import { type ConsoleOptions, openConsole } from '../browser.js';
import { makeWard, publishAlarm, type Ward } from './board-ward.js';

const MINUTE_MS = 60_000;

let receiver: WebhookReceiver;
let gateway: GatewayHere;
let ward: Ward;
let aheadMs = 0;

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  gateway = await GatewayHere.create(
    {},
    { now: () => Date.now() + aheadMs, elapsed: () => performance.now() + aheadMs },
  );
  const topics = ['care-homes/+/devices/+/alarms/+'];
  const url = `http://127.0.0.1:${receiver.port}/`;
  const webhook = { name: 'night-app', type: 'webhook', url, secret: SECRET, topics };
  await gateway.configure({ outputs: [{ ...webhook, allowPrivate: true }] });
  await gateway.start();
  ward = await makeWard(gateway);
});

afterAll(async () => {
  await gateway.remove();
  await receiver.stop();
});

const LANGUAGES: readonly [ConsoleOptions['language'], RegExp, RegExp][] = [
  [
    'en-GB',
    /The nurse call station-1 has got no alarms since .*\d/,
    /The receiver night-app has taken no alarms since .*\d/,
  ],
  [
    'de-DE',
    /Die Rufanlage station-1 bekommt seit .*\d.* keine Alarme/,
    /Der Empfänger night-app nimmt seit .*\d.* keine Alarme an/,
  ],
];

describe('the board in words that a nurse understands', () => {
  it('says who gets no alarms, and since when, until they get them', async () => {
    receiver.answer = () => ({ status: 401 });
    const station = await ward.api.viewer(ward.locationId);
    const open = () =>
      connect(gateway, {
        username: station.id,
        password: station.token,
        clientId: 'station-1',
        clean: false,
      });
    const away = await open();
    await away.subscribeAsync('care-homes/+/devices/+/alarms/#', { qos: 1 });
    await away.endAsync();
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    aheadMs += MINUTE_MS;
    const pages = await Promise.all(
      LANGUAGES.map(async ([language, nurseCall, webhook]) => {
        const { page } = await openConsole(gateway, { token: ADMIN_TOKEN, language });
        await page.getByText(nurseCall).waitFor();
        await page.getByText(webhook).waitFor();
        expect(await accessibilityFaults(page)).toEqual([]);
        return page;
      }),
    );
    receiver.answer = () => ({ status: 204 });
    aheadMs += MINUTE_MS;
    const back = await open();
    for (const [index, [, nurseCall, webhook]] of LANGUAGES.entries()) {
      await pages[index]?.getByText(webhook).waitFor({ state: 'detached' });
      await pages[index]?.getByText(nurseCall).waitFor({ state: 'detached' });
    }
    await back.endAsync();
  });
});

describe('the gateway page', () => {
  it('creates the unknown device for which a hub publishes', async () => {
    const id = randomUUID();
    const token = await ward.api.createToken([{ location: '*', role: 'publisher' }], 'Zigbee');
    const hub = await connect(gateway, { username: token.id, password: token.token });
    await hub.publishAsync(`devices/${id}/alarms`, '{"kind":"fall"}', { qos: 1 });
    const { page } = await openConsole(gateway, { token: ADMIN_TOKEN, path: '/gateway' });
    await page.getByText('through Zigbee').waitFor();
    await page.getByRole('button', { name: 'Create this device' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Bed 7');
    await dialog.getByRole('combobox').selectOption({ label: 'Haus am See' });
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('through Zigbee').waitFor({ state: 'detached' });
    await hub.publishAsync(`devices/${id}/alarms`, '{"kind":"fall"}', { qos: 1 });
    const history = await ward.api.json(
      'GET',
      `/care-homes/${ward.locationId}/devices/${id}/alarms`,
    );
    expect(history).toMatchObject({ events: [{ kind: 'fall' }] });
    await hub.endAsync();
  });
});
