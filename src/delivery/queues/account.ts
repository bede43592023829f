import type { LogName } from '../log/log-entry.js';
import type { Account, Accounts } from './queue-store.js';

/** Whether every accepted item is in exactly one state. */
export function isBalanced({ accepted, delivered, queued, expired, dropped }: Account): boolean {
  return accepted === delivered + queued + expired + dropped;
}

export const EMPTY: Account = {
  accepted: 0,
  delivered: 0,
  queued: 0,
  expired: 0,
  dropped: 0,
  reasons: { refused: 0, lost: 0, forbidden: 0, 'too-large': 0 },
};
export const NO_ACCOUNTS: Accounts = { alarms: EMPTY, messages: EMPTY };

/** The sum of a figure over both logs. */
export function sumOf(accounts: Accounts, figure: (account: Account) => number): number {
  return figure(accounts.alarms) + figure(accounts.messages);
}

/** How many were dropped because of a bound. */
export function tooMany({ dropped, reasons }: Account): number {
  const { refused, lost, forbidden, 'too-large': tooLarge } = reasons;
  return dropped - refused - lost - forbidden - tooLarge;
}

/** The waiting messages of each log. */
export type Queued = Readonly<Record<LogName, number>>;
