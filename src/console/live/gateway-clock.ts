/** Less is the way of an answer, and the seconds of `Date` in its head. */
const MIN_OFFSET_MS = 5_000;

/**
 * The gateway's clock, by which alarms are dated: that of a tablet on a wall may be years off.
 *
 * It does not follow the tablet's, which jumps when it is put right: until the next heartbeat every alarm would
 * seem to be older than what the board shows.
 */
export class GatewayClock {
  #offsetMs = 0;

  readonly now = (): number => ownTime() + this.#offsetMs;

  /** Takes the time that the gateway says it is. */
  set(time: string | null): void {
    const offsetMs = time === null ? Number.NaN : Date.parse(time) - ownTime();
    if (Number.isNaN(offsetMs)) return;
    this.#offsetMs = Math.abs(offsetMs) < MIN_OFFSET_MS ? 0 : offsetMs;
  }
}

/** The time by the tablet's clock as it was when the page was loaded, in whole milliseconds. */
function ownTime(): number {
  return Math.round(performance.timeOrigin + performance.now());
}
