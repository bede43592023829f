import { PROBLEM_MEDIA_TYPE } from '../../src/http/problem.js';

const PROBLEM = { $ref: '#/components/schemas/Problem' };
const STORE_AWAY = 'The store does not answer, or this gateway stands by.';

/** The part of an operation that says how it can fail. */
interface Described {
  readonly security?: readonly object[] | undefined;
  readonly parameters?: readonly object[] | undefined;
  readonly requestBody?: object | undefined;
}

/** The problem responses that follow from an operation's security and input, by status. */
export function derivedProblems(path: string, operation: Described): Record<string, object> {
  const { security, parameters = [], requestBody } = operation;
  const needsToken = security === undefined;
  const hasResource = path.includes('{');
  const hasInput = parameters.length > 0 || requestBody !== undefined;
  const mediaTypes = mediaTypesOf(requestBody);
  const isJson = mediaTypes.includes('application/json');
  return {
    400: problem(
      hasInput ? 'The request is invalid; `errors` says where.' : 'The request is malformed.',
    ),
    ...(needsToken && {
      401: problem('There is no access token, or not a valid one.'),
      429: problem('Too many invalid access tokens came from this address.'),
      503: problem(STORE_AWAY),
    }),
    ...(needsToken &&
      hasResource && {
        403: problem('The access token has no grant for this.'),
        404: problem('There is no such resource; `code` says which.'),
      }),
    ...(parameters.some(isIfMatch) && {
      412: problem(
        '`If-Match` names another state of it, or `If-None-Match` this one; nothing was changed.',
      ),
    }),
    // Too much custom data is 400 (docs/reference/contract.md, 2).
    ...(isJson && mediaTypes.length === 1 && { 413: problem('The body is too large.') }),
    ...(isJson && { 415: problem('The content type is not supported.') }),
    ...(isJson && { 503: problem(STORE_AWAY) }),
    500: problem('The gateway failed.'),
  };
}

function problem(description: string): object {
  return { description, content: { [PROBLEM_MEDIA_TYPE]: { schema: PROBLEM } } };
}

function mediaTypesOf(requestBody: object | undefined): string[] {
  const hasContent = requestBody !== undefined && 'content' in requestBody;
  return hasContent && typeof requestBody.content === 'object' && requestBody.content !== null
    ? Object.keys(requestBody.content)
    : [];
}

function isIfMatch(parameter: object): boolean {
  return 'name' in parameter && parameter.name === 'if-match';
}
