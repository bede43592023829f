import { expect } from 'vitest';
import type { Cursor } from '../../src/delivery/cursors/cursor.js';
import type { LogName } from '../../src/delivery/log/log-entry.js';

/** An entry as the model knows it. */
export interface Item {
  /** A number that, unlike the sequence, is never used again. */
  readonly n: number;
  readonly sequence: number;
  readonly topic: string;
  readonly receivedAtMs: number;
  /** Whether the store has lost the entry. */
  isLost: boolean;
}

/** Events that make some figures inexact. */
export interface Happened {
  hasAged: boolean;
  hasCrashed: boolean;
  hasLost: boolean;
}

// Figures are compared after each step: `expect` for those that are equal took most of the time.

function isEqual(actual: number, expected: number): void {
  if (actual !== expected) expect(actual).toBe(expected);
}

export function isAtMost(actual: number, most: number): void {
  if (!(actual <= most)) expect(actual).toBeLessThanOrEqual(most);
}

/** The model of one subscriber and log: what it accepted and was sent. */
export class Ledger {
  readonly accepted = new Map<number, Item>();
  readonly acknowledged = new Set<number>();
  readonly #firstSent = new Set<number>();
  /** By lane, `n`. */
  readonly #newestSent = new Map<string, number>();
  readonly #lastOnConnection = new Map<string, number>();

  constructor(
    readonly log: LogName,
    readonly isPaced: boolean,
  ) {}

  connected(): void {
    this.#lastOnConnection.clear();
  }

  /**
   * Checks a sent entry: accepted, once a connection, and in order; if paced, in its device's
   * order.
   */
  sent(n: number, happened: Happened): void {
    const item = this.accepted.get(n);
    if (item === undefined) throw new Error(`${this.log} ${n} was never accepted`);
    const lane = this.isPaced ? item.topic : '';
    isAtMost((this.#lastOnConnection.get(lane) ?? 0) + 1, n);
    this.#lastOnConnection.set(lane, n);
    // A dropped entry may come back after a crash that forgot the drop; alarms are not dropped.
    const isForgotten = happened.hasCrashed && (this.log !== 'alarms' || happened.hasAged);
    if (this.#firstSent.has(n) || isForgotten) return;
    this.#firstSent.add(n);
    isAtMost((this.#newestSent.get(lane) ?? 0) + 1, n);
    this.#newestSent.set(lane, n);
  }

  /** Checks the account: no entry is passed that was not delivered, expired or dropped. */
  check(cursor: Cursor, oldestMs: number, happened: Happened): void {
    const { delivered, expired, dropped, queued, accepted, ackFloor } = cursor;
    const { hasAged, hasCrashed, hasLost } = happened;
    isEqual(delivered + queued + expired + dropped, accepted);
    isAtMost(0, Math.min(delivered, queued, expired, dropped));
    if (!hasLost || !hasCrashed) isEqual(accepted, this.accepted.size);
    if (!hasAged) isEqual(expired, 0);
    if (!hasLost) isEqual(cursor.lostCount, 0);
    if (this.log === 'alarms') isEqual(dropped, cursor.lostCount);
    const passed = this.#unseen((item) => item.sequence <= ackFloor);
    if (this.log === 'alarms') this.#checkAged(passed, oldestMs);
    isAtMost(passed.length, expired + dropped);
  }

  /** Checks that nothing remains once all was sent and acknowledged. */
  checkDrained(cursor: Cursor, oldestMs: number, happened: Happened): void {
    const { delivered, expired, dropped, queued } = cursor;
    expect(queued).toBe(0);
    const missing = this.#unseen(() => true);
    if (this.log === 'alarms') this.#checkAged(missing, oldestMs);
    if (happened.hasCrashed) return;
    expect(delivered).toBe(this.acknowledged.size);
    expect(expired + dropped).toBe(this.accepted.size - this.acknowledged.size);
    if (!happened.hasLost) expect(missing.length).toBe(expired + dropped);
  }

  #checkAged(items: readonly Item[], oldestMs: number): void {
    const young = items.filter(({ receivedAtMs }) => receivedAtMs >= oldestMs);
    if (young.length > 0) expect(young, 'neither delivered nor too old').toEqual([]);
  }

  /** Items that are neither acknowledged nor lost. */
  #unseen(isMeant: (item: Item) => boolean): Item[] {
    return [...this.accepted.values()].filter(
      (item) => !item.isLost && isMeant(item) && !this.acknowledged.has(item.n),
    );
  }
}
