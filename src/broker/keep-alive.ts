const LOOK_EVERY_MS = 500;
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

  start(): void {
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
    for (const watched of this.#watched) {
      if (watched.silentMs <= PATIENCE * watched.keepAliveMs) continue;
      this.#watched.delete(watched);
      watched.timeOut();
    }
  }
}
