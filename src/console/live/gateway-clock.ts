/** A smaller offset is just the latency of the answer and the full seconds of its `Date`. */
const MIN_OFFSET_MS = 5_000;

/**
 * The gateway's clock, which dates alarms: that of a tablet on a wall may be years off.
 *
 * It is independent of the tablet's clock. A correction of that clock would make every alarm seem too old for the
 * board until the next heartbeat.
 */
export class GatewayClock {
  #offsetMs = 0;

  readonly now = (): number => ownTime() + this.#offsetMs;

  /** Takes the time according to the gateway. */
  set(time: string | null): void {
    const offsetMs = time === null ? Number.NaN : Date.parse(time) - ownTime();
    if (Number.isNaN(offsetMs)) return;
    this.#offsetMs = Math.abs(offsetMs) < MIN_OFFSET_MS ? 0 : offsetMs;
  }
}

/** The time by the tablet's clock as of when the page was loaded, in whole milliseconds. */
function ownTime(): number {
  return Math.round(performance.timeOrigin + performance.now());
}
