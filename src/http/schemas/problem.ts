import { z } from '@hono/zod-openapi';

/** RFC 9457, with the gateway's own members. */
export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z
      .string()
      .optional()
      .openapi({ description: 'The path of the request, where it could be read.' }),
    code: z.string().openapi({ description: 'Stable, kebab-case.', example: 'device-not-found' }),
    requestId: z.string().openapi({ description: 'The same as in `X-Request-Id`.' }),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .openapi('Problem');
