import type { Locator, Page } from 'playwright-core';
import type { Api, TestDevice } from '../../former/clients/api.js';
import { connectDevice } from '../../former/clients/mqtt-clients.js';
import type { RunningGateway } from '../../former/gateway/running-gateway.js';
import { Home } from '../../former/home.js';
import { type ConsoleOptions, openConsole } from '../browser.js';

/** A room with a device, in a home that boards show. */
export interface Ward {
  readonly api: Api;
  readonly locationId: string;
  readonly groupId: string;
  readonly device: TestDevice;
}

/** Creates a home with a device in a room of a group, with custom data. */
export async function makeWard(
  gateway: RunningGateway,
  homeName = 'Haus am See',
  roomName = 'Room 12',
): Promise<Ward> {
  const home = await Home.at(gateway, homeName);
  const { api, locationId } = home;
  const groupId = await home.group('First floor');
  const device = await home.deviceIn(await home.room(roomName, groupId), 'Bed sensor');
  await api.setCustomData(device, '{"bed":2,"mobile":false,"languages":["de","tr"]}');
  return { api, locationId, groupId, device };
}

/** Opens a board for a token with one role, in a separate home unless a ward is given. */
export async function openBoard(
  gateway: RunningGateway,
  role: 'viewer' | 'responder',
  ward?: Ward,
  options: Pick<ConsoleOptions, 'prepare'> = {},
) {
  const home = ward ?? (await makeWard(gateway));
  const grants = [{ location: home.locationId, role }];
  const { token } = await home.api.createToken(grants, 'Nurses');
  const opened = await openConsole(gateway, { token, ...options });
  await boardReady(opened.page);
  return { ...opened, ward: home };
}

/** Publishes an alarm like a device, and waits until the gateway has taken it. */
export async function publishAlarm(
  gateway: RunningGateway,
  device: TestDevice,
  alarm: Readonly<Record<string, unknown>>,
): Promise<void> {
  const client = await connectDevice(gateway, device);
  await client.publishAsync(`devices/${device.id}/alarms`, JSON.stringify(alarm), { qos: 1 });
  await client.endAsync();
}

/** Raises a test alarm of the ward's device. */
export async function raiseTest({ api, locationId, device }: Ward, kind: string): Promise<void> {
  await api.json('POST', `/care-homes/${locationId}/devices/${device.id}/test-alarm`, { kind });
}

/** Gives an alarm a state, as another client does. */
export async function changeState(
  { api, locationId }: Ward,
  alarmId: string,
  change: 'acknowledge' | 'resolve',
  note?: string,
): Promise<void> {
  await api.json('POST', `/care-homes/${locationId}/alarms/${alarmId}/${change}`, { note });
}

export function alarmsOn(page: Page): Locator {
  return page.locator('.board-alarm');
}

/** Waits until the board is connected and has read the open alarms. */
export async function boardReady(page: Page): Promise<void> {
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.locator('.board-none, .board-alarm').first().waitFor();
}
