import type { Deliveries } from '../deliveries.js';
import { type AlarmLogItem, isAlarm, type NewAlarm } from './log-entry.js';
import type { LogWriter, Unstored } from './log-writer.js';

/** An alarm that is not stored by then goes out as a live copy (CONTRACT 4.4). */
const LIVE_AFTER_MS = 400;
const LOOK_EVERY_MS = 50;
/** Bytes sent in one turn of the event loop: connections take a bounded amount in each. */
const BYTES_PER_TURN = 128 * 1024;

/** Sends live copies: alarms at QoS 0 ahead of their record, while the store is slow or away. */
export class LiveCopies {
  readonly #writer: LogWriter<AlarmLogItem>;
  readonly #deliveries: Deliveries;
  readonly #copied = new WeakSet<Unstored<AlarmLogItem>>();
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
      if (unstored.sinceMs > dueMs || this.#copied.has(unstored)) continue;
      if (bytes > BYTES_PER_TURN) {
        this.#next = setImmediate(() => this.#look());
        return;
      }
      this.#copied.add(unstored);
      const { item } = unstored;
      // Whether a state can be given is known when it is stored.
      if (!isAlarm(item)) continue;
      // Alarms without subscribers, be they thousands, must not delay others.
      if (!this.#deliveries.hasReceivers(item)) continue;
      bytes += item.payload.length;
      this.#send(item);
    }
  }

  #send(alarm: NewAlarm): void {
    const { topic, payload, locationId, groupId } = alarm;
    this.#deliveries.publishDirect({ topic, payload, qos: 0, retain: false, locationId, groupId });
    this.#deliveries.services.alarmSent(alarm);
  }
}
