const CHECK_INTERVAL_MS = 500;
/** A check this long after the last one proves nothing: the process itself was held up. */
const HELD_UP_AFTER_MS = 2 * CHECK_INTERVAL_MS;
/** A server closes after one and a half keep-alives [MQTT-3.1.2-24]. */
const TIMEOUT_FACTOR = 1.5;

/** A connection watched for silence. */
export interface Watched {
  readonly keepAliveMs: number;
  /** Milliseconds since the client was last heard. */
  readonly silentMs: number;
  /** Ends the connection of a client presumed gone. */
  timeOut(): void;
}

/** Ends the connections of silent clients. One timer serves all: a network failure may end them all together. */
export class KeepAlive {
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;
  #checkedAtMs = 0;

  start(): void {
    this.#checkedAtMs = performance.now();
    this.#timer = setInterval(() => this.#check(), CHECK_INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#watched.clear();
  }

  watch(connection: Watched): void {
    this.#watched.add(connection);
  }

  leave(connection: Watched): void {
    this.#watched.delete(connection);
  }

  #check(): void {
    const sinceLastMs = performance.now() - this.#checkedAtMs;
    this.#checkedAtMs = performance.now();
    // Packets that arrived meanwhile are still in the system's buffers; they are read before the next check.
    if (sinceLastMs > HELD_UP_AFTER_MS) return;
    for (const watched of this.#watched) {
      if (watched.silentMs <= TIMEOUT_FACTOR * watched.keepAliveMs) continue;
      this.#watched.delete(watched);
      watched.timeOut();
    }
  }
}
