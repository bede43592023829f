import { type ReadonlySignal, signal } from '@preact/signals';
import { readEventStream } from './event-stream.js';
import { GatewayClock } from './gateway-clock.js';
import {
  type LiveMessage,
  parseLiveMessage,
  parseMissed,
  parseTime,
  type ReceivedEvent,
} from './messages.js';

/** `connecting` lasts only a moment; `lost` is shown large: a silent board is worse than none. */
type LiveState = 'connecting' | 'connected' | 'lost';

interface LiveListener {
  readonly message: (message: LiveMessage) => void;
  /** The stream continues with a gap: what is shown must be read again. */
  readonly missed: () => void;
}

const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 5_000;
/** Until then an ended stream is not lost: proxies end long streams, and the next begins immediately. */
const LOST_AFTER_MS = 2_000;
/** Each wait is up to this fraction shorter or longer, so that a hundred screens do not return simultaneously. */
const RETRY_SPREAD = 0.3;

/**
 * Forwarded messages, over `GET /events`.
 *
 * After a break it continues where it stopped, by the position in the gateway's log.
 */
export class LiveFeed {
  readonly #filters: readonly string[];
  readonly #onRefused: (token: string) => void;
  readonly #state = signal<LiveState>('connecting');
  readonly #listeners = new Set<LiveListener>();
  readonly state: ReadonlySignal<LiveState> = this.#state;
  readonly clock = new GatewayClock();
  #stopping: AbortController | undefined;
  /** Ends the wait before the next attempt. */
  #tryNow: (() => void) | undefined;
  #lostTimer: ReturnType<typeof setTimeout> | undefined;
  #lastEventId: string | undefined;

  /**
   * @param filters MQTT topic filters
   * @param onRefused called when the gateway no longer accepts the token
   */
  constructor(filters: readonly string[], onRefused: (token: string) => void) {
    this.#filters = filters;
    this.#onRefused = onRefused;
  }

  /** @returns a function that ends the listening */
  listen(listener: LiveListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(token: string): void {
    this.stop();
    const stopping = new AbortController();
    const { signal } = stopping;
    this.#stopping = stopping;
    // Try immediately when the network is back or someone looks at the page again.
    addEventListener('online', () => this.#tryNow?.(), { signal });
    document.addEventListener('visibilitychange', () => this.#tryNow?.(), { signal });
    void this.#run(token, signal);
  }

  stop(): void {
    this.#stopping?.abort();
    this.#stopping = undefined;
    this.#lastEventId = undefined;
    clearTimeout(this.#lostTimer);
    // Listeners for the next token must not mistake the old stream for theirs.
    this.#state.value = 'connecting';
  }

  async #run(token: string, stopping: AbortSignal): Promise<void> {
    const query = new URLSearchParams(this.#filters.map((filter) => ['filter', filter]));
    let retryMs = MIN_RETRY_MS;
    while (!stopping.aborted) {
      const end = await readEventStream({
        url: `./events?${query}`,
        token,
        lastEventId: this.#lastEventId,
        clock: this.clock,
        signal: stopping,
        onEvent: (event) => {
          retryMs = MIN_RETRY_MS;
          this.#received(event);
        },
      });
      if (stopping.aborted) return;
      this.#away(end === 'ended' && this.#state.peek() === 'connected');
      if (end === 'refused') {
        this.#onRefused(token);
        return;
      }
      await this.#waitForRetry(retryMs);
      retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
    }
  }

  #away(mayBeBackSoon: boolean): void {
    clearTimeout(this.#lostTimer);
    this.#state.value = mayBeBackSoon ? 'connecting' : 'lost';
    if (!mayBeBackSoon) return;
    this.#lostTimer = setTimeout(() => this.#away(false), LOST_AFTER_MS);
  }

  #waitForRetry(retryMs: number): Promise<void> {
    const spreadMs = retryMs * RETRY_SPREAD * (2 * Math.random() - 1);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, retryMs + spreadMs);
      this.#tryNow = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #received(event: ReceivedEvent): void {
    if (event.event === 'open') {
      clearTimeout(this.#lostTimer);
      this.#state.value = 'connected';
      // The first time nothing can be missed: listeners have just read, or are reading now.
      if (parseMissed(event.data)) this.#tell(({ missed }) => missed());
    }
    if (event.event === 'heartbeat') this.clock.set(parseTime(event.data));
    if (event.event === 'message') {
      const message = parseLiveMessage(event);
      if (message !== undefined) this.#tell((listener) => listener.message(message));
    }
    if (event.id !== undefined) this.#lastEventId = event.id;
  }

  /** A failing listener must neither keep the message from the others nor end the stream. */
  #tell(tell: (listener: LiveListener) => void): void {
    for (const listener of this.#listeners) {
      try {
        tell(listener);
      } catch (error) {
        reportError(error);
      }
    }
  }
}
