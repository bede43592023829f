import type { Deliveries } from './deliveries.js';
import type { NewAlarm } from './log-entry.js';

/** An alarm that takes longer to be stored goes out before that (CONTRACT 4.4). */
const LIVE_AFTER_MS = 400;
const LOOK_EVERY_MS = 50;
/** So much is sent in one turn of the event loop: connections take a bounded amount in each. */
const BYTES_PER_TURN = 128 * 1024;

interface Waiting {
  readonly alarm: NewAlarm;
  readonly sinceMs: number;
  isStored: boolean;
}

/**
 * Sends live copies: alarms at QoS 0 ahead of their record, while the store is slow or away.
 *
 * Alarms wait in the order in which they came, so one timer looks at the oldest for all of them.
 */
export class LiveCopies {
  readonly #deliveries: Deliveries;
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(deliveries: Deliveries) {
    this.#deliveries = deliveries;
  }

  /** The alarm is on its way to the store. The returned function is to be called once it is stored. */
  watch(alarm: NewAlarm): () => void {
    const waiting = { alarm, sinceMs: performance.now(), isStored: false };
    this.#waiting.push(waiting);
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS);
    return () => {
      waiting.isStored = true;
    };
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#waiting = [];
  }

  #look(): void {
    const dueMs = performance.now() - LIVE_AFTER_MS;
    let bytes = 0;
    let looked = 0;
    for (const { alarm, sinceMs, isStored } of this.#waiting) {
      if (sinceMs > dueMs || bytes > BYTES_PER_TURN) break;
      looked++;
      // Thousands that nobody has subscribed to delay no other.
      if (isStored || this.#deliveries.routes.match(alarm.topic).length === 0) continue;
      bytes += alarm.payload.length;
      this.#send(alarm);
    }
    this.#waiting.splice(0, looked);
    if (bytes > BYTES_PER_TURN) setImmediate(() => this.#look());
    if (this.#waiting.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #send({ topic, payload, locationId, groupId }: NewAlarm): void {
    this.#deliveries.publishDirect({ topic, payload, qos: 0, retain: false, locationId, groupId });
  }
}
