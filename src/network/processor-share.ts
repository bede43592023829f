import { type FaultReport, warning } from '../domain/faults.js';
import { holderSubject } from '../site/health/fault-subjects.js';
import type { SiteModel } from '../site/site-model.js';

/** Who has work within the share: a connection with bytes or requests, a TLS handshake. */
export interface ShareUser {
  /** Who it works for: a client with a valid credential, or else a network. They share their turns. */
  readonly line: string;
  /** A client that has shown a valid credential, one that has not, or a TLS handshake. */
  readonly kind: 'known' | 'stranger' | 'handshake';
  /** Does a bounded piece of work, and asks for another turn if there is more. */
  takeTurn(): void;
}

/** Processor time of one round: what an alarm may wait for in one turn of the event loop. */
const ROUND_MS = 4;
const MAX_TURNS_PER_ROUND = 32;
/** Requests that wait for the store at a time: the work after its answers must not come all at once. */
const MAX_HELD = 1;
/** After this long, what is waited for is slow, and costs the processor nothing meanwhile. */
const MAX_HELD_MS = 250;
/** For so long after that, each further request is waited for this long only. */
const SLOW_FOR_MS = 1_000;
const MAX_HELD_WHILE_SLOW_MS = 10;
/** Longest pause: a wait for the store takes time but little of the processor. */
const MAX_PAUSE_MS = 50;
/** Strangers and handshakes get one turn in so many, alternately, however much known clients have to do. */
const STRANGERS_TURN = 4;

export const SHARE_CHECK_MS = 5_000;
/** Limits of one client, and of a pause of the work: under constant load it pauses half of the time. */
const BUSY_MS = SHARE_CHECK_MS / 4;
const BUSY = 'HTTP and TLS clients take much of the processor.';

/**
 * Gives HTTP and TLS handshakes, which anybody can ask for, a bounded share of the processor.
 *
 * Work is done in turns: by client or network, then by connection, and known clients before strangers. A round of turns
 * is short, and one that leaves work over is followed by a pause as long as itself, in which alarms pass.
 * MQTT takes no pauses: there the turns are those of `broker/wire/fair-turns.ts`, which only orders them.
 */
export class ProcessorShare {
  readonly #queues = { known: new Lines(), stranger: new Lines(), handshake: new Lines() };
  #isScheduled = false;
  #notBeforeMs = 0;
  #roundStartedAtMs: number | undefined;
  #turns = 0;
  #held = 0;
  #isSlowUntilMs = 0;
  #turn: { readonly line: string; readonly startedAtMs: number } | undefined;
  #usedMs = new Map<string, number>();
  #pausedMs = 0;

  /** Queues a taker, unless it is queued. */
  want(taker: ShareUser): void {
    this.#queues[taker.kind].add(taker);
    this.#schedule();
  }

  /** Removes a taker that is gone. */
  leave(taker: ShareUser): void {
    this.#queues[taker.kind].remove(taker);
  }

  /**
   * Counts work that goes on after its turn, when the store has answered. No request has a turn while
   * there is any, up to a timeout, and its time counts, for nothing tells how much of it was the processor's.
   * Handshakes go on: a device must be able to connect while the store is away. So does `/readyz`, by which a pair
   * decides who has its address: of the requests to a slow store one a second has the whole timeout.
   *
   * @returns the function that ends it
   */
  hold(): () => void {
    this.#held++;
    const startedAtMs = performance.now();
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      clearTimeout(timer);
      this.#held--;
      if (!this.#isIdle) this.#pause(startedAtMs);
      this.#schedule();
    };
    const isSlow = startedAtMs < this.#isSlowUntilMs;
    const giveUp = () => {
      if (!isSlow) this.#isSlowUntilMs = performance.now() + SLOW_FOR_MS;
      release();
    };
    const timer = setTimeout(giveUp, isSlow ? MAX_HELD_WHILE_SLOW_MS : MAX_HELD_MS);
    return release;
  }

  /** The use since the last call: milliseconds by line, and how long work had to pause. */
  takeUsage(): { readonly pausedMs: number; readonly usedMs: ReadonlyMap<string, number> } {
    const usage = { pausedMs: this.#pausedMs, usedMs: this.#usedMs };
    this.#pausedMs = 0;
    this.#usedMs = new Map();
    return usage;
  }

  get #isIdle(): boolean {
    return Object.values(this.#queues).every(({ isEmpty }) => isEmpty);
  }

  get #isHolding(): boolean {
    return this.#held >= MAX_HELD;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isIdle) return;
    if (this.#isHolding && this.#queues.handshake.isEmpty) return;
    this.#isScheduled = true;
    const pauseMs = this.#notBeforeMs - performance.now();
    if (pauseMs > 0) setTimeout(() => this.#startRound(), pauseMs);
    else this.#startRound();
  }

  /**
   * Starts a round: an immediate for each turn, because the promises that a turn settles are run between
   * immediates. So their time counts as well.
   */
  #startRound(): void {
    this.#roundStartedAtMs = undefined;
    for (let turn = 0; turn < MAX_TURNS_PER_ROUND; turn++) setImmediate(() => this.#giveTurn());
    setImmediate(() => this.#endRound());
  }

  #giveTurn(): void {
    const nowMs = performance.now();
    this.#account(nowMs);
    this.#roundStartedAtMs ??= nowMs;
    if (nowMs - this.#roundStartedAtMs >= ROUND_MS) return;
    const taker = this.#next();
    if (taker === undefined) return;
    this.#turns++;
    this.#turn = { line: taker.line, startedAtMs: nowMs };
    taker.takeTurn();
  }

  #next(): ShareUser | undefined {
    const { known, stranger, handshake } = this.#queues;
    if (this.#isHolding) return handshake.next();
    const isHandshakesTurn = Math.floor(this.#turns / STRANGERS_TURN) % 2 === 1;
    const others = isHandshakesTurn ? [handshake, stranger] : [stranger, handshake];
    const isStrangersTurn = this.#turns % STRANGERS_TURN === 0;
    for (const queue of isStrangersTurn ? [...others, known] : [known, ...others]) {
      const taker = queue.next();
      if (taker !== undefined) return taker;
    }
    return undefined;
  }

  /** Leaves as much time to others as was used since then. */
  #pause(sinceMs: number): void {
    const nowMs = performance.now();
    const untilMs = nowMs + Math.min(nowMs - sinceMs, MAX_PAUSE_MS);
    this.#pausedMs += Math.max(0, untilMs - Math.max(nowMs, this.#notBeforeMs));
    this.#notBeforeMs = Math.max(this.#notBeforeMs, untilMs);
  }

  /** Adds up the last turn, which ends when the next one begins. */
  #account(nowMs: number): void {
    if (this.#turn === undefined) return;
    const { line, startedAtMs } = this.#turn;
    this.#usedMs.set(line, (this.#usedMs.get(line) ?? 0) + nowMs - startedAtMs);
    this.#turn = undefined;
  }

  #endRound(): void {
    this.#isScheduled = false;
    const nowMs = performance.now();
    this.#account(nowMs);
    if (this.#isIdle) return;
    this.#pause(this.#roundStartedAtMs ?? nowMs);
    this.#schedule();
  }
}

/**
 * The fault of HTTP and TLS clients that take much of the processor, or ask for more than their share.
 *
 * To be asked for every `SHARE_CHECK_MS`: what they used since then is forgotten.
 */
export function shareFault(
  turns: Pick<ProcessorShare, 'takeUsage'>,
  model: SiteModel,
): FaultReport | undefined {
  const { pausedMs, usedMs } = turns.takeUsage();
  const [busiest] = [...usedMs].sort(([, one], [, other]) => other - one);
  if (busiest === undefined || Math.max(busiest[1], pausedMs) < BUSY_MS) return undefined;
  return warning('processor-busy', BUSY, holderSubject(model, busiest[0]));
}

/** Lines that get their turns in a circle. */
class Lines {
  readonly #lines = new Map<string, Set<ShareUser>>();

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  add(taker: ShareUser): void {
    const line = this.#lines.get(taker.line) ?? new Set();
    this.#lines.set(taker.line, line.add(taker));
  }

  remove(taker: ShareUser): void {
    const line = this.#lines.get(taker.line);
    line?.delete(taker);
    if (line?.size === 0) this.#lines.delete(taker.line);
  }

  /** Takes out the first of the next line. */
  next(): ShareUser | undefined {
    for (const [name, line] of this.#lines) {
      this.#lines.delete(name);
      for (const taker of line) {
        line.delete(taker);
        if (line.size > 0) this.#lines.set(name, line);
        return taker;
      }
    }
    return undefined;
  }
}
