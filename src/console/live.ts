/**
 * Forwarded messages as they come, over `GET /events`, and the gateway's clock.
 *
 * After a break the feed continues where it stopped, by the position in the gateway's log. `EventSource` would not do:
 * it cannot send a token in a header, and a token in the address would get into proxy logs.
 */

import { type ReadonlySignal, signal } from '@preact/signals';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { isRecord, parseExactJson } from './request.js';
import { session } from './session.js';

/** `connecting` lasts only a moment; `lost` is shown large: a silent board is worse than none. */
type LiveState = 'connecting' | 'connected' | 'lost';

/** A forwarded message, as an MQTT subscriber receives it. */
export interface LiveMessage {
  readonly topic: string;
  readonly retained: boolean;
  /** Whether it is an alarm in the log, or its state: the live copy of an alarm comes ahead of its record. */
  readonly isRecorded: boolean;
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface LiveListener {
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

export class LiveFeed {
  readonly #filters: readonly string[];
  readonly #state = signal<LiveState>('connecting');
  readonly #listeners = new Set<LiveListener>();
  readonly state: ReadonlySignal<LiveState> = this.#state;
  readonly clock = new GatewayClock();
  #stopping: AbortController | undefined;
  /** Ends the wait before the next attempt. */
  #tryNow: (() => void) | undefined;
  #lostTimer: ReturnType<typeof setTimeout> | undefined;
  #lastEventId: string | undefined;

  /** @param filters MQTT topic filters */
  constructor(filters: readonly string[]) {
    this.#filters = filters;
  }

  /** @returns a function that ends the listening */
  listen(listener: LiveListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads with the token until it is stopped; a token that the gateway refuses is signed out. */
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
    let retryMs = MIN_RETRY_MS;
    while (!stopping.aborted) {
      const end = await this.#read(token, stopping, (event) => {
        retryMs = MIN_RETRY_MS;
        this.#received(event);
      });
      if (stopping.aborted) return;
      this.#away(end === 'ended' && this.#state.peek() === 'connected');
      if (end === 'refused') {
        session.refused(token);
        return;
      }
      await this.#waitForRetry(retryMs);
      retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
    }
  }

  /**
   * Reads events until the stream ends, falls silent, or is aborted.
   *
   * @returns `refused`: the gateway refused the token; `silent`: nothing came for too long
   */
  async #read(
    token: string,
    stopping: AbortSignal,
    onEvent: (event: EventSourceMessage) => void,
  ): Promise<'refused' | 'silent' | 'ended'> {
    const query = new URLSearchParams(this.#filters.map((filter) => ['filter', filter]));
    const headers = new Headers({
      Authorization: `Bearer ${token}`,
      Accept: 'text/event-stream',
    });
    if (this.#lastEventId !== undefined) headers.set('Last-Event-ID', this.#lastEventId);
    const silence = new SilenceWatch();
    const signal = AbortSignal.any([stopping, silence.signal]);
    try {
      const response = await fetch(`./events?${query}`, { headers, cache: 'no-store', signal });
      if (response.status === 401) return 'refused';
      if (!response.ok || response.body === null) return 'ended';
      this.clock.set(response.headers.get('Date'));
      const parser = createParser({ onEvent });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return 'ended';
        silence.broken();
        parser.feed(value);
      }
    } catch {
      // Without the network `fetch` and `read` throw; this counts as an orderly end.
      return silence.signal.aborted ? 'silent' : 'ended';
    } finally {
      silence.end();
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

  #received({ event, id, data }: EventSourceMessage): void {
    const value = recordIn(data);
    if (event === 'open') {
      clearTimeout(this.#lostTimer);
      this.#state.value = 'connected';
      // The first time nothing can be missed: listeners have just read, or are reading now.
      if (value?.['missed'] === true) this.#tell(({ missed }) => missed());
    }
    const { at, topic, retained, payload } = value ?? {};
    if (event === 'heartbeat' && typeof at === 'string') this.clock.set(at);
    if (event === 'message' && typeof topic === 'string' && isRecord(payload)) {
      const isRecorded = id !== undefined;
      const message = { topic, retained: retained === true, isRecorded, payload };
      this.#tell((listener) => listener.message(message));
    }
    if (id !== undefined) this.#lastEventId = id;
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

function recordIn(data: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseExactJson(data);
    return isRecord(value) ? value : undefined;
  } catch {
    // Devices may publish anything; that must not end the stream.
    return undefined;
  }
}

/** The gateway sends a heartbeat every 5 s: after this long the connection is dead, whatever TCP says. */
const SILENT_AFTER_MS = 11_000;
const LOOK_INTERVAL_MS = 1_000;

/**
 * Aborts when the stream has been silent for too long.
 *
 * Checks the wall clock at short intervals: other clocks and long timers stand still while a computer sleeps, and
 * when it wakes up, the connection is already dead.
 */
class SilenceWatch {
  readonly #aborting = new AbortController();
  readonly signal = this.#aborting.signal;
  readonly #timer = setInterval(() => this.#look(), LOOK_INTERVAL_MS);
  #heardAtMs = Date.now();

  broken(): void {
    this.#heardAtMs = Date.now();
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    // Setting the clock back must not hide a silence.
    this.#heardAtMs = Math.min(this.#heardAtMs, Date.now());
    if (Date.now() - this.#heardAtMs > SILENT_AFTER_MS) this.#aborting.abort();
  }
}

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

/** What the whole console follows. Other messages of devices are read only where they are shown. */
export const live = new LiveFeed([
  'care-homes/+/devices/+/alarms/+',
  'care-homes/+/devices/+/alarm-states/+',
  'care-homes/+/devices/+/escalations/+',
  'care-homes/+/devices/+/status',
  'care-homes/+/devices/+/supervision',
  'gateway/status',
]);
