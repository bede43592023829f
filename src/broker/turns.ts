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
/** Packets handled in one round; each consumer is sent about as many per round. */
const PACKETS_PER_ROUND = 100;
/** While even the fastest consumer lags, acknowledgements go before publishes, and rounds pause: longer the more it lags. */
const LAG_ENTRIES = 500;
const PACKETS_PER_ROUND_WHEN_LAGGING = 20;
const ENTRIES_PER_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5;
const LAG_CHECK_INTERVAL_MS = 5;
const PARKED_CHECK_MS = 20;

/** A client as it is handled in turns. */
export type TurnTaker = Pick<
  Client,
  'line' | 'onlyAcknowledges' | 'wantsTurn' | 'mayBeHandled' | 'handle' | 'parked'
>;

export class Turns {
  readonly #router: { readonly lag: number };
  readonly #acknowledgers = new Set<TurnTaker>();
  /** Those of each principal, the next one first. */
  readonly #circle = new Map<string, Set<TurnTaker>>();
  readonly #parked = new Set<TurnTaker>();
  #isScheduled = false;
  #pause: NodeJS.Timeout | undefined;
  #othersNotBeforeMs = 0;
  #parkedTimer: NodeJS.Timeout | undefined;
  #lagCheckedAtMs = Number.NEGATIVE_INFINITY;
  #lagEntries = 0;

  /** @param router `lag`: how many entries still wait to be sent to a consumer that reads */
  constructor(router: { readonly lag: number }) {
    this.#router = router;
  }

  /** Queues a client that has something to handle. */
  want(client: TurnTaker): void {
    if (this.#parked.has(client)) return;
    if (client.onlyAcknowledges) this.#acknowledgers.add(client);
    else {
      const { line } = client;
      this.#circle.set(line, (this.#circle.get(line) ?? new Set()).add(client));
    }
    this.#schedule();
  }

  /** Removes a client that is gone, or whose `line` changes now. */
  leave(client: TurnTaker): void {
    this.#parked.delete(client);
    this.#acknowledgers.delete(client);
    const waiting = this.#circle.get(client.line);
    waiting?.delete(client);
    if (waiting?.size === 0) this.#circle.delete(client.line);
  }

  stop(): void {
    clearTimeout(this.#pause);
    clearInterval(this.#parkedTimer);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    const pauseMs = this.#othersNotBeforeMs - performance.now();
    if (this.#acknowledgers.size > 0 || pauseMs <= 0) {
      this.#isScheduled = true;
      setImmediate(() => this.#round());
      return;
    }
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      this.#schedule();
    }, pauseMs);
  }

  #round(): void {
    this.#isScheduled = false;
    this.#handleAcknowledgers();
    if (performance.now() >= this.#othersNotBeforeMs) this.#handleOthers();
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
    const lag = this.#lagAt(startMs);
    const isLagging = lag > LAG_ENTRIES;
    if (isLagging) {
      this.#othersNotBeforeMs = startMs + Math.min(MAX_PAUSE_MS, lag / ENTRIES_PER_PAUSE_MS);
    }
    let left = isLagging ? PACKETS_PER_ROUND_WHEN_LAGGING : PACKETS_PER_ROUND;
    while (left > 0 && performance.now() - startMs < ROUND_MS) {
      const client = this.#takeNext();
      if (client === undefined) return;
      left -= this.#turn(client, Math.min(left, PACKETS_PER_TURN));
    }
  }

  /** Takes out the first client of the next principal; its others come after all other principals. */
  #takeNext(): TurnTaker | undefined {
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

  /** Returns how many packets were handled. */
  #turn(client: TurnTaker, maxPackets = PACKETS_PER_TURN): number {
    if (!client.mayBeHandled()) {
      this.#park(client);
      return 0;
    }
    const packets = client.handle(maxPackets);
    if (client.wantsTurn) this.want(client);
    return packets;
  }

  #park(client: TurnTaker): void {
    if (!client.wantsTurn) return;
    this.#parked.add(client);
    client.parked();
    this.#parkedTimer ??= setInterval(() => this.#checkParked(), PARKED_CHECK_MS);
  }

  #checkParked(): void {
    for (const client of this.#parked) {
      if (!client.mayBeHandled()) continue;
      this.#parked.delete(client);
      this.want(client);
    }
    if (this.#parked.size > 0) return;
    clearInterval(this.#parkedTimer);
    this.#parkedTimer = undefined;
  }

  #lagAt(nowMs: number): number {
    if (nowMs - this.#lagCheckedAtMs > LAG_CHECK_INTERVAL_MS) {
      this.#lagCheckedAtMs = nowMs;
      this.#lagEntries = this.#router.lag;
    }
    return this.#lagEntries;
  }
}
