import { ZodError } from 'zod';
import { type FaultReport, fault } from '../domain/fault.js';
import { GatewayError } from '../errors.js';

/** Redis 6.2 quotes the error of a command in a script: `ERR Error running script … @user_script: 1: -OOM …`. */
const QUOTED = /@user_script: ?\d+: -?([A-Z]{2,})\b/;
const FIRST = /^([A-Z]{2,})\b/;

/** The errors of ioredis when the connection was missing, broke, or was silent. */
const NO_ANSWER =
  /^(Connection is closed|Command timed out|Command aborted|Stream isn't writeable|Reached the max retries)/;
/** Answers of a server that is not the primary for the key: it has done nothing. */
const ELSEWHERE: readonly string[] = ['READONLY', 'MOVED'];
/** Answers of a server that cannot work now: it is starting, its slot is moving, or its cluster has no majority. */
const LATER: readonly string[] = ['LOADING', 'ASK', 'TRYAGAIN', 'CLUSTERDOWN'];

/** The error of a script that finds entries missing (lua/append.lua). */
const WENT_BACK = /\bWENTBACK (\d+)/;

/** A write that must not be acknowledged now. The part that decided this reports why. */
export class UnconfirmedWrite extends GatewayError {
  constructor(reason: string) {
    super('store-unavailable', reason);
  }
}

/** The code of a Redis reply error (`OOM`, `NOPERM`), including one inside a script; undefined for other errors. */
export function replyCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return (QUOTED.exec(error.message) ?? FIRST.exec(error.message))?.[1];
}

/** The number of the newest entry left when the store has lost later ones; undefined for other errors. */
export function lastLeft(error: unknown): number | undefined {
  const last = error instanceof Error ? WENT_BACK.exec(error.message)?.[1] : undefined;
  return last === undefined ? undefined : Number(last);
}

/**
 * Whether a key has the wrong type, a script cannot handle the values, or what the store holds does not parse. Other items
 * may go through.
 */
export function isDataError(error: unknown): boolean {
  return error instanceof ZodError || ['WRONGTYPE', 'ERR'].includes(replyCode(error) ?? '');
}

/** Whether another server has become the primary. */
export function isElsewhere(error: unknown): boolean {
  return ELSEWHERE.includes(replyCode(error) ?? '');
}

/** Whether the store did not answer, or cannot be trusted yet. This passes, and others report it. */
export function isUnanswered(error: unknown): boolean {
  if (error instanceof UnconfirmedWrite) return true;
  return error instanceof Error && NO_ANSWER.test(error.message);
}

/** Whether the same call may succeed a moment later. */
export function isPassing(error: unknown): boolean {
  return isUnanswered(error) || [...ELSEWHERE, ...LATER].includes(replyCode(error) ?? '');
}

/** The fault for a store that refuses writes with this code. */
export function refusedWrite(code: string): FaultReport {
  return code === 'OOM' ? fault('storeHasNoRoom') : fault('storeRefusesWrites', { code });
}

/** The fault for a failed write to the store. */
export function failedWrite(error: unknown): FaultReport {
  const code = replyCode(error);
  return code === undefined ? fault('storeCannotBeWritten') : refusedWrite(code);
}
