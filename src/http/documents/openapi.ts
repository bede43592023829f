import { z } from '@hono/zod-openapi';
import { JSON_MEDIA_TYPE } from '../json-body.js';
import { PROBLEM_MEDIA_TYPE } from '../problem.js';
import { problemSchema } from '../schemas/problem.js';

/** A problem response of one route. */
export function problem(description: string) {
  return { description, content: { [PROBLEM_MEDIA_TYPE]: { schema: problemSchema } } };
}

/**
 * Problem responses that only some routes have; spread them into `responses`.
 *
 * The description adds those that follow from a route's path, input and security (`scripts/descriptions`).
 */
export const problems = {
  /** Of a route that needs a grant, although its path names no resource. */
  granted: {
    401: problem('There is no access token, or not a valid one.'),
    403: problem('The access token has no grant for this.'),
    429: problem('Too many invalid access tokens came from this address.'),
  },
  /** Of a route that devices call. */
  device: {
    401: problem('Id and secret of a device are missing, or not valid.'),
    403: problem('This is another device.'),
    429: problem('Too many invalid credentials came from this address.'),
  },
  /** Of a signed URL. */
  signed: {
    403: problem('The URL was altered, is for something else, or has expired.'),
    404: problem('There is no such recording.'),
    503: problem('The recordings cannot be reached.'),
  },
  missing: { 404: problem('There is no such resource; `code` says which.') },
  conflict: { 409: problem('The change conflicts with the present state; `code` says how.') },
};

/** A 201 with JSON. */
export function createdResponse<Schema extends z.ZodType>(description: string, schema: Schema) {
  const location = { schema: { type: 'string', format: 'uri-reference' }, required: true } as const;
  const headers = { Location: { description: 'Where it is.', ...location } };
  return { ...jsonResponse(description, schema), headers };
}

/** A response with JSON. */
export function jsonResponse<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { [JSON_MEDIA_TYPE]: { schema } } };
}

/** A response with already rendered JSON, typed so that a handler may answer with bytes. */
export function preparedJson(description: string, schema: z.ZodType, mediaType = JSON_MEDIA_TYPE) {
  const content: Record<string, { schema: z.ZodType }> = { [mediaType]: { schema } };
  return { description, content };
}

/** A body that must be JSON; the route also needs `jsonBody` in its middleware. */
export function jsonRequestBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { [JSON_MEDIA_TYPE]: { schema } } };
}

/** An optional body; the route also needs `jsonBody` for it in its middleware. */
export function optionalJsonRequestBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: false, content: { [JSON_MEDIA_TYPE]: { schema } } };
}

/** The body of a route without input: fields are refused, not ignored. The route also needs `jsonBody`. */
export const emptyJsonRequestBody = optionalJsonRequestBody(z.strictObject({}));

export const noContent = { description: 'Done.' };

export const tagHeader = {
  ETag: { description: 'For `If-Match` and `If-None-Match`.', schema: { type: 'string' } },
} as const;

/** A response with JSON and its entity tag. */
export function taggedResponse<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { ...jsonResponse(description, schema), headers: tagHeader };
}

/** Headers of a request that changes only the state that the caller has seen. */
export const ifMatchHeaders = z.object({
  'if-match': z
    .string()
    .optional()
    .openapi({ description: 'Entity tags; any other state is not changed.' }),
  'if-none-match': z
    .string()
    .optional()
    .openapi({ description: 'Entity tags; a state with one of them is not changed.' }),
});

/** Headers of a request for something that the caller may already have. */
export const ifNoneMatchHeaders = z.object({
  'if-none-match': z
    .string()
    .optional()
    .openapi({ description: 'Entity tags that the caller has.' }),
});

/** The answer to a client that already has the newest version. */
export const notModified = { 304: { description: 'The client has it already.' } };

/** `security` of an open route; all others need the bearer token. */
export const NO_SECURITY: never[] = [];
/** A route that shows more to a caller with an access token. */
export const OPTIONAL_SECURITY: Record<string, never[]>[] = [{}, { bearer: [] }];
