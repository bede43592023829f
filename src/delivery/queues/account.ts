import type { LogName } from '../log/log-entry.js';
import type { Account, Accounts, DropReason } from './queue-store.js';

/** Whether every accepted item is in exactly one state. */
export function isBalanced({ accepted, delivered, queued, expired, dropped }: Account): boolean {
  return accepted === delivered + queued + expired + dropped;
}

/** Counts what became of the messages of a clean session, which is not in the store. */
export class MemoryAccount {
  #accepted = 0;
  #delivered = 0;
  #expired = 0;
  #dropped = 0;
  readonly #reasons: Record<DropReason, number> = {
    refused: 0,
    lost: 0,
    forbidden: 0,
    'too-large': 0,
  };

  accepted(): void {
    this.#accepted++;
  }

  delivered(): void {
    this.#delivered++;
  }

  expired(): void {
    this.#expired++;
  }

  /** @param reason undefined: because of a bound */
  dropped(reason?: DropReason): void {
    this.#dropped++;
    if (reason !== undefined) this.#reasons[reason]++;
  }

  /** @param queued how many wait, including those in flight */
  withQueued(queued: number): Account {
    return {
      accepted: this.#accepted,
      delivered: this.#delivered,
      queued,
      expired: this.#expired,
      dropped: this.#dropped,
      reasons: { ...this.#reasons },
    };
  }
}

const EMPTY: Account = new MemoryAccount().withQueued(0);
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
