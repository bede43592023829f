import { BRIDGE_CLIENT_ID_PREFIX } from '../../domain/bridge-schema.js';
import { type FaultGroup, type FaultSubject, fault, firstOf } from '../../domain/faults/faults.js';
import { WEBHOOK_CLIENT_ID_PREFIX } from '../../domain/output-schema.js';
import type { Consumer } from '../consumer.js';

export const BACKLOG_CHECK_MS = 10_000;

/** The faults of backlogs that are more than half full. */
export function backlogFaults(consumers: Iterable<Consumer>): FaultGroup {
  const growing = [...consumers].filter(({ queued: { alarms, messages }, limits }) => {
    return alarms + messages > limits.maxQueued / 2;
  });
  return firstOf(growing, ({ name }) => {
    return { ...fault('queueGrowing'), subject: consumerSubject(name) };
  });
}

/** A consumer as the subject of a fault. */
export function consumerSubject(clientId: string): FaultSubject {
  for (const [type, prefix] of OURS) {
    const name = clientId.slice(prefix.length);
    if (clientId.startsWith(prefix)) return { type, id: name, name };
  }
  return { type: 'session', id: clientId, name: clientId };
}

/** Consumers that are not clients, by the prefix of their client ids. */
const OURS = [
  ['bridge', BRIDGE_CLIENT_ID_PREFIX],
  ['webhook', WEBHOOK_CLIENT_ID_PREFIX],
] as const;
