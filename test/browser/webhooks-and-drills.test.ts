import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice } from '../former/clients/api.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { Home } from '../former/home.js';
import { SECRET, WebhookReceiver } from '../outputs/webhook-receiver.js';
import { accessibilityFaults } from './accessibility.js';
import { type ConsoleOptions, openConsole } from './browser.js';

const WEBHOOK = 'nurse-app';

let receiver: WebhookReceiver;
let home: Home<GatewayHere>;
let device: TestDevice;

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  const gateway = await GatewayHere.create();
  const topics = ['care-homes/+/devices/+/alarms/+'];
  const url = `http://127.0.0.1:${receiver.port}/`;
  const webhook = { name: WEBHOOK, type: 'webhook', url, secret: SECRET, topics };
  await gateway.configure({ outputs: [{ ...webhook, allowPrivate: true }] });
  await gateway.start();
  home = await Home.at(gateway);
  device = await home.device('Bett am Fenster');
});

afterAll(async () => {
  await home.remove();
  await receiver.stop();
});

async function open(path: string, options: ConsoleOptions = {}): Promise<Page> {
  const { page } = await openConsole(home.gateway, { token: ADMIN_TOKEN, path, ...options });
  return page;
}

describe('the webhooks', () => {
  it('are shown with their dead letters, which are resent on demand', async () => {
    receiver.answer = () => ({ status: 400 });
    await home.publishLast(device, 'alarms', '{"kind":"fall"}');
    const page = await open('/gateway/webhooks');
    const row = page.getByRole('row').filter({ hasText: WEBHOOK });
    await row.getByText('1 refused').waitFor();
    expect(await row.textContent()).toContain('refuses alarms');
    await row.getByRole('button', { name: `Dead letters of ${WEBHOOK}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('/alarms/fall').waitFor();
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await dialog.getByText('0 delivered, then: the receiver answers 400.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    receiver.answer = () => ({ status: 204 });
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await dialog.getByText('There are none.').waitFor();
    await dialog.getByText('1 delivered.').waitFor();
    expect(receiver.received.map(({ status }) => status)).toEqual([400, 400, 204]);
  });

  it('are shown in German', async () => {
    const page = await open('/gateway/webhooks', { language: 'de-DE' });
    await page.getByRole('row').filter({ hasText: WEBHOOK }).getByText('stellt zu').waitFor();
  });
});

describe('the drills of a home', () => {
  it('are started by a manager, and show which destination acknowledged them', async () => {
    const page = await open(`/home/${home.locationId}`);
    await page.getByRole('link', { name: 'Drills' }).click();
    await page.getByText('There has been no drill yet.').waitFor();
    await page.getByRole('button', { name: 'Start a drill' }).click();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Start a drill' }).click();
    const row = page.getByRole('row').filter({ hasText: WEBHOOK });
    await row.getByText(/after [\d,]+ ms/).waitFor();
    await row.getByText('passed').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('are shown to a viewer without the button, in German', async () => {
    const { token } = home.viewer;
    const page = await open(`/home/${home.locationId}/drills`, { token, language: 'de-DE' });
    await page.getByText('bestanden').waitFor();
    expect(await page.getByRole('button', { name: 'Probealarm auslösen' }).count()).toBe(0);
  });
});

describe('the report of an alarm', () => {
  it('is a separate page, with who got the alarm when, for printing', async () => {
    const page = await open('/history');
    const drill = page.locator('.history-table tbody tr').filter({ hasText: 'Help call' });
    await drill.getByText('Test', { exact: true }).waitFor();
    await page.getByLabel('Without tests and drills').check();
    await drill.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: /^Details: Fall/ }).click();
    await page.getByRole('link', { name: 'Alarm report' }).click();
    await page.getByRole('heading', { name: 'Alarm report' }).waitFor();
    await page.getByText(`${WEBHOOK}: not delivered, left out,`).waitFor();
    await page.getByRole('cell', { name: `Bett am Fenster (${device.id})` }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('button', { name: 'Print' }).isVisible()).toBe(false);
    expect(await page.getByRole('navigation').isVisible()).toBe(false);
  });
});
