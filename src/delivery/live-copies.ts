import { isAlarm, type NewAlarm } from './new-entry.js';
import type { Router } from './router.js';
import type { Writer } from './writer.js';

/** An alarm not stored within this time goes out as a live copy (contract 4.4). */
const LIVE_AFTER_MS = 400;
const LOOK_EVERY_MS = 100;
/** Bytes sent in one turn of the event loop: connections take a bounded amount per turn. */
const BYTES_PER_TURN = 128 * 1024;

/**
 * Sends live copies: alarms at QoS 0 ahead of their record, while the store is slow or away.
 *
 * Each connection gets one. Subscribers that connect again or subscribe later, or were not writable at first, get it then.
 */
export class LiveCopies {
  readonly #writer: Pick<Writer, 'unstored'>;
  readonly #router: Router;
  #timer: NodeJS.Timeout | undefined;
  #next: NodeJS.Immediate | undefined;

  constructor(writer: Pick<Writer, 'unstored'>, router: Router) {
    this.#writer = writer;
    this.#router = router;
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    clearImmediate(this.#next);
  }

  /**
   * Sends an alarm to the connections that do not have it.
   *
   * @returns roughly how many bytes were sent
   */
  send(alarm: NewAlarm, sentTo: Set<unknown>): number {
    const before = sentTo.size;
    this.#router.publishCopy(alarm, sentTo);
    const sent = sentTo.size - before;
    if (sent > 0) this.#router.services.alarmSent(alarm);
    return sent * alarm.payload.length;
  }

  #look(): void {
    clearImmediate(this.#next);
    const dueMs = performance.now() - LIVE_AFTER_MS;
    let bytes = 0;
    for (const unstored of this.#writer.unstored()) {
      const { entry, sinceMs } = unstored;
      // Whether a state may be given, only the store decides.
      if (sinceMs > dueMs || !isAlarm(entry)) continue;
      if (bytes > BYTES_PER_TURN) {
        this.#next = setImmediate(() => this.#look());
        return;
      }
      unstored.sentTo ??= new Set();
      bytes += this.send(entry, unstored.sentTo);
    }
  }
}
