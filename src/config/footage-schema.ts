import { z } from 'zod';
import { isWebUrl } from './listener-schema.js';

/** 5 GiB: the limit of one PUT in S3 as well. */
const MAX_UPLOAD_BYTES = 5 * 1024 ** 3;

const count = z.int().min(1);
const visibleText = z.string().regex(/^[!-~]+$/, 'must be visible ASCII characters');

/** The URL of an S3 server, without a path: the bucket's name follows it. */
const s3Endpoint = z
  .string()
  .refine(
    (text) => isWebUrl(text) && new URL(text).pathname === '/',
    'must be an http:// or https:// URL of a host and nothing else',
  );

const s3 = z.strictObject({
  endpoint: s3Endpoint.meta({
    description: 'an S3-compatible server',
    examples: ['https://s3.example.org'],
  }),
  region: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a region')
    .default('us-east-1')
    .describe('its region'),
  bucket: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
      'must be the name of a bucket (3 to 63 of a-z 0-9 . -)',
    )
    .meta({
      description: 'the bucket, whose rules decide how long recordings are kept',
      examples: ['footage'],
    }),
  pathStyle: z
    .boolean()
    .default(true)
    .describe(
      'https://s3.example.org/footage/… (true) or https://footage.s3.example.org/… (false)',
    ),
  accessKeyId: visibleText.meta({ description: 'the id of the access key', examples: ['<id>'] }),
  secretAccessKey: visibleText.meta({ description: 'its secret', examples: ['<secret>'] }),
});

/** Where recordings are kept. */
export const footageSchema = z.strictObject({
  maxUploadBytes: count
    .max(MAX_UPLOAD_BYTES)
    .default(104_857_600)
    .describe('a larger upload is 413'),
  minFreeBytes: z
    .int()
    .min(0)
    .default(268_435_456)
    .describe('what stays free on the disk; an upload that needs it is 507'),
  s3: s3.optional().describe('where recordings are. Left out: in <dataDir>/footage'),
});
