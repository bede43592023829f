import type { z } from '@hono/zod-openapi';
import { JSON_MEDIA_TYPE } from './json-body.js';
import { PROBLEM_MEDIA_TYPE } from './problem.js';
import { problemSchema } from './schemas/problem.js';

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

/** Of a route that needs a grant. */
const grant = { 403: problem('The access token has no grant for this.') };
const invalid = problem('The request is invalid; `errors` says where.');

const unsupported = problem('The content type is not supported.');

/** Of a route to something that may not be there. */
const resource = {
  ...behindAuthentication,
  ...grant,
  400: invalid,
  404: problem('There is no such resource; `code` says which.'),
};

/** Of a route that takes a JSON body. */
const body = {
  400: invalid,
  413: problem('The body is too large.'),
  415: unsupported,
};

/** Of a route that needs the store also for what is permitted. */
const store = { 503: problem('The store does not answer.') };

/** The problem responses that routes have in common, to be spread into their `responses`. */
export const problems = {
  /** Of a route for which a token is enough. */
  caller: behindAuthentication,
  /** Of a route that needs a grant, and has nothing else in its path. */
  granted: {
    ...behindAuthentication,
    ...grant,
  },
  resource,
  /** Of a route that changes something that may not be there, by a JSON body. */
  change: { ...resource, ...body, ...store },
  /** Of a route with parameters. */
  invalid: { 400: invalid },
  /** Of a route for devices themselves. */
  device: {
    400: invalid,
    401: problem('Id and secret of a device are missing, or not valid.'),
    403: problem('This is another device.'),
    429: problem('Too many invalid credentials came from this address.'),
    500: failed,
  },
  /** Of a signed URL. */
  signed: {
    400: invalid,
    403: problem('The URL was altered, is for something else, or has expired.'),
    404: problem('There is no such recording.'),
    500: failed,
    503: problem('The recordings cannot be reached.'),
  },
  body,
  /** Of a route that reads its body by itself. */
  media: { 415: unsupported },
  store,
  conflict: { 409: problem('The change conflicts with what there is; `code` says how.') },
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

/** JSON that was made before: wider than the one media type, so that a handler may answer with bytes. */
export function preparedJson(description: string, schema: z.ZodType) {
  const content: Record<string, { schema: z.ZodType }> = { [JSON_MEDIA_TYPE]: { schema } };
  return { description, content };
}

/** Like `preparedJson`, for a problem that a handler answers with itself. */
export function preparedProblem(description: string, schema: z.ZodType) {
  const content: Record<string, { schema: z.ZodType }> = { [PROBLEM_MEDIA_TYPE]: { schema } };
  return { description, content };
}

/** A body that must be JSON; the route's middleware has `jsonBody` as well. */
export function jsonRequestBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { [JSON_MEDIA_TYPE]: { schema } } };
}

export const noContent = { description: 'Done.' };

/** `security` of an open route: every other one needs the bearer token. */
export const NO_SECURITY: never[] = [];
