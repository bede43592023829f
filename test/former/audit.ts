import { z } from 'zod';
import type { Api } from './clients/api.js';

const pageSchema = z.object({
  nextCursor: z.string().nullish(),
  events: z.array(
    z.object({
      id: z.string(),
      at: z.string(),
      action: z.string(),
      actor: z.object({
        type: z.string(),
        id: z.string().nullable(),
        address: z.string().nullable(),
        requestId: z.string().nullable(),
      }),
      locationId: z.string().nullable(),
      resourceId: z.string().nullable(),
      details: z.record(z.string(), z.unknown()),
    }),
  ),
});

/** The newest hundred matching records of the audit trail, newest first. */
export async function auditOf(api: Api, query = '') {
  return pageSchema.parse(await api.json('GET', `/audit?${query}`)).events;
}

/** How many denials the records stand for: beyond ten a second, one record counts the rest. */
export function denialCount(events: readonly { readonly details: Record<string, unknown> }[]) {
  return events.reduce((sum, { details }) => sum + Number(details['count'] ?? 1), 0);
}

/** All records that match, page after page. */
export async function allAuditOf(api: Api, query: string) {
  const events: z.infer<typeof pageSchema>['events'] = [];
  let cursor: string | null | undefined;
  do {
    const path = `/audit?${query}${cursor ? `&cursor=${cursor}` : ''}`;
    const page = pageSchema.parse(await api.json('GET', path));
    events.push(...page.events);
    cursor = page.nextCursor;
  } while (cursor);
  return events;
}
