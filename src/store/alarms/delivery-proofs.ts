import { z } from 'zod';
import type { AlarmDelivery } from '../../site/alarms/alarm-history.js';
import type { Keys } from '../keys.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';

/** As in shared/proofs.lua. */
const ALARMS_PER_PROOF = 100;
const STATES = { d: 'delivered', e: 'expired', x: 'dropped' } as const;
/** A destination's number, the outcome, the time, and the last digits of the alarms' sequences, for a run its ends. */
const PROOF = /(\d+)([dex])(\d+):([\d,-]+);/g;

const findDeliveries = new Script(
  'find-deliveries',
  z.tuple([z.array(z.string()), z.string(), z.array(z.string())]),
);

/** Finds what became of the alarm with a sequence. */
export async function deliveriesOf(
  store: Store,
  keys: Keys,
  sequence: number,
  receivedAtMs: number,
): Promise<AlarmDelivery[]> {
  const piece = keys.proofPrefix + Math.floor(sequence / ALARMS_PER_PROOF);
  const scriptKeys = [keys.sessions, piece, keys.destinationNumbers];
  const args = [keys.queuePrefix, sequence];
  const [queued, proofs, numbers] = await store.run(findDeliveries, scriptKeys, args);
  const nameOf = new Map(numbers.map((number, at) => [number, numbers[at - 1] ?? '']));
  const found: AlarmDelivery[] = queued.map((destination) => {
    return { destination, state: 'queued', atMs: receivedAtMs };
  });
  const last = sequence % ALARMS_PER_PROOF;
  for (const [, number = '', letter, at, sequences = ''] of proofs.matchAll(PROOF)) {
    const state = letter === 'd' || letter === 'e' || letter === 'x' ? STATES[letter] : undefined;
    const destination = nameOf.get(number);
    if (state === undefined || destination === undefined) continue;
    if (isAmong(last, sequences)) found.push({ destination, state, atMs: Number(at) });
  }
  return found.sort((one, other) => one.atMs - other.atMs);
}

/** Whether a number is in a list of numbers and runs. */
function isAmong(number: number, list: string): boolean {
  return list.split(',').some((run) => {
    const [from = Number.NaN, to = from] = run.split('-').map(Number);
    return number >= from && number <= to;
  });
}
