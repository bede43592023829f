import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { UnconfirmedWrite } from '../../delivery/reply-code.js';
import { fault, faultWords } from '../../domain/fault.js';
import { repeat } from '../../releasers.js';
import type { Health } from '../../site/health/health.js';
import { GroupCommit } from '../group-commit.js';
import { type MadeWrites, ReplicaLink, type ScriptCall, type WriteSocket } from './replica-link.js';
import type { Sought } from './sentinels.js';

/** How long a replica may take to confirm before it counts as lost. */
const TIMEOUT_MS = 2_000;
/** The longest time a connection is blocked; in between it serves others. */
const SLICE_MS = 100;
const INTERVAL_MS = 1_000;
/** How often replicas are tried while nothing is acknowledged. */
const REFUSING_MS = 250;
/** The most calls in one write. */
const MAX_CALLS = 250;
/** Sentinels ping once a second. */
const MAX_UNHEARD_MS = 2_000;
/** A machine that stood still has heard as little of the Sentinels as they of the store: they are asked again. */
const MIN_QUESTIONS = 5;

const FAULT = 'replicas';
const REFUSAL_FAULT = 'replicas-refusal';

/** Why nothing is acknowledged without a replica. */
type Refusal = 'replicaAwayRefusing' | 'replicaCutOff';

/** Asks whether most of those who choose the primary can be reached and agree on a server. */
export interface Majority {
  takesForPrimary(sought: Sought): Promise<boolean>;
}

export interface ReplicasOptions {
  /** How many must confirm, at least 1. */
  readonly count: number;
  readonly withoutReplica: 'continue' | 'refuse';
  /** Undefined if nobody chooses a primary: a store behind a plain address. */
  readonly majority?: Majority | undefined;
  readonly health: Pick<Health, 'report'>;
  readonly log: Logger;
  /** Milliseconds since an arbitrary moment; never jumps. */
  readonly elapsed: () => number;
  /** The key of the site used to try replicas. */
  readonly markKey: string;
  readonly timeoutMs?: number;
}

/**
 * Acknowledges writes that replicas have, and decides what is acknowledged while replicas are gone.
 *
 * Without a replica the gateway continues alone, but only if a majority of the Sentinels was in touch with this
 * primary after the replica was lost: a cut-off box must not acknowledge what the other will never have.
 */
export class Replicas {
  readonly #options: ReplicasOptions;
  readonly #timeoutMs: number;
  #isOn = false;
  /** Since when no replica has confirmed; undefined while one does. */
  #lostAtMs: number | undefined;
  #isCutOff = false;
  #confirmedAtMs = 0;

  constructor(options: ReplicasOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  /** Whether anything waits for a replica. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /**
   * Returns a function that writes over a connection and resolves to the reply once it may be acknowledged.
   *
   * Calls made while others wait for a replica share one write, for which the replica is asked once. A failed call
   * may still have been written, or lost with a former primary: its writer repeats it. The function throws
   * GatewayError `store-unavailable` while nothing is acknowledged.
   */
  writer(redis: Redis): (call: ScriptCall) => Promise<unknown> {
    const link = this.#link(redis);
    const groups = new GroupCommit<ScriptCall, unknown>(
      (calls) => this.#confirm(link, calls),
      MAX_CALLS,
    );
    return (call) => groups.add(call);
  }

  /**
   * Begins to withhold replies, and to try the replicas once a second.
   *
   * @param redis a connection of its own
   * @returns stops trying; writes are still confirmed until their connection ends
   */
  start(redis: Redis): () => void {
    const link = this.#link(redis);
    this.#isOn = true;
    return repeat(
      () => this.#try(link),
      () => (this.#refusal === undefined ? INTERVAL_MS : REFUSING_MS),
    );
  }

  #link(redis: Redis): ReplicaLink {
    return new ReplicaLink(redis, this.#options.markKey);
  }

  async #confirm(link: ReplicaLink, calls: readonly ScriptCall[]): Promise<MadeWrites['replies']> {
    const refusal = this.#refusal;
    if (refusal !== undefined) throw unconfirmed(refusal);
    const waitMs = this.#lostAtMs === undefined ? SLICE_MS : 0;
    const made = await link.write(calls, this.#options.count, waitMs);
    if (made.replies.some(({ status }) => status === 'fulfilled'))
      await this.#requireConfirmed(link, made);
    return made.replies;
  }

  /** Waits until a replica has the writes or they may be acknowledged without one. */
  async #requireConfirmed(link: ReplicaLink, { socket, confirming }: MadeWrites): Promise<void> {
    for (let having = confirming; ; having = 0) {
      if (this.#lostAtMs === undefined && (await this.#untilConfirmed(link, socket, having)))
        return;
      await this.#requirePrimary(link, socket);
      // Another connection may have found a replica meanwhile: then ask it for these writes too.
      if (this.#lostAtMs !== undefined) return;
    }
  }

  /** Why nothing is acknowledged now; undefined when writes are acknowledged. */
  get #refusal(): Refusal | undefined {
    if (this.#lostAtMs === undefined) return undefined;
    if (this.#options.withoutReplica === 'refuse') return 'replicaAwayRefusing';
    return this.#isCutOff ? 'replicaCutOff' : undefined;
  }

  /**
   * Waits in slices: the connection serves others in between.
   *
   * @param confirming how many replicas have the write so far
   * @returns false when the replica counts as lost
   */
  async #untilConfirmed(
    link: ReplicaLink,
    socket: WriteSocket,
    confirming: number,
  ): Promise<boolean> {
    const { count, elapsed } = this.#options;
    const sinceMs = elapsed();
    let having = confirming;
    while (having < count) {
      // Do not wait for a replica that is not even connected.
      if ((await link.connected(socket)) < count) this.#lose(elapsed());
      if (this.#lostAtMs !== undefined) return false;
      having = await link.confirming(socket, count, SLICE_MS);
      const nowMs = elapsed();
      const isLate = nowMs - sinceMs >= this.#timeoutMs;
      // It was lost within the time that it was waited for: Sentinels that have heard from us since then count.
      if (having < count && isLate) this.#lose(nowMs - this.#timeoutMs / 2);
    }
    this.#find();
    return true;
  }

  /** Without a replica, a write counts only if most Sentinels consider the server that made it the primary. */
  async #requirePrimary(link: ReplicaLink, socket: WriteSocket): Promise<void> {
    if (this.#options.withoutReplica === 'refuse') throw unconfirmed('replicaAwayRefusing');
    if (!(await this.#isPrimary(link, socket))) throw unconfirmed('replicaCutOff');
    link.requireOpen(socket);
  }

  /** Whether most Sentinels were in touch with this primary recently, and after the replica was lost. */
  async #isPrimary(link: ReplicaLink, socket: WriteSocket): Promise<boolean> {
    const { majority, elapsed } = this.#options;
    if (majority === undefined) return true;
    const lostAtMs = this.#lostAtMs ?? elapsed();
    for (let questions = 1; ; questions++) {
      const server = await link.server(socket);
      const heardWithinMs = Math.min(elapsed() - lostAtMs, MAX_UNHEARD_MS);
      const is = await majority.takesForPrimary({ ...server, heardWithinMs });
      // They may not have had time to be in touch since.
      const hadTime = elapsed() - lostAtMs > MAX_UNHEARD_MS && questions >= MIN_QUESTIONS;
      if (is || this.#isCutOff || hadTime) {
        if (this.#lostAtMs !== undefined) this.#setCutOff(!is);
        return is;
      }
      await delay(SLICE_MS);
    }
  }

  /** Tries the replicas, so that a fault comes and goes even if nothing is written. */
  async #try(link: ReplicaLink): Promise<void> {
    const { count, elapsed, withoutReplica } = this.#options;
    const wasLost = this.#lostAtMs !== undefined;
    if (!wasLost && elapsed() - this.#confirmedAtMs < INTERVAL_MS) return;
    const { socket, confirming } = await link.write([], count, wasLost ? INTERVAL_MS : SLICE_MS);
    if (!wasLost) await this.#untilConfirmed(link, socket, confirming);
    else if (confirming >= count) this.#find();
    else if (withoutReplica === 'continue') await this.#isPrimary(link, socket);
  }

  #find(): void {
    this.#confirmedAtMs = this.#options.elapsed();
    if (this.#lostAtMs === undefined) return;
    this.#lostAtMs = undefined;
    this.#isCutOff = false;
    this.#options.log.info('a replica confirms what is stored again');
    this.#report();
  }

  #lose(lostAtMs: number): void {
    if (this.#lostAtMs !== undefined) return;
    this.#lostAtMs = lostAtMs;
    this.#options.log.warn('no replica confirms what is stored');
    this.#report();
  }

  #setCutOff(isCutOff: boolean): void {
    if (this.#isCutOff === isCutOff) return;
    this.#isCutOff = isCutOff;
    this.#report();
  }

  /** A gateway that serves alone is ready; one that acknowledges nothing is not. */
  #report(): void {
    const { health } = this.#options;
    const refusal = this.#refusal;
    const isAlone = this.#lostAtMs !== undefined && refusal === undefined;
    health.report(FAULT, isAlone ? fault('replicaAway') : undefined);
    health.report(REFUSAL_FAULT, refusal && fault(refusal));
  }
}

function unconfirmed(refusal: Refusal): UnconfirmedWrite {
  return new UnconfirmedWrite(faultWords(fault(refusal), 'en').message);
}
