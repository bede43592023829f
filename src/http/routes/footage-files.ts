import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Logger } from 'pino';
import { parseRecordingKey, type Recording } from '../../domain/footage.js';
import { GatewayError } from '../../errors.js';
import type { FootageFiles, SignedRequest } from '../../site/footage-store.js';
import type { SiteModel } from '../../site/site-model.js';
import { NO_SECURITY, notModified, problem, problems } from '../documents/openapi.js';
import type { HttpApp, HttpEnv } from '../http-env.js';
import { askForBody } from '../json-body.js';
import { footagePathSchema } from '../schemas/footage.js';
import { fileResponse } from '../server/file-response.js';

const tags = ['Footage'];
/** Timeout for a camera that sends nothing. */
const STALLED_AFTER_MS = 30_000;
const path = '/footage/{deviceId}/{type}/{file}';

/** Documented by hand: a validator would answer 400 to an altered URL, which must be 403. */
const parameters = ['expires', 'signature'].map((name) => ({
  name,
  in: 'query' as const,
  required: true,
  schema: { type: 'string' as const },
  description: 'As in the URL that the gateway made.',
}));
const bytes = {
  schema: { type: 'string', format: 'binary', example: 'The bytes of the recording.' },
} as const;
const media: Record<string, typeof bytes> = { 'video/*': bytes, 'audio/*': bytes };

const download = createRoute({
  method: 'get',
  path,
  operationId: 'downloadFootage',
  summary: 'Download a recording, by the signed URL of its alarm',
  tags,
  security: NO_SECURITY,
  parameters,
  request: { params: footagePathSchema },
  responses: {
    200: { description: 'The recording.', content: media },
    206: { description: 'The requested range of the recording.', content: media },
    ...notModified,
    ...problems.signed,
    416: problem('The recording has no such range.'),
  },
});

const upload = createRoute({
  method: 'put',
  path,
  operationId: 'uploadFootage',
  summary: "Upload a recording, by the device's signed URL",
  tags,
  security: NO_SECURITY,
  parameters,
  request: { params: footagePathSchema, body: { required: true, content: media } },
  responses: {
    200: { description: 'The recording is stored.' },
    ...problems.signed,
    ...problems.conflict,
    413: problem('The recording is too large.'),
    415: problem('The recording is in a content coding.'),
    429: problem('The device has too many uploads under way.'),
    507: problem('There is no room for the recording.'),
  },
});

/** The gateway's own recordings, open to any holder of a signed URL. */
export function registerFootageFiles(
  app: HttpApp,
  files: FootageFiles,
  model: SiteModel,
  log: Logger,
): void {
  app.openapi(download, async (c) => {
    const key = authorized(c, files, 'GET', c.req.valid('param'));
    return fileResponse(c, await files.open(key), log);
  });

  app.openapi(upload, async (c) => {
    const key = authorized(c, files, 'PUT', c.req.valid('param'));
    const recording = parseRecordingKey(key);
    // The URL of a deleted device may be in anyone's hands.
    if (recording === undefined || model.device(recording.deviceId) === undefined) {
      throw new GatewayError('footage-not-found', 'There is no such recording.');
    }
    requireUploadHeaders(c, recording);
    const announced = c.req.header('Content-Length');
    const announcedBytes = announced === undefined ? undefined : Number(announced);
    await files.receive({ recording, announcedBytes, chunks: uploadChunks(c) });
    c.header('ETag', `"${recording.id}"`);
    return c.body(null, 200);
  });
}

/** Checks the signature, and returns the object key. */
function authorized(
  c: Context<HttpEnv>,
  files: FootageFiles,
  method: SignedRequest['method'],
  { deviceId, type, file }: { deviceId: string; type: string; file: string },
): string {
  const key = `${deviceId}/${type}/${file}`;
  files.authorize({ method, key, query: new URL(c.req.url).search.slice(1) });
  return key;
}

/** Requires the content type of the signed key; as with S3, the signature covers no other. */
function requireUploadHeaders(c: Context<HttpEnv>, { contentType }: Recording): void {
  // Browsers add the codecs; parameters do not change the type (RFC 6838, 4.3).
  const [sent] = c.req.header('Content-Type')?.toLowerCase().split(';') ?? [];
  if (sent !== undefined && sent.trim() !== contentType) {
    throw new GatewayError('forbidden', `This URL takes ${contentType}.`);
  }
  const coding = c.req.header('Content-Encoding') ?? 'identity';
  if (coding.toLowerCase() !== 'identity') {
    throw new GatewayError('unsupported-media-type', 'The recording must not be encoded.');
  }
  // A part must not be taken for the whole (RFC 9110, 14.5).
  if (c.req.header('Content-Range') !== undefined) {
    throw new GatewayError('invalid-request', 'A recording is uploaded whole.');
  }
}

/**
 * Reads the body of an upload, piece by piece, as fast as the consumer takes it.
 *
 * A consumer that stops early leaves the rest to the server, so the caller still gets an answer.
 *
 * @throws GatewayError `invalid-request` when the body ends early
 */
async function* uploadChunks(c: Context<HttpEnv>): AsyncGenerator<Uint8Array> {
  const { incoming, expectLongBody } = c.env;
  expectLongBody?.();
  incoming.setTimeout(STALLED_AFTER_MS, () => incoming.destroy());
  askForBody(c);
  try {
    yield* incoming.iterator({ destroyOnReturn: false });
  } catch (error) {
    throw new GatewayError('invalid-request', 'The body ended early.', { cause: error });
  }
}
