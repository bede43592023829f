import { type FaultGroup, fault, firstOf } from '../../domain/faults/faults.js';
import { formatTime } from '../../domain/notation.js';
import type { Consumer } from '../consumer.js';
import { type DurableConsumer, isDurable } from '../deliveries.js';
import { consumerSubject } from './backlog-fault.js';

export const WAITING_CHECK_MS = 5_000;
const WAITS_AFTER_MS = 60_000;

export interface WaitingAlarmsOptions {
  readonly consumers: () => Iterable<Consumer>;
  readonly report: (faults: FaultGroup) => void;
  /** The steady clock. */
  readonly steadyNow: () => number;
  /** Converts a steady time to the wall time that people see. */
  readonly wallTimeOf: (steadyMs: number) => number;
}

/**
 * Reports each session, bridge and webhook for which an alarm has waited for more than a minute.
 *
 * The fault began when that alarm was received.
 */
export class WaitingAlarms {
  readonly #options: WaitingAlarmsOptions;
  #isChecking = false;

  constructor(options: WaitingAlarmsOptions) {
    this.#options = options;
  }

  /** Call it every `WAITING_CHECK_MS`. While the store does not answer, what was reported stays. */
  async check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const waiting = [...this.#options.consumers()].filter(isDurable).filter(hasAlarms);
    const oldest = await Promise.allSettled(waiting.map((one) => one.oldestAlarmAtMs()));
    this.#isChecking = false;
    const hasFailed = oldest.length > 0 && oldest.every(({ status }) => status === 'rejected');
    if (hasFailed) return;
    const longAgoMs = this.#options.steadyNow() - WAITS_AFTER_MS;
    const late = waiting.flatMap(({ name }, index) => {
      const found = oldest[index];
      const atMs = found?.status === 'fulfilled' ? found.value : undefined;
      return atMs === undefined || atMs > longAgoMs ? [] : [{ name, atMs }];
    });
    this.#options.report(
      firstOf(late, ({ name, atMs }) => {
        const since = formatTime(this.#options.wallTimeOf(atMs));
        return { ...fault('alarmsWaiting'), since, subject: consumerSubject(name) };
      }),
    );
  }
}

function hasAlarms({ queued }: DurableConsumer): boolean {
  return queued.alarms > 0;
}
