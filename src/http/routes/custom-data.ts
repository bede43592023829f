import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { decodeUtf8, isJson, objectMembers } from '../../domain/json.js';
import { GatewayError } from '../../errors.js';
import { MAX_CUSTOM_DATA_BYTES } from '../../site/devices.js';
import { conditionalActor, entityTag, notModifiedIfKnown, tagged } from '../conditional.js';
import type { RouteServices } from '../dependencies.js';
import {
  ifMatchHeaders,
  ifNoneMatchHeaders,
  notModified,
  tagHeader,
} from '../documents/openapi.js';
import type { HttpApp, HttpEnv } from '../http-env.js';
import { JSON_MEDIA_TYPE, readBody, requireMediaType } from '../json-body.js';
import { devicePathSchema } from '../schemas/common.js';

const MERGE_PATCH_MEDIA_TYPE = 'application/merge-patch+json';
const tags = ['Custom data'];
const path = '/care-homes/{locationId}/devices/{deviceId}/custom-data';

/**
 * Documented by hand, so that no validator parses it: custom data passes through as text, which keeps
 * its JSON values (docs/reference/contract.md, 2).
 */
const anyObject = {
  schema: { type: 'object', description: 'Any JSON object.', example: { bed: 2 } },
} as const;
const storedObject: TextResponse = {
  description: 'The stored object.',
  headers: tagHeader,
  content: { [JSON_MEDIA_TYPE]: anyObject },
};

interface TextResponse {
  readonly description: string;
  readonly headers: typeof tagHeader;
  /** Typed so that the handler may answer with text. */
  readonly content: Record<string, typeof anyObject>;
}

const get = createRoute({
  method: 'get',
  path,
  operationId: 'getCustomData',
  summary: "Get a device's custom data",
  tags,
  request: { params: devicePathSchema, headers: ifNoneMatchHeaders },
  responses: { 200: storedObject, ...notModified },
});

const set = createRoute({
  method: 'patch',
  path,
  operationId: 'setCustomData',
  summary: "Replace a device's custom data, or merge into it (RFC 7396)",
  description:
    '`application/json` replaces the whole object, `application/merge-patch+json` merges. The JSON values in the answer and in forwarded messages are those that were sent.',
  tags,
  request: {
    params: devicePathSchema,
    headers: ifMatchHeaders,
    body: {
      required: true,
      description: `At most ${MAX_CUSTOM_DATA_BYTES} bytes.`,
      content: { [JSON_MEDIA_TYPE]: anyObject, [MERGE_PATCH_MEDIA_TYPE]: anyObject },
    },
  },
  responses: { 200: storedObject },
});

/** A device's custom data. */
export function registerCustomData(app: HttpApp, services: RouteServices): void {
  const { devices, model, access } = services;

  app.openapi({ ...get, middleware: [access.device('viewer'), notModifiedIfKnown] }, (c) =>
    jsonText(c, model.requireDevice(c.req.valid('param')).customData),
  );

  app.openapi({ ...set, middleware: [access.device('manager')] }, async (c) => {
    const mediaType = requireMediaType(c, [JSON_MEDIA_TYPE, MERGE_PATCH_MEDIA_TYPE]);
    const mode = mediaType === MERGE_PATCH_MEDIA_TYPE ? 'merge' : 'replace';
    const payload = await readObjectText(c);
    const key = c.req.valid('param');
    const actor = conditionalActor(c, () => entityTag(model.requireDevice(key).customData));
    return jsonText(c, await devices.setCustomData(actor, key, payload, mode));
  });
}

function jsonText(c: Context<HttpEnv>, text: string): Response {
  return c.body(tagged(c, text), 200, { 'Content-Type': JSON_MEDIA_TYPE });
}

/** Reads the body; a body that is too large gets 400 here, not 413 (docs/reference/contract.md, 2). */
async function readObjectText(c: Context<HttpEnv>): Promise<string> {
  const bytes = await readBody(c, MAX_CUSTOM_DATA_BYTES);
  if (bytes === undefined) {
    throw invalid(`Custom data must not exceed ${MAX_CUSTOM_DATA_BYTES} bytes.`);
  }
  const text = decodeUtf8(bytes);
  if (text === undefined) throw invalid('Custom data must be UTF-8.');
  if (!isJson(text)) throw invalid('Custom data must be valid JSON.');
  if (objectMembers(text) === undefined) throw invalid('Custom data must be a JSON object.');
  return text;
}

function invalid(detail: string): GatewayError {
  return new GatewayError('invalid-custom-data', detail);
}
