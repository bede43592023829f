import { type FaultReport, stopping } from '../../domain/faults.js';

/** In Redis 6.2 a command that fails within a script is quoted: `ERR Error running script … @user_script: 1: -OOM …`. */
const QUOTED = /@user_script: ?\d+: -?([A-Z]{2,})\b/;
const FIRST = /^([A-Z]{2,})\b/;

/** The code of a reply error of Redis (`OOM`, `NOPERM`), also of one within a script; undefined for other errors. */
export function replyCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return (QUOTED.exec(error.message) ?? FIRST.exec(error.message))?.[1];
}

/** The fault of a store that refuses writes with this code. */
export function refusedWrite(code: string): FaultReport {
  const isFull = code === 'OOM';
  return stopping(
    isFull ? 'store-full' : 'store-refusing',
    `The store refuses to write (${code}).`,
  );
}
