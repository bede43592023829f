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
    errors: z
      .array(
        z.object({
          path: z.string().openapi({
            description: 'Dotted; empty where it is the request or its body as a whole.',
            example: 'grants.0.role',
          }),
          message: z.string(),
        }),
      )
      .min(1)
      .optional()
      .openapi({ description: 'What is wrong with the input: of every 400, and of nothing else.' }),
  })
  .openapi('Problem');
