const LOOK_EVERY_MS = 500;
/** A look that comes later than this behind the last says nothing: the process was held up itself. */
const HELD_UP_AFTER_MS = 2 * LOOK_EVERY_MS;
/** A server closes after one and a half keep-alives [MQTT-3.1.2-24]. */
const PATIENCE = 1.5;

/** A connection from which something is to be heard. */
export interface Watched {
  readonly keepAliveMs: number;
  /** For how long nothing has come, in milliseconds. */
  readonly silentMs: number;
  /** The client is taken for gone. */
  timeOut(): void;
}

/** Ends connections whose clients have gone silent: one timer for all of them. */
export class KeepAlive {
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;
  #lookedAtMs = 0;

  start(): void {
    this.#lookedAtMs = performance.now();
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
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

  #look(): void {
    const sinceLastMs = performance.now() - this.#lookedAtMs;
    this.#lookedAtMs = performance.now();
    // What has arrived meanwhile is still with the system, and is read before the next look.
    if (sinceLastMs > HELD_UP_AFTER_MS) return;
    for (const watched of this.#watched) {
      if (watched.silentMs <= PATIENCE * watched.keepAliveMs) continue;
      this.#watched.delete(watched);
      watched.timeOut();
    }
  }
}
