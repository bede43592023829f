import { type FaultGroup, type FaultReport, firstOf, stopping } from '../../domain/faults.js';
import { parseForwardedTopic } from '../../domain/topics.js';
import { isAlarm } from './log-entry.js';
import type { NewMessage } from './log-item.js';

/** Devices named in the fault. */
const MAX_NAMED = 3;

const HELD_BACK =
  'The store cannot take what a device sends: a key of the store was overwritten, or its data is damaged.';

/** The faults of devices whose messages the store cannot take. */
export function heldBackFaults(items: readonly NewMessage[]): FaultGroup {
  return firstOf(items, MAX_NAMED, faultOf, (count) =>
    stopping('store-refusing', `${HELD_BACK} (${count} more)`),
  );
}

function faultOf(item: NewMessage): FaultReport {
  const fault = stopping('store-refusing', HELD_BACK);
  const id = parseForwardedTopic(item.topic)?.deviceId;
  if (id === undefined) return fault;
  const name = isAlarm(item) ? item.context.device.name : id;
  return { ...fault, subject: { type: 'device', id, name } };
}
