/**
 * Decides whose packets are handled next.
 *
 * Delivery goes on however fast publishes arrive. Clients that only acknowledge come first, whatever their credential:
 * acknowledgements make room for messages. The others come in a circle of principals, and opening more connections does
 * not get a principal more turns. A client that may not be handled is parked.
 */
import type { Client } from './client.js';

/** A few publishes. */
const PACKETS_PER_TURN = 16;
/** How long the turns of one round may take before the event loop goes on. */
const ROUND_MS = 10;
const ACKNOWLEDGERS_ROUND_MS = 5;
/** While even the fastest consumer lags, acknowledgements go before publishes. */
const LAG_ENTRIES = 500;
const ROUND_WHEN_LAGGING_MS = 1;
const LAG_CHECK_INTERVAL_MS = 5;
const PARKED_CHECK_MS = 20;

export class Turns {
  readonly #router: { readonly lag: number };
  readonly #acknowledgers = new Set<Client>();
  /** Those of each principal, the next one first. */
  readonly #circle = new Map<string, Set<Client>>();
  readonly #parked = new Set<Client>();
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  #lagCheckedAtMs = Number.NEGATIVE_INFINITY;
  #isLagging = false;

  /** @param router `lag`: how many entries still wait to be sent to a consumer that reads */
  constructor(router: { readonly lag: number }) {
    this.#router = router;
  }

  /** Queues a client that has something to handle. */
  want(client: Client): void {
    if (this.#parked.has(client)) return;
    if (client.onlyAcknowledges) this.#acknowledgers.add(client);
    else {
      const { line } = client;
      this.#circle.set(line, (this.#circle.get(line) ?? new Set()).add(client));
    }
    this.#schedule();
  }

  /** Removes a client that is gone, or whose `line` changes now. */
  leave(client: Client): void {
    this.#parked.delete(client);
    this.#acknowledgers.delete(client);
    const waiting = this.#circle.get(client.line);
    waiting?.delete(client);
    if (waiting?.size === 0) this.#circle.delete(client.line);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#round());
  }

  #round(): void {
    this.#isScheduled = false;
    this.#handleAcknowledgers();
    this.#handleOthers();
    if (this.#acknowledgers.size + this.#circle.size > 0) this.#schedule();
  }

  /** Gives each that waits a turn. */
  #handleAcknowledgers(): void {
    const startMs = performance.now();
    for (let turns = this.#acknowledgers.size; turns > 0; turns--) {
      for (const client of this.#acknowledgers) {
        this.#acknowledgers.delete(client);
        this.#turn(client);
        break;
      }
      if (performance.now() - startMs > ACKNOWLEDGERS_ROUND_MS) return;
    }
  }

  #handleOthers(): void {
    const startMs = performance.now();
    const roundMs = this.#isLaggingAt(startMs) ? ROUND_WHEN_LAGGING_MS : ROUND_MS;
    do {
      const client = this.#takeNext();
      if (client === undefined) return;
      this.#turn(client);
    } while (performance.now() - startMs < roundMs);
  }

  /** Takes out the first client of the next principal; its others come after all other principals. */
  #takeNext(): Client | undefined {
    for (const [line, waiting] of this.#circle) {
      this.#circle.delete(line);
      for (const client of waiting) {
        waiting.delete(client);
        if (waiting.size > 0) this.#circle.set(line, waiting);
        return client;
      }
    }
    return undefined;
  }

  #turn(client: Client): void {
    if (!client.mayBeHandled()) {
      this.#park(client);
      return;
    }
    client.handle(PACKETS_PER_TURN);
    if (client.wantsTurn) this.want(client);
  }

  #park(client: Client): void {
    if (!client.wantsTurn) return;
    this.#parked.add(client);
    client.parked();
    this.#timer ??= setInterval(() => this.#checkParked(), PARKED_CHECK_MS);
  }

  #checkParked(): void {
    for (const client of this.#parked) {
      if (!client.mayBeHandled()) continue;
      this.#parked.delete(client);
      this.want(client);
    }
    if (this.#parked.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #isLaggingAt(nowMs: number): boolean {
    if (nowMs - this.#lagCheckedAtMs > LAG_CHECK_INTERVAL_MS) {
      this.#lagCheckedAtMs = nowMs;
      this.#isLagging = this.#router.lag > LAG_ENTRIES;
    }
    return this.#isLagging;
  }
}
