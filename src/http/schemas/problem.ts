import { z } from '@hono/zod-openapi';

/** RFC 9457, with the gateway's own members. */
export const problemSchema = z
  .object({
    type: z.string().openapi({ example: 'urn:problem-type:care-home-gateway:device-not-found' }),
    title: z.string().openapi({ example: 'Device not found' }),
    status: z.int(),
    detail: z.string(),
    instance: z
      .string()
      .optional()
      .openapi({ description: 'The path of the request, if readable.' }),
    code: z.string().openapi({ description: 'Stable, kebab-case.', example: 'device-not-found' }),
    requestId: z.string().openapi({ description: 'The value of `X-Request-Id`.' }),
    errors: z
      .array(
        z.object({
          path: z.string().openapi({
            description: 'Dotted; empty for the request or its body as a whole.',
            example: 'grants.0.role',
          }),
          message: z.string(),
        }),
      )
      .min(1)
      .optional()
      .openapi({ description: 'The faults of the input; present with status 400 only.' }),
  })
  .openapi('Problem');
