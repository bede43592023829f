import { type FaultReport, fault } from '../domain/fault.js';
import { holderSubject } from '../site/access/quota-watch.js';
import type { SiteModel } from '../site/site-model.js';

/** A user of the share: an HTTP connection or a TLS handshake. */
export interface ShareUser {
  /** Whose turns it shares: those of a client with a valid credential, or else of a network. */
  readonly line: string;
  /** Does a bounded piece of work, and asks for another turn if there is more. */
  takeTurn(): void;
}

/** Processor time of one round: how long an alarm may wait in one turn of the event loop. */
const ROUND_MS = 4;
const MAX_TURNS_PER_ROUND = 32;
/** Requests of a line answered at a time: the work after the store's answers must not come all together. */
const MAX_HELD = 4;
/** A request that takes longer waits for something slow, which costs no processor time. */
const MAX_HELD_MS = 250;
/** Longest pause: a turn of the event loop takes time for others as well. */
const MAX_PAUSE_MS = 50;

export const SHARE_CHECK_MS = 5_000;
/** The limit of one client, and of the pauses: under constant load, work pauses half of the time. */
const BUSY_MS = SHARE_CHECK_MS / 4;

/**
 * Gives HTTP and TLS handshakes, which anybody can ask for, a bounded share of the processor.
 *
 * Work is done in turns, by client or network. A round of turns is short. If it leaves work over, a pause of the same
 * length follows, in which alarms pass. MQTT takes no pauses: `broker/turns.ts` only puts its turns in order.
 */
export class ProcessorShare {
  /** The users that want a turn, by line; the lines get turns in a circle. */
  readonly #lines = new Map<string, Set<ShareUser>>();
  /** How many requests of a line are being answered. */
  readonly #held = new Map<string, number>();
  #isScheduled = false;
  #notBeforeMs = 0;
  #roundStartedAtMs: number | undefined;
  #turn: { readonly line: string; readonly startedAtMs: number } | undefined;
  #usedMs = new Map<string, number>();
  #pausedMs = 0;

  /** Queues a taker, unless it is queued. */
  want(taker: ShareUser): void {
    const line = this.#lines.get(taker.line) ?? new Set();
    this.#lines.set(taker.line, line.add(taker));
    this.#schedule();
  }

  /** Removes a taker that is gone. */
  leave(taker: ShareUser): void {
    const line = this.#lines.get(taker.line);
    line?.delete(taker);
    if (line?.size === 0) this.#lines.delete(taker.line);
  }

  /** Notes a request of the line that continues after its turn, up to a timeout; the returned function ends it. */
  hold(line: string): () => void {
    this.#held.set(line, this.#heldOf(line) + 1);
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      clearTimeout(timer);
      const left = this.#heldOf(line) - 1;
      if (left > 0) this.#held.set(line, left);
      else this.#held.delete(line);
      this.#schedule();
    };
    const timer = setTimeout(release, MAX_HELD_MS);
    return release;
  }

  /** The use since the last call: milliseconds by line, and how long work had to pause. */
  takeUsage(): { readonly pausedMs: number; readonly usedMs: ReadonlyMap<string, number> } {
    const usage = { pausedMs: this.#pausedMs, usedMs: this.#usedMs };
    this.#pausedMs = 0;
    this.#usedMs = new Map();
    return usage;
  }

  #heldOf(line: string): number {
    return this.#held.get(line) ?? 0;
  }

  get #isIdle(): boolean {
    return [...this.#lines.keys()].every((line) => this.#heldOf(line) >= MAX_HELD);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isIdle) return;
    this.#isScheduled = true;
    const pauseMs = this.#notBeforeMs - performance.now();
    if (pauseMs > 0) setTimeout(() => this.#startRound(), pauseMs);
    else this.#startRound();
  }

  /**
   * Starts a round, with an immediate for each turn: the promises that a turn settles run between immediates,
   * so their time counts as well.
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
    this.#turn = { line: taker.line, startedAtMs: nowMs };
    taker.takeTurn();
  }

  /** Takes out the first user of the next line. */
  #next(): ShareUser | undefined {
    for (const [name, line] of this.#lines) {
      if (this.#heldOf(name) >= MAX_HELD) continue;
      this.#lines.delete(name);
      for (const taker of line) {
        line.delete(taker);
        if (line.size > 0) this.#lines.set(name, line);
        return taker;
      }
    }
    return undefined;
  }

  /** Adds the time of the last turn, which ends when the next one begins. */
  #account(nowMs: number): void {
    if (this.#turn === undefined) return;
    const { line, startedAtMs } = this.#turn;
    this.#usedMs.set(line, (this.#usedMs.get(line) ?? 0) + nowMs - startedAtMs);
    this.#turn = undefined;
  }

  /** Leaves as much time to others as the round took, if it leaves work over. */
  #endRound(): void {
    this.#isScheduled = false;
    const nowMs = performance.now();
    this.#account(nowMs);
    if (this.#isIdle) return;
    const pauseMs = Math.min(nowMs - (this.#roundStartedAtMs ?? nowMs), MAX_PAUSE_MS);
    this.#pausedMs += pauseMs;
    this.#notBeforeMs = nowMs + pauseMs;
    this.#schedule();
  }
}

/**
 * The fault of HTTP and TLS clients that take much of the processor, or ask for more than their share.
 *
 * Call it every `SHARE_CHECK_MS`: each call starts the count again.
 */
export function shareFault(
  turns: Pick<ProcessorShare, 'takeUsage'>,
  model: SiteModel,
): FaultReport | undefined {
  const { pausedMs, usedMs } = turns.takeUsage();
  const [busiest] = [...usedMs].sort(([, one], [, other]) => other - one);
  if (busiest === undefined || Math.max(busiest[1], pausedMs) < BUSY_MS) return undefined;
  return { ...fault('processorBusy'), subject: holderSubject(model, busiest[0]) };
}
