import { TokenBucket, TokenRate } from '../../domain/token-bucket.js';
import { ExpressLanes } from '../express-lanes.js';
import type { LogEntry, LogReader, Tail } from '../log/log-entry.js';
import type { Cursor } from './cursor.js';

/** After a pause a tenth of a second's messages go at once. */
const BURST_SECONDS = 0.1;

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

/** Replays a connection's backlog at a pace, while new alarms go ahead. */
export class Replay {
  readonly #options: ReplayOptions;
  readonly #pace = new TokenBucket();
  /** Cursors that have not caught up since the connection began. */
  readonly #lagging: Set<Cursor>;
  #lanes: ExpressLanes | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isLoading = false;

  constructor(options: ReplayOptions) {
    this.#options = options;
    const { alarms, messages, perSecond, now } = options;
    // A bucket lets the first message pass that it has no token left for.
    const burst = Math.max(0, perSecond * BURST_SECONDS - 1);
    this.#pace.limit(new TokenRate(perSecond / 1_000, burst), now());
    this.#lagging = new Set([alarms, messages].filter(({ queued }) => queued > 0));
    this.openLanes();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  /** Opens the express lanes anew, if alarms are queued. */
  openLanes(): void {
    const { alarms, reader, tail } = this.#options;
    const isNeeded = alarms.unread > 0;
    this.#lanes = isNeeded ? new ExpressLanes({ cursor: alarms, reader, tail }) : undefined;
  }

  /** Whether alarms are paced: telemetry does not go before them. */
  get holdsAlarms(): boolean {
    return this.#lagging.has(this.#options.alarms);
  }

  /** Notes a new alarm. */
  accepted(alarm: LogEntry): void {
    this.#lanes?.accepted(alarm);
  }

  /** Whether the cursor's next message may go now; if not, `onReady` follows. */
  maySend(cursor: Cursor): boolean {
    const waitMs = this.#pace.freeAtMs - this.#options.now();
    if (waitMs <= 0 || !this.#lagging.has(cursor)) return true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#options.onReady, Math.ceil(waitMs));
    return false;
  }

  sent(cursor: Cursor): void {
    if (this.#lagging.has(cursor)) this.#pace.take(1, this.#options.now());
  }

  caughtUp(cursor: Cursor): void {
    this.#lagging.delete(cursor);
    if (cursor === this.#options.alarms) this.#lanes = undefined;
  }

  /**
   * Takes the next alarm that goes ahead of backlog and pace.
   *
   * An alarm of the backlog that goes ahead counts towards the pace, so that in the end the
   * upstream gets no more than it should.
   */
  takeAhead(): LogEntry | undefined {
    const lanes = this.#lanes;
    if (lanes === undefined || this.#isLoading) return undefined;
    const entry = lanes.next();
    if (entry === 'not-loaded') {
      this.#load(lanes);
      return undefined;
    }
    if (entry !== undefined && lanes.hasWaited(entry)) this.#pace.take(1, this.#options.now());
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
