/** The status and title of every failure of a request, by its stable, public code. */
export const ERRORS = {
  'invalid-request': { status: 400, title: 'Invalid request' },
  'invalid-custom-data': { status: 400, title: 'Invalid custom data' },
  'invalid-cursor': { status: 400, title: 'Invalid cursor' },
  unauthenticated: { status: 401, title: 'Not authenticated' },
  forbidden: { status: 403, title: 'Not permitted' },
  'not-found': { status: 404, title: 'Not found' },
  'location-not-found': { status: 404, title: 'Location not found' },
  'device-not-found': { status: 404, title: 'Device not found' },
  'room-not-found': { status: 404, title: 'Room not found' },
  'group-not-found': { status: 404, title: 'Group not found' },
  'access-token-not-found': { status: 404, title: 'Access token not found' },
  'bridge-not-found': { status: 404, title: 'Bridge not found' },
  'output-not-found': { status: 404, title: 'Output not found' },
  'fault-not-found': { status: 404, title: 'Fault not found' },
  'footage-not-found': { status: 404, title: 'Footage not found' },
  'alarm-not-found': { status: 404, title: 'Alarm not found' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  'bridge-configured': { status: 409, title: 'Bridge configured' },
  'device-id-in-use': { status: 409, title: 'Device id in use' },
  'location-without-devices': { status: 409, title: 'Location without devices' },
  'location-has-devices': { status: 409, title: 'Location has devices' },
  'room-has-devices': { status: 409, title: 'Room has devices' },
  'group-has-rooms': { status: 409, title: 'Group has rooms' },
  'alarm-resolved': { status: 409, title: 'Alarm resolved' },
  'footage-already-uploaded': { status: 409, title: 'Footage already uploaded' },
  'precondition-failed': { status: 412, title: 'Precondition failed' },
  'body-too-large': { status: 413, title: 'Body too large' },
  'unsupported-media-type': { status: 415, title: 'Unsupported media type' },
  'range-not-satisfiable': { status: 416, title: 'Range not satisfiable' },
  'upgrade-required': { status: 426, title: 'Upgrade required' },
  'headers-too-large': { status: 431, title: 'Headers too large' },
  'request-timeout': { status: 408, title: 'Request timeout' },
  'too-many-requests': { status: 429, title: 'Too many requests' },
  'store-unavailable': { status: 503, title: 'Store unavailable' },
  'not-ready': { status: 503, title: 'Not ready' },
  'standing-by': { status: 503, title: 'Standing by' },
  'insufficient-storage': { status: 507, title: 'Insufficient storage' },
  'invalid-config': { status: 500, title: 'Internal error' },
  'start-failed': { status: 500, title: 'Internal error' },
  'internal-error': { status: 500, title: 'Internal error' },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** A fault of an input: its dotted path (`name`, `grants.0.role`) and a message. */
export interface FieldFault {
  readonly path: string;
  readonly message: string;
}

/**
 * A failure that is shown to a person: to an HTTP caller, or to whoever starts the gateway.
 *
 * `detail` is written for the caller and may be shown; `cause` is for the log and never leaves the process.
 */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly faults: readonly FieldFault[];
  /** When to try again; undefined: after a moment, if at all. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ErrorCode,
    detail: string,
    options: { faults?: readonly FieldFault[]; cause?: unknown; retryAfterMs?: number } = {},
  ) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.detail = detail;
    this.faults = options.faults ?? [];
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The code of a system error (`EADDRINUSE`); undefined for any other error. */
export function systemErrorCode(error: unknown): string | undefined {
  const isOfSystem = error instanceof Error && 'syscall' in error && 'code' in error;
  return isOfSystem && typeof error.code === 'string' ? error.code : undefined;
}
