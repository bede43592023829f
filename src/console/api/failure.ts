import { HttpError } from '@oazapfts/runtime';

/** Why a request failed: a problem document of the gateway (RFC 9457), or no answer at all. */
export interface Failure {
  /** The stable code of the problem; `no-answer` when the gateway did not answer. */
  readonly code: string;
  /** The gateway's own words, where it said some. */
  readonly detail: string | undefined;
  /** The faults of an invalid input, by their path in the body. */
  readonly errors: readonly { readonly path: string; readonly message: string }[];
}

/** Reads the problem document of a failed request. */
export function failureOf(error: unknown): Failure {
  const problem: unknown = error instanceof HttpError ? error.data : undefined;
  const code = textOf(problem, 'code');
  if (code === undefined) return { code: 'no-answer', detail: undefined, errors: [] };
  return { code, detail: textOf(problem, 'detail'), errors: errorsOf(problem) };
}

function errorsOf(problem: unknown): Failure['errors'] {
  const errors = memberOf(problem, 'errors');
  if (!Array.isArray(errors)) return [];
  return errors.map((error: unknown) => ({
    path: textOf(error, 'path') ?? '',
    message: textOf(error, 'message') ?? '',
  }));
}

function textOf(value: unknown, key: string): string | undefined {
  const member = memberOf(value, key);
  return typeof member === 'string' ? member : undefined;
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}
