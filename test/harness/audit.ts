import { z } from 'zod';
import type { Api } from './api.js';

const pageSchema = z.object({
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

/** The newest hundred records of the audit trail that match, newest first. */
export async function auditOf(api: Api, query = '') {
  return pageSchema.parse(await api.json('GET', `/audit?${query}`)).events;
}
