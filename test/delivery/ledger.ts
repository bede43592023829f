import { expect } from 'vitest';
import type { Cursor } from '../../src/delivery/cursor.js';
import type { LogName } from '../../src/delivery/log-entry.js';

/** An entry as the model knows it. */
export interface Item {
  /** Unlike its sequence, never used again. */
  readonly n: number;
  readonly sequence: number;
  readonly topic: string;
  readonly receivedAtMs: number;
  /** The store has lost it. */
  isLost: boolean;
}

/** What has happened that makes some figures inexact. */
export interface Happened {
  hasAged: boolean;
  hasCrashed: boolean;
  hasLost: boolean;
}

/** What one subscriber accepted of one log, and what it has seen of it: the model. */
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

  /** Was accepted, on this connection only once, and in order; on a paced one that of its device. */
  sent(n: number, happened: Happened): void {
    const item = this.accepted.get(n);
    expect(item, `${this.log} ${n} was never accepted`).toBeDefined();
    const lane = this.isPaced ? (item?.topic ?? '') : '';
    expect(n).toBeGreaterThan(this.#lastOnConnection.get(lane) ?? 0);
    this.#lastOnConnection.set(lane, n);
    // What was dropped may come back after a crash that forgot of it; alarms are not dropped.
    const isForgotten = happened.hasCrashed && (this.log !== 'alarms' || happened.hasAged);
    if (this.#firstSent.has(n) || isForgotten) return;
    this.#firstSent.add(n);
    expect(n).toBeGreaterThan(this.#newestSent.get(lane) ?? 0);
    this.#newestSent.set(lane, n);
  }

  /** The account is right, and nothing is passed that was not delivered, expired or dropped. */
  check(cursor: Cursor, oldestMs: number, happened: Happened): void {
    const { delivered, expired, dropped, queued, accepted, ackFloor } = cursor;
    const { hasAged, hasCrashed, hasLost } = happened;
    expect(delivered + queued + expired + dropped).toBe(accepted);
    expect(Math.min(delivered, queued, expired, dropped)).toBeGreaterThanOrEqual(0);
    if (!hasLost || !hasCrashed) expect(accepted).toBe(this.accepted.size);
    if (!hasAged && !hasLost) expect(expired).toBe(0);
    if (this.log === 'alarms') expect(dropped).toBe(0);
    const passed = this.#unseen((item) => item.sequence <= ackFloor);
    if (this.log === 'alarms') this.#checkAged(passed, oldestMs);
    expect(passed.length).toBeLessThanOrEqual(expired + dropped);
  }

  /** Everything was sent and acknowledged: nothing may remain. */
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
    expect(young, 'neither delivered nor too old').toEqual([]);
  }

  /** Neither acknowledged nor lost. */
  #unseen(isMeant: (item: Item) => boolean): Item[] {
    return [...this.accepted.values()].filter(
      (item) => !item.isLost && isMeant(item) && !this.acknowledged.has(item.n),
    );
  }
}
