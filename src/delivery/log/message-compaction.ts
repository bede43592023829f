import type { Consumer } from '../consumer.js';
import type { Deliveries } from '../deliveries.js';
import type { LogEntry, TrimmableLogs } from './log-entry.js';

const PAGE_ENTRIES = 1_000;
/** Fewer stored messages than this are not worth a scan. */
const MIN_ENTRIES = 10_000;

/**
 * Removes messages from the middle of their log that no consumer needs.
 *
 * Trimming stops at the lowest ack floor. Without compaction, a few messages queued for an absent
 * session of a quiet home would keep every later message of all other homes.
 */
export class MessageCompaction {
  readonly #logs: TrimmableLogs;
  readonly #deliveries: Deliveries;
  /** Messages left after the last run. */
  #left = 0;

  constructor(logs: TrimmableLogs, deliveries: Deliveries) {
    this.#logs = logs;
    this.#deliveries = deliveries;
  }

  /** Scans the log once it has doubled, so that each message is read a few times at most. */
  async run(): Promise<void> {
    const count = await this.#logs.messageCount();
    this.#left = Math.min(this.#left, count);
    if (count < 2 * this.#left + MIN_ENTRIES) return;
    const removed = await this.compact();
    this.#left = count - removed;
  }

  /** Scans the whole log. Returns how many messages were removed. */
  async compact(): Promise<number> {
    const { last } = this.#deliveries.tails.messages;
    let removed = 0;
    for (let after = 0; after < last; ) {
      const page = await this.#logs.read('messages', after, PAGE_ENTRIES);
      const withEnded = [...this.#deliveries.consumers].filter(
        ({ subscriptions }) => subscriptions.hasEnded,
      );
      const unneeded = page
        .filter((entry) => entry.sequence <= last && !this.#isNeeded(entry, withEnded))
        .map(({ sequence }) => sequence);
      await this.#logs.removeMessages(unneeded);
      removed += unneeded.length;
      after = page.at(-1)?.sequence ?? last;
    }
    return removed;
  }

  #isNeeded(entry: LogEntry, withEnded: readonly Consumer[]): boolean {
    const routes = this.#deliveries.routes.match(entry.topic);
    const isSelected = routes.some(
      ({ selection, qos }) =>
        qos === 1 &&
        selection.rule.mayReceive(entry) &&
        [...selection.members].some(({ cursors }) => cursors[entry.log].needs(entry)),
    );
    return isSelected || withEnded.some(({ cursors }) => cursors[entry.log].needs(entry));
  }
}
