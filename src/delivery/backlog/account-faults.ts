import { type FaultGroup, fault, firstOf } from '../../domain/faults/faults.js';
import type { Consumer } from '../consumer.js';
import { LOG_NAMES } from '../log/log-entry.js';
import { isBalanced } from '../queues/account.js';
import { consumerSubject } from './backlog-fault.js';

/**
 * The faults of accounts that do not balance.
 *
 * @param acknowledge makes them balance again
 */
export function accountFaults(consumers: Iterable<Consumer>, acknowledge: () => void): FaultGroup {
  const broken = [...consumers].filter(({ accounts }) =>
    LOG_NAMES.some((log) => !isBalanced(accounts[log])),
  );
  return firstOf(broken, ({ name }) => {
    return { ...fault('accountBroken'), subject: consumerSubject(name), acknowledge };
  });
}
