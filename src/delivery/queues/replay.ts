import { TokenBucket, TokenRate } from '../../domain/token-bucket.js';
import type { ConsumerServices } from '../consumer-options.js';
import type { LogEntry, LogName } from '../log/log-entry.js';
import { ExpressLanes, type ExpressLanesOptions } from './express-lanes.js';
import type { Backlog } from './queue-store.js';

/** After a pause, the messages of a tenth of a second go in one burst. */
const BURST_SECONDS = 0.1;

export interface ReplayOptions extends Pick<ExpressLanesOptions, 'alarms'> {
  readonly services: Pick<ConsumerServices, 'queues' | 'tail' | 'now'>;
  readonly perSecond: number;
  /** What waits when the connection begins. */
  readonly backlog: Backlog;
  /** Called when more may be sent. */
  readonly onReady: () => void;
  readonly onReadFailure: (error: unknown) => void;
}

/** Replays a connection's backlog at a set pace, while new alarms go ahead. */
export class Replay {
  readonly #options: ReplayOptions;
  readonly #pace = new TokenBucket();
  /** Queues not yet read to their end on this connection. */
  readonly #lagging = new Set<LogName>();
  readonly #backlogUpTo: number;
  #lanes: ExpressLanes | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isLoading = false;

  constructor(options: ReplayOptions) {
    this.#options = options;
    const { backlog, perSecond, services } = options;
    this.#backlogUpTo = services.tail.last;
    // A bucket lets one message pass without a token.
    const burst = Math.max(0, perSecond * BURST_SECONDS - 1);
    this.#pace.limit(new TokenRate(perSecond / 1_000, burst), services.now());
    if (backlog.alarms > 0) this.#lagging.add('alarms');
    if (backlog.messages > 0) this.#lagging.add('messages');
    if (backlog.alarms > 0) this.openLanes();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  /** Opens fresh express lanes. */
  openLanes(): void {
    this.#lanes = new ExpressLanes({ ...this.#options, backlogUpTo: this.#backlogUpTo });
  }

  /** Whether alarms are paced. Telemetry must not go before them. */
  get holdsAlarms(): boolean {
    return this.#lagging.has('alarms');
  }

  /** Notes a new alarm. */
  accepted(alarm: LogEntry): void {
    this.#lanes?.accepted(alarm);
  }

  /** Whether the next entry of a queue may go now; if not, `onReady` follows. */
  maySend(log: LogName): boolean {
    const waitMs = this.#pace.freeAtMs - this.#options.services.now();
    if (waitMs <= 0 || !this.#lagging.has(log)) return true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#options.onReady, Math.ceil(waitMs));
    return false;
  }

  sent(log: LogName): void {
    if (this.#lagging.has(log)) this.#pace.take(1, this.#options.services.now());
  }

  caughtUp(log: LogName): void {
    this.#lagging.delete(log);
    if (log === 'alarms') this.#lanes = undefined;
  }

  /**
   * Takes the next alarm that goes ahead of the backlog and its pace.
   *
   * A backlog alarm that goes ahead counts towards the pace: overall, the upstream gets no more
   * than it should.
   */
  takeAhead(): LogEntry | undefined {
    const lanes = this.#lanes;
    if (lanes === undefined || this.#isLoading) return undefined;
    const entry = lanes.next();
    if (entry === 'not-loaded') {
      this.#load(lanes);
      return undefined;
    }
    if (entry !== undefined && lanes.hasWaited(entry))
      this.#pace.take(1, this.#options.services.now());
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
