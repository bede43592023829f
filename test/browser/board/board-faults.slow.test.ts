import { randomUUID } from 'node:crypto';
import type { Route } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { connectDevice } from '../../former/clients/mqtt-clients.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { Store } from '../../former/stored/store.js';
import { accessibilityFaults } from '../accessibility.js';
import { installClock, Network, openConsole } from '../browser.js';
import {
  alarmsOn,
  boardReady,
  changeState,
  makeWard,
  publishAlarm,
  type Ward,
} from './board-ward.js';

let gateway: GatewayProcess;
let ward: Ward;

beforeAll(async () => {
  gateway = await GatewayProcess.start();
});

afterAll(() => gateway.remove());

beforeEach(async () => {
  ward = await makeWard(gateway);
});

/** The board retries a failed read after this time. */
const READ_AGAIN_MS = 3_000;

async function openBoard(role: 'viewer' | 'responder' = 'viewer') {
  const issued = await ward.api.createToken([{ location: ward.locationId, role }]);
  const network = await Network.to(gateway);
  const opened = await openConsole(network, { token: issued.token });
  await boardReady(opened.page);
  return { ...opened, network, tokenId: issued.id };
}

describe('the board in trouble', () => {
  it('shows in large letters that it is disconnected when the gateway is killed, and misses nothing once it is back', async () => {
    const { page, faults } = await openBoard();
    const acknowledged = randomUUID();
    await publishAlarm(gateway, ward.device, { id: acknowledged, kind: 'fall' });
    await alarmsOn(page).waitFor();

    await gateway.kill();
    const banner = page.locator('.lost-banner');
    await banner.waitFor();
    // The title changes after the drawing.
    await expect.poll(() => page.title()).toMatch(/^Not connected/);
    expect(
      await banner.evaluate((element) => parseFloat(getComputedStyle(element).fontSize)),
    ).toBeGreaterThanOrEqual(24);
    expect(await accessibilityFaults(page)).toEqual([]);

    // The board comes back once it is online, and must learn what happened before.
    await page.context().setOffline(true);
    await gateway.start();
    await publishAlarm(gateway, ward.device, { kind: 'helpCall' });
    await changeState(ward, acknowledged, 'acknowledge');
    await publishAlarm(gateway, ward.device, { kind: 'noise' });
    await page.context().setOffline(false);

    await banner.waitFor({ state: 'detached' });
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByRole('article', { name: 'Noise, Room 12' }).waitFor();
    await page.getByRole('article', { name: 'Help call, Room 12' }).waitFor();
    await page.getByText('Acknowledged by admin').waitFor();
    expect(await alarmsOn(page).count()).toBe(3);
    expect(faults).toEqual([]);
  });

  it('does not say that there are no alarms while disconnected', async () => {
    const { page, network } = await openBoard();
    await page.getByText('No open alarms').waitFor();
    await network.cut(page);
    await page.getByText('Whether there are open alarms is not known at the moment.').waitFor();
    expect(await page.getByText('No open alarms').count()).toBe(0);
    await page.getByRole('heading', { name: 'Open alarms', exact: true }).waitFor();
  });

  it('shows an alarm once when the store is killed, first live and then stored', async () => {
    const { page } = await openBoard();
    const store = await Store.of(gateway);
    onTestFinished(() => store.close());
    const device = await connectDevice(gateway, ward.device);
    onTestFinished(() => device.endAsync(true));
    store.freeze();
    const id = randomUUID();
    const stored = device.publishAsync(
      `devices/${ward.device.id}/alarms`,
      JSON.stringify({ id, kind: 'fall' }),
      { qos: 1 },
    );
    await page.getByRole('article', { name: 'Fall, Room 12' }).waitFor();
    store.kill();
    await stored;
    await publishAlarm(gateway, ward.device, { kind: 'noise' });
    await page.getByRole('article', { name: 'Noise, Room 12' }).waitFor();
    expect(await alarmsOn(page).count()).toBe(2);
    await changeState(ward, id, 'acknowledge');
    await page.getByText('Acknowledged by admin').waitFor();
  });

  it('does not say that there are no alarms while it reads what it missed', async () => {
    const { page, network } = await openBoard();
    await page.getByText('No open alarms').waitFor();
    // The gateway cannot tell what came after this id, as after a restored backup.
    await page.route('**/events?*', (route) => {
      const headers = { ...route.request().headers(), 'last-event-id': 'deadbeef-1-' };
      return route.continue({ headers });
    });
    const held = new Promise<Route>((resolve) => {
      void page.route('**/alarms?*', resolve);
    });
    await network.cut(page);
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    await network.mend(page);
    const reading = await held;
    await page.getByText('Connected', { exact: true }).waitFor();
    expect(await page.getByText('No open alarms').count()).toBe(0);
    await page.unroute('**/alarms?*');
    await reading.continue();
    await page.getByText('New alarm: Fall, Room 12').waitFor({ state: 'attached' });
    await page.getByRole('heading', { name: 'Open alarms: 1' }).waitFor();
  });

  it('announces what it missed even if the history is read only at the second attempt', async () => {
    const other = await makeWard(gateway, 'Haus am Berg');
    const grants = [ward, other].map(({ locationId }) => ({
      location: locationId,
      role: 'viewer',
    }));
    const { token } = await ward.api.createToken(grants);
    const network = await Network.to(gateway);
    const { page } = await openConsole(network, { token, prepare: installClock });
    await boardReady(page);
    await page.route('**/events?*', (route) => {
      const headers = { ...route.request().headers(), 'last-event-id': 'deadbeef-1-' };
      return route.continue({ headers });
    });
    await network.cut(page);
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    const isRead = page.waitForResponse((response) =>
      response.url().includes(`/care-homes/${ward.locationId}/alarms?`),
    );
    await page.route(`**/care-homes/${other.locationId}/alarms?*`, async (route) => {
      await isRead;
      return route.abort();
    });
    await network.mend(page);
    await page.getByText('The alarms from before could not be read').waitFor();
    await page.unroute(`**/care-homes/${other.locationId}/alarms?*`);
    await page.clock.fastForward(READ_AGAIN_MS);
    await page.getByText('New alarm: Fall, Room 12').waitFor({ state: 'attached' });
  });

  it('keeps an alarm that a full store has not recorded when the history is read again', async () => {
    const { page, network } = await openBoard();
    const store = await Store.of(gateway);
    onTestFinished(() => store.close());
    const device = await connectDevice(gateway, ward.device);
    onTestFinished(() => device.endAsync(true));
    await store.redis.config('SET', 'maxmemory', 1);
    onTestFinished(async () => void (await store.redis.config('SET', 'maxmemory', 0)));
    const topic = `devices/${ward.device.id}/alarms`;
    const recorded = device.publishAsync(topic, '{"kind":"fall"}', { qos: 1 });
    const alarm = page.getByRole('article', { name: 'Fall, Room 12' });
    await alarm.waitFor();
    const held = new Promise<Route>((resolve) => {
      void page.route('**/alarms?*', resolve);
    });
    await page.route('**/events?*', (route) => {
      const headers = { ...route.request().headers(), 'last-event-id': 'deadbeef-1-' };
      return route.continue({ headers });
    });
    await network.cut(page);
    await network.mend(page);
    const reading = await held;
    await page.getByRole('heading', { name: 'Open alarms', exact: true }).waitFor();
    await page.unroute('**/alarms?*');
    await reading.continue();
    await page.getByRole('heading', { name: 'Open alarms: 1' }).waitFor();
    await store.redis.config('SET', 'maxmemory', 0);
    await recorded;
    const isRead = page.waitForResponse((response) => response.url().includes('/alarms?'));
    await network.cut(page);
    await network.mend(page);
    await isRead;
    await page.getByRole('heading', { name: 'Open alarms: 1' }).waitFor();
    expect(await alarmsOn(page).count()).toBe(1);
  });

  it('says that earlier alarms are unknown when the store cannot be read, and reads them later', async () => {
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    const { token } = await ward.api.viewer(ward.locationId);
    const store = await Store.of(gateway);
    onTestFinished(() => store.close());
    store.freeze();
    onTestFinished(() => store.thaw());
    const { page } = await openConsole(gateway, { token, prepare: installClock });
    await page.getByText('The alarms from before could not be read').waitFor();
    expect(await page.getByText('No open alarms').count()).toBe(0);
    expect(await accessibilityFaults(page)).toEqual([]);
    store.thaw();
    await page.clock.fastForward(READ_AGAIN_MS);
    await page.getByRole('article', { name: 'Fall, Room 12' }).waitFor();
    await page.getByText('The alarms from before could not be read').waitFor({ state: 'hidden' });
  });

  it('leaves an alarm unchanged, and says why, when the gateway cannot change it', async () => {
    const { page } = await openBoard('responder');
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    await alarmsOn(page).waitFor();
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    await alarmsOn(page).getByText('The gateway does not answer.').waitFor();
    expect(await alarmsOn(page).getByText('Raised').count()).toBe(1);
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText('Acknowledged by nurse call').waitFor();
  });

  it('asks for another token when its own is deleted', async () => {
    const { page, tokenId } = await openBoard();
    await ward.api.json('DELETE', `/access-tokens/${tokenId}`);
    await page.getByText('The gateway does not know this token, or it has ended.').waitFor();
    expect(await alarmsOn(page).count()).toBe(0);
  });
});
