import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { GatewayClock } from './gateway-clock.js';

/** The gateway sends a heartbeat every 5 s: after this long the connection is dead, whatever TCP says. */
const SILENT_AFTER_MS = 11_000;
const LOOK_INTERVAL_MS = 1_000;

interface EventStreamOptions {
  readonly url: string;
  readonly token: string;
  /** The position in the log to read on from; undefined: from now. */
  readonly lastEventId: string | undefined;
  readonly onEvent: (event: EventSourceMessage) => void;
  readonly clock: GatewayClock;
  readonly signal: AbortSignal;
}

/** Why a stream ended: the gateway refused the token, nothing came for too long, or one of both sides ended it. */
type StreamEnd = 'refused' | 'silent' | 'ended';

/**
 * Reads server-sent events until the stream ends, falls silent, or is aborted.
 *
 * `EventSource` cannot send a token in a header, and one in the address would be in the logs of proxies.
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
    // Without the network `fetch` and `read` throw; what follows is the same as after an orderly end.
    return silence.signal.aborted ? 'silent' : 'ended';
  } finally {
    silence.end();
  }
}

/**
 * Aborts when nothing came for too long.
 *
 * By the wall clock, at short intervals: other clocks and long timers stand still while a computer sleeps, and
 * the connection it wakes up with is dead already.
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
    // A clock that is set back must not hide a silence.
    this.#heardAtMs = Math.min(this.#heardAtMs, Date.now());
    if (Date.now() - this.#heardAtMs > SILENT_AFTER_MS) this.#aborting.abort();
  }
}
