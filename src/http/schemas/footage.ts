import { z } from '@hono/zod-openapi';
import { FOOTAGE_TYPES } from '../../domain/alarm.js';
import { isFootageContentType } from '../../domain/footage.js';
import { EXAMPLE_FOOTAGE_URL, EXAMPLE_ID, timestampSchema } from './common.js';

const CONTENT_TYPE_FAULT = 'must be a media type of this type, such as video/mp4';

export const newFootageSchema = z
  .strictObject({
    type: z.enum(FOOTAGE_TYPES),
    contentType: z
      .string()
      .transform((text) => text.toLowerCase().replace(/\s*;.*$/s, ''))
      .openapi({
        type: 'string',
        pattern: '^([vV][iI][dD][eE][oO]|[aA][uU][dD][iI][oO])/\\S',
        example: 'video/mp4',
        description: 'A media type of `type`. Parameters are ignored.',
      }),
  })
  .superRefine(({ type, contentType }, context) => {
    if (isFootageContentType(contentType, type)) return;
    context.addIssue({ code: 'custom', path: ['contentType'], message: CONTENT_TYPE_FAULT });
  })
  .openapi('NewFootage');

export const preparedUploadSchema = z
  .object({
    key: z.string().openapi({
      description: 'The key for the device to name as `footage` of its alarm.',
      example: `${EXAMPLE_ID}/video/${EXAMPLE_ID}.mp4`,
    }),
    uploadUrl: z.url().openapi({
      description: 'The signed URL to PUT the recording to, once, with its `Content-Type`.',
      example: EXAMPLE_FOOTAGE_URL,
    }),
    expiresAt: timestampSchema,
  })
  .openapi('FootageUpload');

export const footagePathSchema = z.object({
  deviceId: z.string(),
  type: z.string(),
  file: z.string(),
});
