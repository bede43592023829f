import type { Deliveries } from '../deliveries.js';
import { isAlarm } from './log-entry.js';
import type { AlarmLogItem, NewAlarm } from './log-item.js';
import type { LogWriter, Unstored } from './log-writer.js';

/** An alarm not stored within this time goes out as a live copy (docs/reference/contract.md, 4.4). */
const LIVE_AFTER_MS = 400;
const LOOK_EVERY_MS = 50;
/** Bytes sent in one turn of the event loop: connections take a bounded amount per turn. */
const BYTES_PER_TURN = 128 * 1024;

/** How far the live copies of an alarm have gone. */
interface Copies {
  /** The connections that have it. */
  readonly sentTo: Set<unknown>;
  /** `Routes.joinCount` when the last receiver got it; undefined: not all have it. */
  completeAt: number | undefined;
}

/**
 * Sends live copies: alarms at QoS 0 ahead of their record, while the store is slow or away.
 *
 * Each connection gets one. Subscribers that connect again or subscribe later, or were not writable at first, get it then.
 */
export class LiveCopies {
  readonly #writer: LogWriter<AlarmLogItem>;
  readonly #deliveries: Deliveries;
  readonly #copies = new WeakMap<Unstored<AlarmLogItem>, Copies>();
  #timer: NodeJS.Timeout | undefined;
  #next: NodeJS.Immediate | undefined;

  constructor(writer: LogWriter<AlarmLogItem>, deliveries: Deliveries) {
    this.#writer = writer;
    this.#deliveries = deliveries;
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    clearImmediate(this.#next);
  }

  #look(): void {
    clearImmediate(this.#next);
    const dueMs = performance.now() - LIVE_AFTER_MS;
    let bytes = 0;
    for (const unstored of this.#writer.unstored()) {
      const { item, sinceMs } = unstored;
      // Only the store decides whether a state change is valid.
      if (sinceMs > dueMs || !isAlarm(item) || !this.#isDue(unstored)) continue;
      if (bytes > BYTES_PER_TURN) {
        this.#next = setImmediate(() => this.#look());
        return;
      }
      bytes += this.#send(unstored, item);
    }
  }

  #isDue(unstored: Unstored<AlarmLogItem>): boolean {
    const copies = this.#copies.get(unstored);
    return copies === undefined || copies.completeAt !== this.#deliveries.routes.joinCount;
  }

  /** Returns roughly how many bytes were sent. */
  #send(unstored: Unstored<AlarmLogItem>, alarm: NewAlarm): number {
    const { routes } = this.#deliveries;
    const { topic, payload, locationId, groupId, properties, publisher } = alarm;
    const copies = this.#copies.get(unstored) ?? { sentTo: new Set(), completeAt: undefined };
    this.#copies.set(unstored, copies);
    const before = copies.sentTo.size;
    const copy = { topic, payload, qos: 0, retain: false, properties, publisher } as const;
    const message = { ...copy, locationId, groupId };
    const isComplete = this.#deliveries.publishCopy(message, copies.sentTo);
    copies.completeAt = isComplete ? routes.joinCount : undefined;
    const sent = copies.sentTo.size - before;
    if (sent > 0) this.#deliveries.services.alarmSent(alarm);
    return sent * payload.length;
  }
}
