import type { Cursor } from './cursor.js';
import { ExpressLanes } from './express-lanes.js';
import type { LogEntry, LogReader, Tail } from './log-entry.js';
import { Pace } from './pace.js';

export interface ReplayOptions {
  readonly perSecond: number;
  readonly alarms: Cursor;
  readonly messages: Cursor;
  /** Of the alarm log. */
  readonly tail: Tail;
  readonly reader: LogReader;
  readonly now: () => number;
  /** Called when more may be sent. */
  readonly onReady: () => void;
  readonly onReadFailure: (error: unknown) => void;
}

/**
 * Replays the backlog of one connection at a pace, and lets new alarms past what waits of other
 * devices meanwhile.
 */
export class Replay {
  readonly #options: ReplayOptions;
  readonly #pace: Pace;
  /** Those that have not caught up since the connection began: what they bring had to wait. */
  readonly #behind: Set<Cursor>;
  #lanes: ExpressLanes | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isLoading = false;

  constructor(options: ReplayOptions) {
    this.#options = options;
    const { alarms, messages, perSecond, now } = options;
    this.#pace = new Pace(perSecond, now);
    this.#behind = new Set([alarms, messages].filter(({ queued }) => queued > 0));
    this.openLanes();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  /** Looks anew through what waits. */
  openLanes(): void {
    const { alarms, reader, tail } = this.#options;
    const isNeeded = alarms.unread > 0;
    this.#lanes = isNeeded ? new ExpressLanes({ cursor: alarms, reader, tail }) : undefined;
  }

  /** Whether alarms keep the pace: telemetry does not come before them. */
  get holdsAlarms(): boolean {
    return this.#behind.has(this.#options.alarms);
  }

  /** A new alarm was accepted. */
  accepted(alarm: LogEntry): void {
    this.#lanes?.accepted(alarm);
  }

  /** Whether the pace lets another message of the cursor go now; if not, `onReady` says when. */
  mayGoOn(cursor: Cursor): boolean {
    const waitMs = this.#behind.has(cursor) ? this.#pace.waitMs() : 0;
    if (waitMs === 0) return true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#options.onReady, waitMs);
    return false;
  }

  took(cursor: Cursor): void {
    if (this.#behind.has(cursor)) this.#pace.took();
  }

  caughtUp(cursor: Cursor): void {
    this.#behind.delete(cursor);
    if (cursor === this.#options.alarms) this.#lanes = undefined;
  }

  /**
   * The next alarm that does not wait for the end of the backlog, nor for the pace; what waits is held
   * back for it, so that in the end the upstream gets no more than it should.
   */
  takeAhead(): LogEntry | undefined {
    const lanes = this.#lanes;
    if (lanes === undefined || this.#isLoading) return undefined;
    const entry = lanes.next();
    if (entry === 'not-loaded') {
      this.#load(lanes);
      return undefined;
    }
    if (entry !== undefined && lanes.hasWaited(entry)) this.#pace.took();
    return entry;
  }

  #load(lanes: ExpressLanes): void {
    this.#isLoading = true;
    lanes
      .load()
      .finally(() => {
        this.#isLoading = false;
      })
      .then(this.#options.onReady, this.#options.onReadFailure);
  }
}
