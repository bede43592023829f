import { GatewayError } from '../errors.js';
import { diskFull } from './disk-reserve.js';

/** System error codes for a file that is missing or is a link. */
const ABSENT: readonly string[] = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'];
const FULL: readonly string[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/** The code of a failed system call. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

export function isAbsent(error: unknown): boolean {
  return ABSENT.includes(systemCode(error) ?? '');
}

/** The caller's error for a failure of the file system. */
export function fileFailure(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (FULL.includes(systemCode(error) ?? '')) return diskFull(error);
  return new GatewayError('store-unavailable', 'The recordings cannot be reached.', {
    cause: error,
  });
}

export function footageNotFound(): GatewayError {
  return new GatewayError('footage-not-found', 'There is no such recording.');
}
