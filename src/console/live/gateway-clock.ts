/** Less is the way of an answer, and the seconds of `Date` in its head. */
const MIN_OFFSET_MS = 5_000;

/**
 * The gateway's clock, by which alarms are dated: that of a tablet on a wall may be years off.
 */
export class GatewayClock {
  #offsetMs = 0;

  readonly now = (): number => Date.now() + this.#offsetMs;

  /** Takes the time that the gateway says it is. */
  set(time: string | null): void {
    const offsetMs = time === null ? Number.NaN : Date.parse(time) - Date.now();
    if (Number.isNaN(offsetMs)) return;
    this.#offsetMs = Math.abs(offsetMs) < MIN_OFFSET_MS ? 0 : offsetMs;
  }
}
