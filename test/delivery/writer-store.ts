import { expect, vi } from 'vitest';
import type { Announced, Appended, Destination } from '../../src/delivery/log/batch.js';
import type { NewMessage } from '../../src/delivery/log/log-item.js';
import { LogWriter } from '../../src/delivery/log/log-writer.js';
import { faultWords } from '../../src/domain/faults/faults.js';
import { batchesOf, numbered, numberIn, silent } from './running-delivery.js';

export const RETRY_MS = 250;

/** A store whose answers the test decides. */
export class Store {
  readonly batches: number[][] = [];
  readonly bytes: number[] = [];
  readonly received: NewMessage['received'][] = [];
  readonly announced: number[] = [];
  /** The destinations of each announced item. */
  readonly announcedTo: string[][] = [];
  /** The destinations of the items written now. */
  wanting: readonly Destination[] = [];
  readonly outages: (string | undefined)[] = [];
  readonly heldBack: number[][] = [];
  /** The items that the store has lost and memory still has. */
  lost: NewMessage[] = [];
  readonly wentBackTo: number[] = [];
  readonly writer: LogWriter<NewMessage>;
  readonly answers: string[] = [];
  /** The error of every batch; undefined accepts the batch. */
  fault: (numbers: readonly number[]) => Error | undefined = () => undefined;
  #isOpen = true;
  #waiting: (() => void)[] = [];
  #last = 0;

  constructor() {
    this.writer = new LogWriter({
      log: 'messages' as const,
      logger: silent,
      store: batchesOf<NewMessage>((items) => this.#append(items)),
      deliveries: {
        destinationsOf: () => this.wanting,
        announce: (entries) => this.#announce(entries),
        noteBacklogs: () => undefined,
        mend: () => Promise.resolve(),
        lastAnnounced: () => 0,
      },
      onWentBack: (last) => {
        this.wentBackTo.push(last);
        return this.lost.splice(0);
      },
      onOutage: (fault) => this.outages.push(fault && faultWords(fault, 'en').message),
      onHeldBack: (items) => this.heldBack.push(items.map(numberIn)),
    });
  }

  append(...items: readonly NewMessage[]): void {
    for (const item of items) {
      const n = numberIn(item);
      this.writer.append(item, (isStored) => this.answers.push(`${n} ${isStored}`));
    }
  }

  /** Answers nothing from now on. */
  hold(): void {
    this.#isOpen = false;
  }

  release(): void {
    this.#isOpen = true;
    for (const go of this.#waiting.splice(0)) go();
  }

  async #append(items: readonly NewMessage[]): Promise<Appended[]> {
    const numbers = items.map(numberIn);
    this.batches.push(numbers);
    this.received.push(...items.map(({ received }) => received));
    this.bytes.push(items.reduce((sum, { payload }) => sum + payload.length, 0));
    if (!this.#isOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const fault = this.fault(numbers);
    if (fault !== undefined) throw fault;
    return items.map(() => ({ sequence: ++this.#last, isNew: true }));
  }

  #announce(entries: readonly Announced<Destination>[]): void {
    for (const { entry, destinations } of entries) {
      this.announced.push(numberIn(entry));
      this.announcedTo.push(destinations.map(({ key }) => key));
      expect(entry.sequence).toBe(this.announced.length);
    }
  }
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

export const many = (from: number, to: number, bytes = 0) =>
  range(from, to).map((n) => numbered(n, 'a', 0, bytes));

export const settle = () => vi.advanceTimersByTimeAsync(0);
