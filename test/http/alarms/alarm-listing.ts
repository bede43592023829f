import { expect } from 'vitest';
import { z } from 'zod';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import type { TestGateway } from '../harness.js';
export const pageSchema = z.strictObject({
  nextCursor: z.string().nullable(),
  events: z.array(z.looseObject({ id: z.string(), detectedAt: z.string() })),
});
export type Query = Readonly<Record<string, string | number>>;

/** A location with a device, and the paths of their alarms. */
export async function listedHome(gateway: TestGateway) {
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId);
  const ofLocation = `/care-homes/${locationId}/alarms`;
  const ofDevice = `/care-homes/${locationId}/devices/${deviceId}/alarms`;
  return { gateway, locationId, deviceId, ofLocation, ofDevice };
}

export function at(second: number): string {
  return new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
}

export function queryOf(parameters: Query): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) query.set(name, String(value));
  return query;
}

export async function page(
  gateway: TestGateway,
  path: string,
  parameters: Query = {},
  token = ADMIN_TOKEN,
) {
  const query = queryOf(parameters);
  const answer = await gateway.call('GET', `${path}?${query}`, { token });
  expect(`${query} ${answer.status}`).toBe(`${query} 200`);
  return pageSchema.parse(answer.json);
}

/** Follows the cursors to the end. */
export async function readAll(gateway: TestGateway, path: string, parameters: Query) {
  const ids: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const part = await page(
      gateway,
      path,
      cursor === undefined ? parameters : { ...parameters, cursor },
    );
    ids.push(...part.events.map(({ id }) => id));
    cursor = part.nextCursor;
  }
  return ids;
}
