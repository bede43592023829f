/**
 * Recordings: a camera announces one and gets a signed URL, to which it uploads; whoever has the signed URL of an alarm
 * downloads it. The gateway's own folder is served here; a bucket serves itself.
 */

import { z } from 'zod';
import { FOOTAGE_TYPES } from '../../domain/alarm.js';
import { isFootageContentType, parseRecordingKey, type Recording } from '../../domain/footage.js';
import { GatewayError } from '../../errors.js';
import type { FootageFolder, RecordingFile } from '../../footage/folder.js';
import { bodyChunks, isEncoded } from '../body.js';
import { nobody } from '../caller.js';
import { EXAMPLE_FOOTAGE_URL, EXAMPLE_ID, time } from '../fields.js';
import { type HttpContext, whoAsks } from '../frame.js';
import { streamed } from '../listing.js';
import { ownDevice, type Right } from '../rights.js';
import { created, get, post, put, type Routes } from '../route.js';
import type { HttpServices } from '../services.js';
import { gatewayUrlOf } from './alarms.js';

/** How much of a file is in memory for each client that reads it. */
const CHUNK_BYTES = 64 * 1024;
/** Timeout of a client that takes nothing, and of a camera that sends nothing. */
const UNREAD_AFTER_MS = 60_000;
const STALLED_AFTER_MS = 30_000;
const PATH = '/footage/{deviceId}/{type}/{file}';

/**
 * Lets a browser play a recording that it opens directly, but neither run nor load anything else: its player is a page
 * with the recording as its only medium.
 */
const SECURITY_POLICY = "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; sandbox";

const NewFootage = z
  .strictObject({
    type: z.enum(FOOTAGE_TYPES),
    contentType: z
      .string()
      .transform((text) => text.toLowerCase().replace(/\s*;.*$/s, ''))
      .meta({
        type: 'string',
        pattern: '^([vV][iI][dD][eE][oO]|[aA][uU][dD][iI][oO])/\\S',
        description: 'A media type of `type`. Parameters are ignored.',
        examples: ['video/mp4'],
      }),
  })
  .superRefine(({ type, contentType }, context) => {
    if (isFootageContentType(contentType, type)) return;
    const message = 'must be a media type of this type, such as video/mp4';
    context.addIssue({ code: 'custom', path: ['contentType'], message });
  })
  .meta({ id: 'NewFootage' });

const FootageUpload = z
  .object({
    key: z.string().meta({
      description: 'The key for the device to name as `footage` of its alarm.',
      examples: [`${EXAMPLE_ID}/video/${EXAMPLE_ID}.mp4`],
    }),
    uploadUrl: z.url().meta({
      description: 'The signed URL to PUT the recording to, once, with its `Content-Type`.',
      examples: [EXAMPLE_FOOTAGE_URL],
    }),
    expiresAt: time,
  })
  .meta({ id: 'FootageUpload' });

const signature = z.string().meta({ description: 'As in the URL that the gateway made.' });
const SignedQuery = z.looseObject({ expires: signature, signature });
const bytes = z.string().meta({ format: 'binary', examples: ['The bytes of the recording.'] });
const media = { 'video/*': bytes, 'audio/*': bytes };
const REFUSED = {
  403: 'The URL was altered, is for something else, or has expired.',
  404: 'There is no such recording.',
  503: 'The recordings cannot be reached.',
};

export function footageRoutes(services: HttpServices): Routes {
  const { footage, footageFiles, model } = services;
  const prepareFootageUpload = post('/devices/{deviceId}/footage', {
    tag: 'Footage',
    summary: 'Announce a recording as the device itself, and get the URL to upload it to',
    right: ownDevice,
    body: NewFootage,
    answer: created('The URL to upload to, and the key.', FootageUpload),
    handle: async ({ c, body: { type, contentType }, caller }) => {
      const receiver = { actor: caller.actor, gatewayUrl: gatewayUrlOf(c, services) };
      const prepared = await footage.prepareUpload(caller.device, type, contentType, receiver);
      return c.json(prepared, 201, { Location: prepared.uploadUrl });
    },
  });
  if (footageFiles === undefined) return { prepareFootageUpload };
  return {
    prepareFootageUpload,
    downloadFootage: get(PATH, {
      tag: 'Footage',
      summary: 'Download a recording, by the signed URL of its alarm',
      right: signed(footageFiles, 'GET'),
      query: SignedQuery,
      answer: { status: 200, description: 'The recording.', schema: z.void(), others: media },
      alsoAnswers: { 206: 'The requested range of the recording.' },
      problems: { ...REFUSED, 416: 'The recording has no such range.' },
      handle: async ({ c }) => {
        const file = await footageFiles.open(keyIn(c));
        closeWithResponse(c, file, services);
        return fileResponse(c, file, services);
      },
    }),
    uploadFootage: put(PATH, {
      tag: 'Footage',
      summary: "Upload a recording, by the device's signed URL",
      right: signed(footageFiles, 'PUT'),
      query: SignedQuery,
      ownBody: media,
      answer: { status: 200, description: 'The recording is stored.', schema: z.void() },
      problems: {
        ...REFUSED,
        409: 'The recording is there already.',
        413: 'The recording is too large.',
        415: 'The recording is in a content coding.',
        429: 'The device has too many uploads under way.',
        507: 'There is no room for the recording.',
      },
      handle: async ({ c }) => {
        const recording = parseRecordingKey(keyIn(c));
        // The URL of a deleted device may be in anyone's hands.
        if (recording === undefined || model.device(recording.deviceId) === undefined) {
          throw new GatewayError('footage-not-found', 'There is no such recording.');
        }
        requireUploadHeaders(c, recording);
        const announced = c.req.header('Content-Length');
        const announcedBytes = announced === undefined ? undefined : Number(announced);
        c.env.incoming.setTimeout(STALLED_AFTER_MS, () => c.env.incoming.destroy());
        await footageFiles.receive({ recording, announcedBytes, chunks: bodyChunks(c) });
        return c.body(null, 200);
      },
    }),
  };
}

/** Whoever has a URL that the gateway has signed; what does not match byte for byte gets 403. */
function signed(files: FootageFolder, method: 'GET' | 'PUT'): Right<never> {
  return {
    credential: 'signature',
    identify: (_callers, c) => {
      files.authorize({ method, key: keyIn(c), query: new URL(c.req.url).search.slice(1) });
      return nobody;
    },
  };
}

/** The object key in the path, as it was signed. */
function keyIn(c: HttpContext): string {
  const { deviceId = '', type = '', file = '' } = c.req.param();
  return `${deviceId}/${type}/${file}`;
}

/** Requires the content type of the signed key; as with S3, the signature covers no other. */
function requireUploadHeaders(c: HttpContext, { contentType }: Recording): void {
  // Browsers add the codecs; parameters do not change the type (RFC 6838, 4.3).
  const [sent] = c.req.header('Content-Type')?.toLowerCase().split(';') ?? [];
  if (sent !== undefined && sent.trim() !== contentType) {
    throw new GatewayError('forbidden', `This URL takes ${contentType}.`);
  }
  if (isEncoded(c)) {
    throw new GatewayError('unsupported-media-type', 'The recording must not be encoded.');
  }
  // A part must not be taken for the whole (RFC 9110, 14.5).
  if (c.req.header('Content-Range') !== undefined) {
    throw new GatewayError('invalid-request', 'A recording is uploaded whole.');
  }
}

/**
 * Answers with the file, or the requested part of it (RFC 9110, 14).
 *
 * @throws GatewayError `range-not-satisfiable`
 */
function fileResponse(c: HttpContext, file: RecordingFile, { log }: HttpServices): Response {
  const { bytes: total, recording } = file;
  c.header('Accept-Ranges', 'bytes');
  const range = c.req.method === 'GET' ? requestedRange(c.req.header('Range'), total) : undefined;
  if (range === 'not-satisfiable') {
    c.header('Content-Range', `bytes */${total}`);
    throw new GatewayError('range-not-satisfiable', `The recording has ${total} bytes.`);
  }
  c.header('Content-Type', recording.contentType);
  c.header('Content-Disposition', `inline; filename="${recording.key.split('/').at(-1)}"`);
  c.header('Content-Security-Policy', SECURITY_POLICY);
  const [first, last] = range ?? [0, total - 1];
  if (range !== undefined) c.header('Content-Range', `bytes ${first}-${last}/${total}`);
  c.header('Content-Length', String(last - first + 1));
  const status = range === undefined ? 200 : 206;
  if (c.req.method === 'HEAD') return c.body(null, status);
  return c.body(streamed(c, chunksOf(file, first, last), log), status);
}

/**
 * Parses a `Range` header (RFC 9110, 14.2): the first and the last byte; undefined for the whole.
 *
 * A header that is malformed, has another unit or several ranges is ignored, as RFC 9110 allows.
 */
function requestedRange(
  header: string | undefined,
  total: number,
): readonly [first: number, last: number] | 'not-satisfiable' | undefined {
  const [, from = '', to = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '') {
    return Number(to) === 0 ? 'not-satisfiable' : [Math.max(0, total - Number(to)), total - 1];
  }
  const last = to === '' ? total - 1 : Number(to);
  if (last < Number(from) && to !== '') return undefined;
  if (Number(from) >= total) return 'not-satisfiable';
  return [Number(from), Math.min(last, total - 1)];
}

/** The file is closed with the response, however that ends. */
function closeWithResponse(c: HttpContext, file: RecordingFile, { log }: HttpServices): void {
  const { outgoing } = c.env;
  const close = () => {
    file.close().catch((error: unknown) => {
      log.warn({ ...whoAsks(c), err: error }, 'failed to close a recording');
    });
  };
  if (outgoing.closed) close();
  else outgoing.once('close', close);
  outgoing.setTimeout(UNREAD_AFTER_MS, () => outgoing.destroy());
}

async function* chunksOf(file: RecordingFile, first: number, last: number) {
  for (let position = first; position <= last; ) {
    const buffer = new Uint8Array(Math.min(CHUNK_BYTES, last - position + 1));
    const bytesRead = await file.read(buffer, position);
    // Ending here would leave the client with the next answer as the rest of this one.
    if (bytesRead === 0) throw new Error('the recording is shorter than it was');
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}
