/** A single message may wait longer than this, as long as others are acknowledged meanwhile. */
const LONGEST_WAIT_TIMEOUTS = 6;
const CHECKS_PER_TIMEOUT = 4;

/**
 * Notices an upstream that has stopped acknowledging.
 * A connection may look alive and be dead: the network is gone, or the broker answers pings only.
 */
export class AckWatch {
  readonly #timeoutMs: number;
  readonly #onSilence: () => void;
  /** Send times of unacknowledged messages, the oldest first. */
  readonly #sentAtMs = new Map<number, number>();
  readonly #timer: NodeJS.Timeout;
  /** Time of the last acknowledgement, or of the first message since none was in flight. */
  #lastAnswerAtMs = 0;

  /** @param onSilence called, perhaps more than once, when nothing has been acknowledged in time */
  constructor(timeoutMs: number, onSilence: () => void) {
    this.#timeoutMs = timeoutMs;
    this.#onSilence = onSilence;
    this.#timer = setInterval(() => this.#check(), timeoutMs / CHECKS_PER_TIMEOUT);
  }

  sent(messageId: number): void {
    const nowMs = performance.now();
    if (this.#sentAtMs.size === 0) this.#lastAnswerAtMs = nowMs;
    this.#sentAtMs.set(messageId, nowMs);
  }

  answered(messageId: number): void {
    this.#sentAtMs.delete(messageId);
    this.#lastAnswerAtMs = performance.now();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const [oldestMs] = this.#sentAtMs.values();
    if (oldestMs === undefined) return;
    const nowMs = performance.now();
    const isStuck = nowMs - oldestMs > this.#timeoutMs * LONGEST_WAIT_TIMEOUTS;
    if (isStuck || nowMs - this.#lastAnswerAtMs > this.#timeoutMs) this.#onSilence();
  }
}
