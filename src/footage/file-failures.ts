import { GatewayError, systemErrorCode } from '../errors.js';

/** System error codes for a file that is missing or is a link. */
const ABSENT: readonly string[] = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'];
const FULL: readonly string[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];

export function isAbsent(error: unknown): boolean {
  return ABSENT.includes(systemErrorCode(error) ?? '');
}

/** The caller's error for a failure of the file system. */
export function fileFailure(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (FULL.includes(systemErrorCode(error) ?? '')) return diskFull(error);
  return new GatewayError('store-unavailable', 'The recordings cannot be reached.', {
    cause: error,
  });
}

export function footageNotFound(): GatewayError {
  return new GatewayError('footage-not-found', 'There is no such recording.');
}

export function diskFull(cause?: unknown): GatewayError {
  return new GatewayError('insufficient-storage', 'There is no room for this recording.', {
    cause,
  });
}
