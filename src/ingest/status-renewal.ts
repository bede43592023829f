import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { pause } from '../site/pause.js';

/** A care home's rename concerns all of its devices: alarms must get in between. */
const SLICE_LENGTH = 50;
const RETRY_AFTER_MS = 500;

/**
 * Publishes the statuses of changed devices, a slice at a time.
 *
 * Each status is rendered when its turn comes, so of several changes only the newest state goes out.
 */
export class StatusRenewal {
  readonly #publish: (deviceId: string) => Promise<void>;
  readonly #log: Logger;
  readonly #waiting = new Set<string>();
  readonly #stopping = new AbortController();
  #run: Promise<void> | undefined;

  /** @param publish resolves once the device's status is stored */
  constructor(publish: (deviceId: string) => Promise<void>, log: Logger) {
    this.#publish = publish;
    this.#log = log;
  }

  request(deviceId: string): void {
    this.#waiting.add(deviceId);
    this.#run ??= this.#publishAll();
  }

  /** Resolves once all requested statuses are stored. */
  async done(): Promise<void> {
    await this.#run;
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
      const results = await Promise.allSettled(slice.map((deviceId) => this.#publish(deviceId)));
      const failed = slice.filter((_, index) => results[index]?.status === 'rejected');
      if (failed.length === 0) {
        isFailing = false;
        continue;
      }
      const err = results.find((result) => result.status === 'rejected')?.reason;
      if (!isFailing)
        this.#log.warn({ err, devices: failed.length }, 'failed to publish statuses, retrying');
      isFailing = true;
      for (const deviceId of failed) this.#waiting.add(deviceId);
      await pause(RETRY_AFTER_MS, signal);
    }
    // At once: a request that comes now begins the next run.
    this.#run = undefined;
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
