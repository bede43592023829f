import { hash } from 'node:crypto';
import { uuidBytes } from '../domain/identifiers.js';

/**
 * Redis packs small hashes tightly: with a million alarms there are 30 in each piece, and up to four
 * million they stay under the 128 that are packed by default.
 */
const PIECE_BITS = 15;
const PIECE_BYTES = 2;
const FIELD_BYTES = 10;

/** Where the history keeps that a device's alarm has been recorded. */
export interface AlarmIdPlace {
  readonly piece: number;
  readonly field: Buffer;
}

/**
 * By a digest: an id is the device's own affair, so the same one of another device is another alarm.
 * SHA-1, because scripts know no other (expire-alarms.lua): a device gains nothing by two alarms of its
 * own that count as one, and to hit another device's it would have to invert 95 bits.
 */
export function alarmIdPlace(deviceId: string, alarmId: string): AlarmIdPlace {
  const digest = hash('sha1', Buffer.concat([Buffer.from(deviceId), uuidBytes(alarmId)]), 'buffer');
  return {
    piece: digest.readUInt16BE(0) >> (8 * PIECE_BYTES - PIECE_BITS),
    field: digest.subarray(PIECE_BYTES, PIECE_BYTES + FIELD_BYTES),
  };
}
