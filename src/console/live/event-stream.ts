import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { GatewayClock } from './gateway-clock.js';

/** The gateway sends a heartbeat every 5 s: after this long the connection is dead, whatever TCP says. */
const SILENT_AFTER_MS = 11_000;
const LOOK_INTERVAL_MS = 1_000;

interface EventStreamOptions {
  readonly url: string;
  readonly token: string;
  /** The position in the log to continue from; undefined: from now. */
  readonly lastEventId: string | undefined;
  readonly onEvent: (event: EventSourceMessage) => void;
  readonly clock: GatewayClock;
  readonly signal: AbortSignal;
}

/** Why a stream ended: the gateway refused the token, nothing came for too long, or either side ended it. */
type StreamEnd = 'refused' | 'silent' | 'ended';

/**
 * Reads server-sent events until the stream ends, falls silent, or is aborted.
 *
 * `EventSource` cannot send a token in a header, and a token in the address would get into proxy logs.
 */
export async function readEventStream(options: EventStreamOptions): Promise<StreamEnd> {
  const { url, token, lastEventId, onEvent, clock, signal } = options;
  const silence = new SilenceWatch();
  try {
    const response = await fetch(url, {
      headers: {
        Authorization: `Bearer ${token}`,
        Accept: 'text/event-stream',
        ...(lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId }),
      },
      cache: 'no-store',
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (response.status === 401) return 'refused';
    if (!response.ok || response.body === null) return 'ended';
    clock.set(response.headers.get('Date'));
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
