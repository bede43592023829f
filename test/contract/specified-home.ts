import { expect } from 'vitest';
import type { Api } from '../former/clients/api.js';

export const UUID = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
);

/** An answer's status and body, undefined when there is none. */
export async function answerOf(api: Api, method: string, path: string, body?: unknown) {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const response = await api.request(method, path, payload);
  const text = await response.text();
  return [response.status, text === '' ? undefined : JSON.parse(text)];
}

/** A location with its own paths, and a device in it. */
export async function homeOf(api: Api) {
  const { id } = await api.createLocation('Haus Birke');
  const path = `/care-homes/${id}`;
  const device = await api.createDevice(id, 'Bett 1');
  return { id, path, device, devicePath: `${path}/devices/${device.id}` };
}
