/** The stable, public code of every way in which a request can fail. */
export type ErrorCode =
  | 'invalid-request'
  | 'invalid-custom-data'
  | 'invalid-cursor'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'location-not-found'
  | 'device-not-found'
  | 'room-not-found'
  | 'group-not-found'
  | 'access-token-not-found'
  | 'bridge-not-found'
  | 'loss-not-found'
  | 'footage-not-found'
  | 'method-not-allowed'
  | 'upgrade-required'
  | 'alarm-not-found'
  | 'alarm-resolved'
  | 'device-id-in-use'
  | 'location-has-devices'
  | 'room-has-devices'
  | 'group-has-rooms'
  | 'footage-already-uploaded'
  | 'body-too-large'
  | 'unsupported-media-type'
  | 'headers-too-large'
  | 'request-timeout'
  | 'too-many-requests'
  | 'range-not-satisfiable'
  | 'insufficient-storage'
  | 'store-unavailable'
  | 'not-ready'
  | 'standing-by'
  | 'invalid-config'
  | 'start-failed'
  | 'internal-error';

/** A fault of an input: its dotted path (`name`, `grants.0.role`) and a message. */
export interface FieldFault {
  readonly path: string;
  readonly message: string;
}

/** A failure that is described before it happens. */
export interface Failure {
  readonly code: ErrorCode;
  readonly detail: string;
}

/**
 * The only error that crosses a module border.
 *
 * `detail` is written for the caller and may be shown; `cause` is for the log and never leaves the process.
 */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly faults: readonly FieldFault[];

  constructor(
    code: ErrorCode,
    detail: string,
    options: { faults?: readonly FieldFault[]; cause?: unknown } = {},
  ) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.detail = detail;
    this.faults = options.faults ?? [];
  }

  static of({ code, detail }: Failure): GatewayError {
    return new GatewayError(code, detail);
  }
}

/** The code of a system error (`EADDRINUSE`); undefined for any other error. */
export function systemErrorCode(error: unknown): string | undefined {
  const isOfSystem = error instanceof Error && 'syscall' in error && 'code' in error;
  return isOfSystem && typeof error.code === 'string' ? error.code : undefined;
}
