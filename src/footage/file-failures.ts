import { GatewayError } from '../errors.js';
import { diskFull } from './disk-reserve.js';

/** Codes of the operating system for a file that is missing, or is a link. */
const ABSENT: readonly string[] = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'];
const FULL: readonly string[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/** The code of a failed system call. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

export function isAbsent(error: unknown): boolean {
  return ABSENT.includes(systemCode(error) ?? '');
}

/** Turns a failure of the file system into an error for the caller. */
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
