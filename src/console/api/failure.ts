import { HttpError } from '@oazapfts/runtime';
import { recordOf } from './record.js';

/** Why a request failed: a problem document of the gateway (RFC 9457), or no answer at all. */
export interface Failure {
  /** The stable code of the problem; `no-answer` when the gateway did not answer. */
  readonly code: string;
  /** The gateway's own words, if any. */
  readonly detail: string | undefined;
  /** The errors in an invalid input, by their path in the body. */
  readonly errors: readonly { readonly path: string; readonly message: string }[];
}

/** Reads the problem document of a failed request. */
export function failureOf(error: unknown): Failure {
  const { code, detail, errors } = recordOf(error instanceof HttpError ? error.data : undefined);
  if (typeof code !== 'string') return { code: 'no-answer', detail: undefined, errors: [] };
  return { code, detail: textOf(detail), errors: Array.isArray(errors) ? errors.map(faultOf) : [] };
}

function faultOf(error: unknown): Failure['errors'][number] {
  const { path, message } = recordOf(error);
  return { path: textOf(path) ?? '', message: textOf(message) ?? '' };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
