import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { connectDevice } from '../../former/clients/mqtt-clients.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { accessibilityFaults } from '../accessibility.js';
import { openConsole } from '../browser.js';
import { boardReady, makeWard } from './board-ward.js';

it.each([
  ['en-GB', 'Nothing comes from 1 sensor any more:'],
  ['de-DE', 'Von 1 Sensor kommt nichts mehr:'],
] as const)('the board names the silent sensors (%s)', async (language, words) => {
  const clock = { aheadMs: 0 };
  const gateway = await GatewayHere.start(
    { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: '60' },
    { elapsed: () => performance.now() + clock.aheadMs },
  );
  onTestFinished(() => gateway.remove());
  const ward = await makeWard(gateway);
  const device = await connectDevice(gateway, ward.device);
  await device.endAsync();
  clock.aheadMs = 61_000;
  const grants = [{ location: ward.locationId, role: 'viewer' as const }];
  const { token } = await ward.api.createToken(grants, 'Nurses');
  await expect
    .poll(() => ward.api.json('GET', `/care-homes/${ward.locationId}/supervision`))
    .toHaveLength(1);
  const { page } = await openConsole(gateway, { token, language });
  if (language === 'en-GB') await boardReady(page);
  const line = page.getByText(words).locator('..');
  await line.waitFor();
  expect(await line.innerText()).toContain('Bed sensor (Room 12)');
  expect(await accessibilityFaults(page)).toEqual([]);
});

it.each([
  ['en-GB', 'Which sensors are silent is not known at the moment.'],
  ['de-DE', 'Welche Sensoren verstummt sind, ist zurzeit nicht bekannt.'],
] as const)(
  'the board says so when it does not know who is silent (%s)',
  async (language, words) => {
    const gateway = await GatewayHere.start();
    onTestFinished(() => gateway.remove());
    const ward = await makeWard(gateway);
    const grants = [{ location: ward.locationId, role: 'viewer' as const }];
    const { token } = await ward.api.createToken(grants, 'Nurses');
    const prepare = (page: Page) => page.route('**/supervision', (route) => route.abort());
    const { page } = await openConsole(gateway, { token, language, prepare });
    await page.getByText(words).waitFor();
  },
);

it('the board shows one line for a dead switch, however many sensors are behind it', async () => {
  const clock = { aheadMs: 0 };
  const gateway = await GatewayHere.start(
    { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: '60' },
    { elapsed: () => performance.now() + clock.aheadMs },
  );
  onTestFinished(() => gateway.remove());
  const ward = await makeWard(gateway);
  for (let index = 0; index < 100; index++) {
    const device = await ward.api.createDevice(ward.locationId, `Bed ${index}`);
    await (await connectDevice(gateway, device)).endAsync();
  }
  clock.aheadMs = 61_000;
  await expect
    .poll(() => ward.api.json('GET', `/care-homes/${ward.locationId}/supervision`))
    .toHaveLength(100);
  const grants = [{ location: ward.locationId, role: 'viewer' as const }];
  const { token } = await ward.api.createToken(grants, 'Nurses');
  const { page } = await openConsole(gateway, { token });
  const lines = page.getByText('Nothing comes from 100 sensors any more:').locator('..');
  await lines.waitFor();
  expect(await lines.count()).toBe(1);
  expect(await lines.innerText()).toMatch(/94 more/);
});
