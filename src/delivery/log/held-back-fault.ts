import { type FaultGroup, type FaultReport, fault, firstOf } from '../../domain/faults/faults.js';
import { parseForwardedTopic } from '../../domain/topics.js';
import { isAlarm } from './log-entry.js';
import type { NewMessage } from './log-item.js';

/** The faults for devices whose messages the store cannot take. */
export function heldBackFaults(items: readonly NewMessage[]): FaultGroup {
  return firstOf(items, faultOf);
}

function faultOf(item: NewMessage): FaultReport {
  const refused = fault('storeRefusesDevice');
  const id = parseForwardedTopic(item.topic)?.deviceId;
  if (id === undefined) return refused;
  const name = isAlarm(item) ? item.context.device.name : id;
  return { ...refused, subject: { type: 'device', id, name } };
}
