import { formatTime } from '../domain/notation.js';
import type { LossDetails } from '../site/losses.js';
import type { Positions, Witness } from './store-witness.js';

/** A store as found. */
export interface FoundStore {
  /** Empty for a store that has none. */
  readonly identity: string;
  readonly positions: Positions;
  /** Whether the alarm with the number of the newest one known is not that one. */
  readonly isAnotherAlarm: boolean;
}

/** The numbered things of the store, in words. */
const NUMBERED = { alarms: 'Alarms', messages: 'Other messages', audit: 'Audit records' } as const;
const KINDS = ['alarms', 'messages', 'audit'] as const;

/** The losses of a store since it was last seen. */
export function lossesOf(known: Witness, found: FoundStore): LossDetails[] {
  const at = formatTime(known.atMs);
  if (found.identity !== known.identity) return replacedStore(known, found, at);
  const missing = KINDS.flatMap((what) => {
    const to = known.positions[what];
    const from = found.positions[what] + 1;
    if (from > to) return [];
    const detail = `The store is back at an earlier state: ${NUMBERED[what].toLowerCase()} with the numbers ${from} to ${to}, all stored by ${at}, are missing.`;
    return [{ what, from, to, count: to - from + 1, detail }];
  });
  return found.isAnotherAlarm ? [...missing, renumberedAlarms(known, at)] : missing;
}

/** More alarms came since than are missing, so the state it went back to is unknown. */
function renumberedAlarms({ positions }: Witness, at: string): LossDetails {
  const detail = `The store was back at an earlier state and has given numbers to other alarms since: some with numbers up to ${positions.alarms}, stored by ${at}, are missing.`;
  return { what: 'alarms', from: null, to: positions.alarms, count: null, detail };
}

function replacedStore(known: Witness, found: FoundStore, at: string): LossDetails[] {
  const how = found.identity === '' ? 'was emptied, or is a new one' : 'is another one';
  const all: LossDetails = {
    ...{ what: 'store', from: null, to: null, count: null },
    detail: `The store ${how}: everything that was stored by ${at} is missing, locations, devices, access tokens and sessions too.`,
  };
  const numbered = KINDS.flatMap((what) => {
    const to = known.positions[what];
    const detail = `${NUMBERED[what]} up to number ${to}, stored by ${at}, went with the store, as far as their time was not over.`;
    return to === 0 ? [] : [{ what, from: 1, to, count: to, detail }];
  });
  return [all, ...numbered];
}
