import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { mosquittoPub } from '../../former/clients/commands.js';
import { connect, connectDevice } from '../../former/clients/mqtt-clients.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { installClock, openConsole, setClockAhead } from '../browser.js';
import {
  alarmsOn,
  boardReady,
  changeState,
  makeWard,
  openBoard,
  publishAlarm,
} from './board-ward.js';

let gateway: GatewayHere;

beforeAll(async () => {
  gateway = await GatewayHere.start();
});

afterAll(() => gateway.remove());

describe('the board', () => {
  it('shows and announces an alarm when mosquitto_pub publishes it', async () => {
    const { page, ward, faults } = await openBoard(gateway, 'viewer');
    await page.getByText('No open alarms').waitFor();
    const alarms = [ward.device, 'alarms', '{"kind":"fall"}'] as const;
    expect(await mosquittoPub(gateway, ...alarms, '-q', '1').exit()).toBe(0);

    const alarm = page.getByRole('article', { name: 'Fall, Room 12' });
    // It gets its text with its first drawing, a moment after it is there.
    await expect.poll(() => alarm.innerText()).toMatch(/First floor · Bed sensor/);
    const text = await alarm.innerText();
    expect(text).toMatch(/bed:?\s+2/);
    expect(text).toMatch(/mobile:?\s+no/);
    expect(text).toMatch(/languages:?\s+de, tr/);
    expect(text).toMatch(/Raised\s+New/);
    const said = await page.locator('[role="alert"]').allInnerTexts();
    expect(said).toEqual(['New alarm: Fall, Room 12, Bed sensor']);
    await expect.poll(() => page.title()).toContain('(1)');
    expect(faults).toEqual([]);
  });

  it('shows who acknowledged an alarm, and removes it when another client resolves it', async () => {
    const { page, ward } = await openBoard(gateway, 'viewer');
    const id = randomUUID();
    await publishAlarm(gateway, ward.device, { id, kind: 'helpCall' });
    await alarmsOn(page).waitFor();
    await changeState(ward, id, 'acknowledge', 'On my way');
    await page.getByText('Acknowledged by admin').waitFor();
    await page.getByText('Note: On my way').waitFor();
    await changeState(ward, id, 'resolve');
    await page.getByText('No open alarms').waitFor();
    expect(await alarmsOn(page).count()).toBe(0);
    await expect.poll(() => page.title()).toMatch(/^Board/);
  });

  it('shows numbers of the custom data as written, live and after a reload', async () => {
    const { page, ward } = await openBoard(gateway, 'viewer');
    await ward.api.setCustomData(ward.device, '{"phone":9007199254740993,"more":{"d":1.10}}');
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    const alarm = page.getByRole('article', { name: 'Fall, Room 12' });
    const written = /phone:?\s+9007199254740993\s+more:?\s+\{"d":1\.10\}/;
    await expect.poll(() => alarm.innerText()).toMatch(written);
    await page.reload();
    await boardReady(page);
    await expect.poll(() => alarm.innerText()).toMatch(written);
  });

  it('reads the alarms that were open before, and keeps them across a reload', async () => {
    const ward = await makeWard(gateway);
    const ids = [randomUUID(), randomUUID()] as const;
    await publishAlarm(gateway, ward.device, { id: ids[0], kind: 'fall' });
    await publishAlarm(gateway, ward.device, { id: ids[1], kind: 'noise' });
    await changeState(ward, ids[0], 'acknowledge');
    const { page } = await openBoard(gateway, 'viewer', ward);
    const titles = async () => page.getByRole('article').getByRole('heading').allInnerTexts();
    expect(await titles()).toEqual(['Noise, Room 12', 'Fall, Room 12']);
    await page.reload();
    await boardReady(page);
    expect(await titles()).toEqual(['Noise, Room 12', 'Fall, Room 12']);
    await page.getByText('Acknowledged by admin').waitFor();
  });

  it('shows a group’s token only what happens in the group', async () => {
    const ward = await makeWard(gateway);
    const elsewhere = await ward.api.createDevice(ward.locationId, 'Kitchen sensor');
    await publishAlarm(gateway, elsewhere, { kind: 'noise' });
    const grants = [{ location: ward.locationId, group: ward.groupId, role: 'responder' }];
    const { token } = await ward.api.createToken(grants);
    const { page } = await openConsole(gateway, { token });
    await boardReady(page);
    await publishAlarm(gateway, elsewhere, { kind: 'noise' });
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    await page.getByRole('article', { name: 'Fall, Room 12' }).waitFor();
    expect(await alarmsOn(page).count()).toBe(1);
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText('Acknowledged by').waitFor();
  });

  it('labels alarms with their home when there are several, and shows only the selected home', async () => {
    const [lake, hill] = [await makeWard(gateway), await makeWard(gateway, 'Haus am Berg')];
    const grants = [lake, hill].map(({ locationId }) => ({ location: locationId, role: 'viewer' }));
    const { token } = await lake.api.createToken(grants);
    const { page } = await openConsole(gateway, { token });
    await boardReady(page);
    await publishAlarm(gateway, lake.device, { kind: 'fall' });
    await publishAlarm(gateway, hill.device, { kind: 'noise' });
    await page.getByText('Haus am Berg · First floor').waitFor();
    await page.getByText('Haus am See · First floor').waitFor();
    await page.getByRole('combobox', { name: 'Home', exact: true }).selectOption('Haus am Berg');
    await page.getByText('Haus am See · First floor').waitFor({ state: 'hidden' });
    expect(await alarmsOn(page).count()).toBe(1);
  });

  it('shows all homes again when the selected one has been deleted', async () => {
    const ward = await makeWard(gateway);
    const { id: goneId } = await ward.api.createLocation('Haus am Berg');
    const grants = [ward.locationId, goneId].map((location) => ({ location, role: 'viewer' }));
    const { token } = await ward.api.createToken(grants);
    const { page } = await openConsole(gateway, { token, prepare: installClock });
    await boardReady(page);
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    const alarm = page.getByRole('article', { name: 'Fall, Room 12' });
    await alarm.waitFor();
    const choice = page.getByRole('combobox', { name: 'Home', exact: true });
    await choice.selectOption('Haus am Berg');
    await alarm.waitFor({ state: 'detached' });
    await ward.api.json('DELETE', `/care-homes/${goneId}`);
    await page.clock.fastForward('05:00');
    await choice.waitFor({ state: 'detached' });
    await alarm.waitFor();
    await publishAlarm(gateway, ward.device, { kind: 'noise' });
    await page.getByText('New alarm: Noise, Room 12').waitFor({ state: 'attached' });
  });

  it('does not count the alarms of other homes as those of the selected one', async () => {
    const [calm, busy] = [await makeWard(gateway), await makeWard(gateway, 'Haus am Berg')];
    const grants = [calm, busy].map(({ locationId }) => ({ location: locationId, role: 'viewer' }));
    const { token } = await calm.api.createToken(grants);
    const { page } = await openConsole(gateway, { token });
    await boardReady(page);
    const device = await connectDevice(gateway, busy.device);
    const topic = `devices/${busy.device.id}/alarms`;
    const alarms = Array.from({ length: 1_150 }, () =>
      device.publishAsync(topic, '{"kind":"noise"}', { qos: 1 }),
    );
    await Promise.all(alarms);
    await device.endAsync();
    await publishAlarm(gateway, calm.device, { kind: 'fall' });
    await page.getByRole('heading', { name: 'Open alarms: 1151' }).waitFor();
    await page.getByRole('combobox', { name: 'Home', exact: true }).selectOption('Haus am See');
    await page.getByRole('heading', { name: 'Open alarms: 1+' }).waitFor();
    expect(await alarmsOn(page).count()).toBe(1);
  });

  it('drops the alarms of a deleted home when one of them is acknowledged, or after minutes', async () => {
    const [one, other] = [await makeWard(gateway), await makeWard(gateway, 'Haus am Berg')];
    const grants = [one, other].map(({ locationId: location }) => ({
      location,
      role: 'responder',
    }));
    const { token } = await one.api.createToken(grants);
    const boards = [];
    for (const isLeftAlone of [false, true]) {
      const prepare = isLeftAlone ? (page: Page) => page.clock.install() : undefined;
      const { page } = await openConsole(gateway, { token, prepare });
      await boardReady(page);
      boards.push(page);
    }
    const [page, leftAlone] = boards;
    for (const ward of [one, other]) await publishAlarm(gateway, ward.device, { kind: 'fall' });
    for (const board of boards) await alarmsOn(board).nth(1).waitFor();
    await other.api.json('DELETE', `/care-homes/${other.locationId}/devices/${other.device.id}`);
    await other.api.json('DELETE', `/care-homes/${other.locationId}`);
    const gone = page?.locator('.board-alarm', { hasText: 'Haus am Berg' });
    await gone?.getByRole('button', { name: 'Acknowledge' }).click();
    await gone?.waitFor({ state: 'detached' });
    await leftAlone?.clock.fastForward('05:00');
    await leftAlone?.getByText('Haus am Berg').first().waitFor({ state: 'detached' });
    for (const board of boards) expect(await alarmsOn(board).count()).toBe(1);
  });

  it('offers a newly created home once an alarm arrives from it', async () => {
    const own = await GatewayHere.start();
    onTestFinished(() => own.remove());
    const ward = await makeWard(own);
    const { token } = await ward.api.createToken([{ location: '*', role: 'viewer' }]);
    const { page } = await openConsole(own, { token });
    await boardReady(page);
    const added = await makeWard(own, 'Haus am Berg');
    await publishAlarm(own, added.device, { kind: 'fall' });
    await page.getByText('Haus am Berg · First floor').waitFor();
    await page.getByRole('combobox', { name: 'Home', exact: true }).selectOption('Haus am See');
    await alarmsOn(page).waitFor({ state: 'detached' });
  });

  it('shows alarms on a tablet whose clock is days ahead, live and after a reload', async () => {
    const ward = await makeWard(gateway);
    const { token } = await ward.api.viewer(ward.locationId);
    const { page } = await openConsole(gateway, { token, prepare: setClockAhead });
    await page.getByText('No open alarms').waitFor();
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    const alarm = page.getByRole('article', { name: 'Fall, Room 12' });
    await alarm.waitFor();
    await expect.poll(() => alarm.innerText()).toMatch(/\d sec\. ago|now/);
    await page.reload();
    await alarm.waitFor();
  });

  it('shows an alarm immediately after the clock of the tablet was set back', async () => {
    const { page, ward } = await openBoard(gateway, 'viewer');
    await page.evaluate(() => {
      const before = Date.now.bind(Date);
      Date.now = () => before() - 60 * 60 * 1000;
    });
    await publishAlarm(gateway, ward.device, { kind: 'fall' });
    await page.getByRole('article', { name: 'Fall, Room 12' }).waitFor();
  });

  it('shows an open alarm however old it is, or is according to its sensor’s clock', async () => {
    const ward = await makeWard(gateway);
    const detectedAt = '2024-05-01T12:00:00Z';
    await publishAlarm(gateway, ward.device, { kind: 'inactivity', detectedAt });
    const { page } = await openBoard(gateway, 'viewer', ward);
    await page.getByRole('article', { name: 'Inactivity, Room 12' }).waitFor();
  });

  it('names the offline sensors with their rooms, as they come and go', async () => {
    const ward = await makeWard(gateway);
    const door = await ward.api.createDevice(ward.locationId, 'Door sensor');
    await ward.api.createDevice(ward.locationId, 'In its box');
    for (const one of [door, ward.device]) await (await connectDevice(gateway, one)).endAsync();
    const { page } = await openBoard(gateway, 'viewer', ward);
    await page.getByText('All sensors of Haus am See are offline.').waitFor();
    await page.getByText('No open alarms').waitFor();
    const device = await connectDevice(gateway, ward.device);
    const line = page.getByText('1 sensor is offline: Door sensor');
    await line.waitFor();
    expect(await page.getByText('In its box').count()).toBe(0);
    await device.endAsync();
    await page.getByText('All sensors of Haus am See are offline.').waitFor();
    await page.getByText('Bed sensor (Room 12)').waitFor();
    const link = page.getByRole('link', { name: 'Show the home' });
    expect(await link.getAttribute('href')).toBe(`#/home/${ward.locationId}`);
  });

  it('says nothing of a home behind a hub, until the hub is gone', async () => {
    const ward = await makeWard(gateway);
    const token = await ward.api.createToken(
      [{ location: ward.locationId, role: 'publisher' }],
      'Zigbee',
    );
    const hub = await connect(gateway, { username: token.id, password: token.token });
    await hub.publishAsync(`devices/${ward.device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
    const { page } = await openBoard(gateway, 'viewer', ward);
    await page.getByRole('article', { name: 'Fall, Room 12' }).waitFor();
    expect(await page.getByText('offline').count()).toBe(0);
    await hub.endAsync();
    await page.getByText('All sensors of Haus am See are offline.').waitFor();
  });

  it('tells a viewer of one ward about its sensors only', async () => {
    const ward = await makeWard(gateway);
    await (await connectDevice(gateway, ward.device)).endAsync();
    const elsewhere = await ward.api.createDevice(ward.locationId, 'Other ward');
    const other = await connectDevice(gateway, elsewhere);
    const grants = [{ location: ward.locationId, group: ward.groupId, role: 'viewer' as const }];
    const { token } = await ward.api.createToken(grants, 'Ward');
    const { page } = await openConsole(gateway, { token });
    await page.getByText('All sensors of First floor are offline.').waitFor();
    await other.endAsync();
  });

  it('speaks German', async () => {
    const ward = await makeWard(gateway, 'Haus am See', 'Zimmer 12');
    const language = 'de-DE' as const;
    const { page } = await openConsole(gateway, { token: ADMIN_TOKEN, language });
    await page.getByText('Verbunden', { exact: true }).waitFor();
    await publishAlarm(gateway, ward.device, { kind: 'outOfBed' });
    await page.getByRole('article', { name: 'Bett verlassen, Zimmer 12' }).waitFor();
    await page.getByText('Neuer Alarm: Bett verlassen, Zimmer 12, Bed sensor').waitFor();
    await page.getByRole('button', { name: 'Quittieren' }).first().waitFor();
  });
});
