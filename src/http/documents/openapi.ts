import { z } from '@hono/zod-openapi';
import { JSON_MEDIA_TYPE } from '../json-body.js';
import { PROBLEM_MEDIA_TYPE } from '../problem.js';
import { problemSchema } from '../schemas/problem.js';

/** A problem response of one route. */
export function problem(description: string) {
  return { description, content: { [PROBLEM_MEDIA_TYPE]: { schema: problemSchema } } };
}

const failed = problem('The gateway failed.');

const behindAuthentication = {
  401: problem('There is no access token, or not a valid one.'),
  429: problem('Too many invalid access tokens came from this address.'),
  500: failed,
};

/** Problems of a route that needs a grant. */
const grant = { 403: problem('The access token has no grant for this.') };
const invalid = problem('The request is invalid; `errors` says where.');

const unsupported = problem('The content type is not supported.');

/** Problems of a route to a resource that may not exist. */
const resource = {
  ...behindAuthentication,
  ...grant,
  400: invalid,
  404: problem('There is no such resource; `code` says which.'),
};

/** Problems of a route that takes a JSON body. */
const body = {
  400: invalid,
  413: problem('The body is too large.'),
  415: unsupported,
};

/** Problems of a route that needs the store. */
const store = { 503: problem('The store does not answer.') };

/** The problem responses that routes share; spread them into `responses`. */
export const problems = {
  /** Problems of a route that needs only a token. */
  caller: behindAuthentication,
  /** Problems of a route that needs a grant, and names no resource in its path. */
  granted: {
    ...behindAuthentication,
    ...grant,
  },
  resource,
  /** Problems of a route that changes a resource with a JSON body. */
  change: { ...resource, ...body, ...store },
  /** Problems of a route with parameters. */
  invalid: { 400: invalid },
  /** Problems of a route that devices call. */
  device: {
    400: invalid,
    401: problem('Id and secret of a device are missing, or not valid.'),
    403: problem('This is another device.'),
    429: problem('Too many invalid credentials came from this address.'),
    500: failed,
  },
  /** Problems of a signed URL. */
  signed: {
    400: invalid,
    403: problem('The URL was altered, is for something else, or has expired.'),
    404: problem('There is no such recording.'),
    500: failed,
    503: problem('The recordings cannot be reached.'),
  },
  body,
  /** Problems of a route that reads its body itself. */
  media: { 415: unsupported },
  store,
  precondition: { 412: problem('`If-Match` names another state of it; nothing was changed.') },
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
