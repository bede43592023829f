import type { TestDevice } from '../former/clients/api.js';
import { Subscriber } from '../former/clients/mqtt-clients.js';
import type { Home } from '../former/home.js';

/** Creates an absent session subscribed to the device's alarms. Returns its client id. */
export async function absentNurse(of: Home, device: TestDevice): Promise<string> {
  const clientId = `absent-${device.id}`;
  const session = { clientId, clean: false };
  const nurse = await Subscriber.connect(of.gateway, of.viewer, session);
  await nurse.subscribe(of.filter(device, 'alarms/#'));
  await nurse.end();
  return clientId;
}

export async function backlogOf(of: Home, clientId: string, count: number): Promise<Subscriber> {
  const nurse = await Subscriber.connect(of.gateway, of.viewer, { clientId, clean: false });
  await nurse.untilCount(count);
  return nurse;
}

export const ALARM = '{"kind":"helpCall"}';
