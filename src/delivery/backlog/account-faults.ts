import { type FaultGroup, fault, firstOf } from '../../domain/faults/faults.js';
import type { Consumer } from '../consumer.js';
import { LOG_NAMES } from '../log/log-entry.js';
import { isBalanced } from '../queues/account.js';
import { consumerSubject } from './backlog-fault.js';

/** How many consumers the fault names. */
const MAX_NAMED = 3;

/**
 * The faults of accounts that do not balance.
 *
 * @param acknowledge makes them balance again
 */
export function accountFaults(consumers: Iterable<Consumer>, acknowledge: () => void): FaultGroup {
  const broken = [...consumers].filter(({ accounts }) =>
    LOG_NAMES.some((log) => !isBalanced(accounts[log])),
  );
  return firstOf(broken, MAX_NAMED, ({ name }) => {
    return { ...fault('accountBroken'), subject: consumerSubject(name), acknowledge };
  });
}
