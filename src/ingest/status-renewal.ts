import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { pause } from '../site/clock/pause.js';

/**
 * After a restart thousands of devices come back together, and renaming a care home affects all of its
 * devices. One write has as many statuses as a batch has messages, and alarms get in between.
 */
const SLICE_LENGTH = 250;
const RETRY_AFTER_MS = 500;

/**
 * Publishes the statuses of devices that have come, gone or changed, a slice at a time.
 *
 * Each status is rendered when its turn comes, so of several changes only the newest state goes out. A
 * slice that fails is retried: a device that has gone must not be shown as online for ever.
 */
export class StatusRenewal {
  readonly #publish: (deviceIds: readonly string[]) => Promise<void>;
  readonly #log: Logger;
  readonly #waiting = new Set<string>();
  readonly #stopping = new AbortController();
  #isRunning = false;

  /** @param publish resolves once the devices' statuses are stored */
  constructor(publish: (deviceIds: readonly string[]) => Promise<void>, log: Logger) {
    this.#publish = publish;
    this.#log = log;
  }

  request(deviceId: string): void {
    this.#waiting.add(deviceId);
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#publishAll();
  }

  /** Whether all requested statuses are stored. */
  get isIdle(): boolean {
    return !this.#isRunning;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #publishAll(): Promise<void> {
    const { signal } = this.#stopping;
    // Requests of one turn of the event loop go out together.
    await delay(0);
    let isFailing = false;
    while (this.#waiting.size > 0 && !signal.aborted) {
      const slice = [...take(this.#waiting, SLICE_LENGTH)];
      try {
        await this.#publish(slice);
        isFailing = false;
      } catch (err) {
        const fields = { err, devices: slice.length };
        if (!isFailing) this.#log.warn(fields, 'failed to publish statuses, retrying');
        isFailing = true;
        for (const deviceId of slice) this.#waiting.add(deviceId);
        await pause(RETRY_AFTER_MS, signal);
      }
    }
    // Immediately: a request that comes now starts the next run.
    this.#isRunning = false;
  }
}

/** Takes the first few out of the set. */
function* take(waiting: Set<string>, count: number): Generator<string> {
  for (const value of waiting) {
    if (count-- === 0) return;
    waiting.delete(value);
    yield value;
  }
}
