import { expect } from 'vitest';
import { z } from 'zod';
import type { TestGateway } from '../harness.js';

/** Without the current names: they are not part of a record. */
const eventSchema = z
  .strictObject({
    id: z.string().regex(/^[1-9]\d*$/),
    at: z.iso.datetime({ precision: 3 }),
    action: z.string(),
    actor: z
      .strictObject({
        type: z.string(),
        id: z.string().nullable(),
        name: z.string().nullable(),
        address: z.string().nullable(),
        requestId: z.string().nullable(),
      })
      .transform(({ name: _, ...actor }) => actor),
    locationId: z.string().nullable(),
    locationName: z.string().nullable(),
    resourceId: z.string().nullable(),
    resourceName: z.string().nullable(),
    details: z.record(z.string(), z.unknown()),
  })
  .transform(({ locationName: _, resourceName: _name, ...event }) => event);
const pageSchema = z.strictObject({
  nextCursor: z.string().nullable(),
  events: z.array(eventSchema),
});
export type Event = z.infer<typeof eventSchema>;

/** Reads a page as the administrator. */
export async function page(gateway: TestGateway, query = '') {
  const answer = await gateway.admin('GET', `/audit?${query}`);
  expect(`${query} ${answer.status}`).toBe(`${query} 200`);
  return pageSchema.parse(answer.json);
}

/** The records written during the work. */
export async function recordsOf(
  gateway: TestGateway,
  work: () => Promise<unknown>,
): Promise<Event[]> {
  const before = await gateway.recordCount();
  await work();
  const { events } = await page(gateway);
  return events.filter(({ id }) => Number(id) > before);
}
