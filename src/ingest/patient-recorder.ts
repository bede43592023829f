import type { AlarmToRecord, MessageToAppend, Recorded, Recorder } from '../delivery/recorder.js';
import { GatewayError } from '../errors.js';
import type { Health } from '../site/health.js';

const RETRY_AFTER_MS = 250;
const FAULT = 'recorder';

interface Job {
  readonly number: number;
  readonly run: () => Promise<Recorded>;
  readonly resolve: (recorded: Recorded) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Keeps what the store refuses for now, and tries it again in its order, so that no device has to be
 * disconnected for a store that is full. How much may wait is bounded where publishes are taken in.
 */
export class PatientRecorder implements Recorder {
  readonly #recorder: Recorder;
  readonly #health: Health;
  readonly #waiting: Job[] = [];
  #lastNumber = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(recorder: Recorder, health: Health) {
    this.#recorder = recorder;
    this.#health = health;
  }

  recordAlarm(alarm: AlarmToRecord): Promise<Recorded> {
    return this.#submit(() => this.#recorder.recordAlarm(alarm));
  }

  appendMessage(message: MessageToAppend): Promise<Recorded> {
    return this.#submit(() => this.#recorder.appendMessage(message));
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #submit(run: () => Promise<Recorded>): Promise<Recorded> {
    return new Promise((resolve, reject) => {
      this.#lastNumber++;
      const job = { number: this.#lastNumber, run, resolve, reject };
      if (this.#waiting.length > 0) this.#waiting.push(job);
      else this.#try(job);
    });
  }

  #try(job: Job): void {
    job.run().then(job.resolve, (error: unknown) => this.#refused(job, error));
  }

  #refused(job: Job, error: unknown): void {
    if (!(error instanceof GatewayError) || error.code !== 'store-unavailable') {
      job.reject(error);
      return;
    }
    this.#health.report(FAULT, error.detail);
    // Several were on their way when the first was refused: they come back in their order.
    const place = this.#waiting.findIndex(({ number }) => number > job.number);
    this.#waiting.splice(place < 0 ? this.#waiting.length : place, 0, job);
    this.#timer ??= setTimeout(() => this.#tryOldest(), RETRY_AFTER_MS);
  }

  #tryOldest(): void {
    this.#timer = undefined;
    const oldest = this.#waiting.shift();
    if (oldest === undefined) return;
    oldest.run().then(
      (recorded) => {
        oldest.resolve(recorded);
        this.#health.report(FAULT, undefined);
        for (const job of this.#waiting.splice(0)) this.#try(job);
      },
      (error: unknown) => {
        this.#refused(oldest, error);
        this.#timer ??= setTimeout(() => this.#tryOldest(), RETRY_AFTER_MS);
      },
    );
  }
}
