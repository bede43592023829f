import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { UnconfirmedWrite } from '../../delivery/log/reply-code.js';
import { fault, faultWords } from '../../domain/faults/faults.js';
import { repeat } from '../../repeat.js';
import type { Health } from '../../site/health/health.js';
import { GroupCommit } from '../group-commit.js';
import { type MadeWrites, ReplicaLink, type ScriptCall, type WriteSocket } from './replica-link.js';
import type { Sought } from './sentinel-majority.js';

/** How long a replica may take to confirm before it is given up. */
const TIMEOUT_MS = 2_000;
/** A connection is blocked for so long at most, and serves others in between. */
const SLICE_MS = 100;
const INTERVAL_MS = 1_000;
/** Replicas are tried so often while nothing is acknowledged. */
const REFUSING_MS = 250;
/** How many calls one write makes at most. */
const MAX_CALLS = 250;
/** Sentinels ping once a second. */
const MAX_UNHEARD_MS = 2_000;

const FAULT = 'replicas';
const REFUSAL_FAULT = 'replicas-refusal';

/** Why nothing is acknowledged without a replica. */
type Refusal = 'replicaAwayRefusing' | 'replicaCutOff';

/** Whether most of those who choose the primary can be reached, and take a server for it. */
export interface Majority {
  takesForPrimary(sought: Sought): Promise<boolean>;
}

export interface ReplicasOptions {
  /** How many must confirm, at least 1. */
  readonly count: number;
  readonly withoutReplica: 'continue' | 'refuse';
  /** Undefined where nobody chooses a primary: a store behind a plain address. */
  readonly majority?: Majority | undefined;
  readonly health: Pick<Health, 'report'>;
  readonly log: Logger;
  /** Milliseconds since an arbitrary moment; never jumps. */
  readonly elapsed: () => number;
  /** A key of the site that replicas are tried with. */
  readonly markKey: string;
  readonly timeoutMs?: number;
}

/**
 * Acknowledges what replicas have, and decides what is acknowledged while they are gone.
 *
 * Without a replica the gateway goes on alone, but only while a majority of the Sentinels was in touch with this
 * primary after the replica was: a box that is cut off must not acknowledge what the other will never have.
 */
export class Replicas {
  readonly #options: ReplicasOptions;
  readonly #timeoutMs: number;
  #isOn = false;
  /** Since when no replica confirms; undefined while one does. */
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
   * Returns what writes over a connection, and resolves to the reply once it may be acknowledged.
   *
   * What is written while others wait for a replica is one write: a replica is asked once for all of it.
   * What fails may have been written all the same, and lost with a former primary: its writer writes it again.
   * It throws GatewayError `store-unavailable` when nothing is acknowledged at present.
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
   * @returns stops trying; what is written is confirmed until its connection ends
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
    const made =
      this.#lostAtMs === undefined
        ? await link.write(calls, this.#options.count, SLICE_MS)
        : await link.writeAlone(calls);
    if (made.replies.some(({ status }) => status === 'fulfilled'))
      await this.#requireConfirmed(link, made);
    return made.replies;
  }

  /** Waits until a replica has the writes, or they may be acknowledged without one. */
  async #requireConfirmed(link: ReplicaLink, { socket, confirming }: MadeWrites): Promise<void> {
    for (let having = confirming; ; having = 0) {
      if (this.#lostAtMs === undefined && (await this.#untilConfirmed(link, socket, having)))
        return;
      await this.#requirePrimary(link, socket);
      // Over another connection a replica may have been found meanwhile: then it is asked for these writes as well.
      if (this.#lostAtMs !== undefined) return;
    }
  }

  /** Why nothing is acknowledged at present; undefined when it is. */
  get #refusal(): Refusal | undefined {
    if (this.#lostAtMs === undefined) return undefined;
    if (this.#options.withoutReplica === 'refuse') return 'replicaAwayRefusing';
    return this.#isCutOff ? 'replicaCutOff' : undefined;
  }

  /**
   * Waits in slices, so that the connection serves others in between.
   *
   * @param confirming how many replicas have the write so far
   * @returns false when it is given up
   */
  async #untilConfirmed(
    link: ReplicaLink,
    socket: WriteSocket,
    confirming: number,
  ): Promise<boolean> {
    const { count, elapsed } = this.#options;
    const sinceMs = elapsed();
    for (let having = confirming; having < count; ) {
      // One that is not even connected needs no waiting for.
      if ((await link.connected(socket)) < count) return this.#lose(elapsed());
      if (this.#lostAtMs !== undefined) return false;
      having = await link.confirming(socket, count, SLICE_MS);
      const nowMs = elapsed();
      const isLate = nowMs - sinceMs >= this.#timeoutMs;
      if (having < count && isLate) return this.#lose(nowMs - this.#timeoutMs / 2);
    }
    return this.#found();
  }

  /** Without a replica, a write is acknowledged only if most Sentinels take the server that made it for the primary. */
  async #requirePrimary(link: ReplicaLink, socket: WriteSocket): Promise<void> {
    if (this.#options.withoutReplica === 'refuse') throw unconfirmed('replicaAwayRefusing');
    if (!(await this.#isPrimary(link, socket))) throw unconfirmed('replicaCutOff');
    link.requireOpen(socket);
  }

  /** Whether most Sentinels were in touch with this primary after the replica was lost, and lately. */
  async #isPrimary(link: ReplicaLink, socket: WriteSocket): Promise<boolean> {
    const { majority, elapsed } = this.#options;
    if (majority === undefined) return true;
    const lostAtMs = this.#lostAtMs ?? elapsed();
    for (;;) {
      const server = await link.server(socket);
      const heardWithinMs = Math.min(elapsed() - lostAtMs, MAX_UNHEARD_MS);
      const is = await majority.takesForPrimary({ ...server, heardWithinMs });
      // They may not have had the time to be in touch since.
      if (is || this.#isCutOff || elapsed() - lostAtMs > MAX_UNHEARD_MS) {
        if (this.#lostAtMs !== undefined) this.#setCutOff(!is);
        return is;
      }
      await delay(SLICE_MS);
    }
  }

  /** Finds out by itself, so that a fault comes and goes although nothing is written. */
  async #try(link: ReplicaLink): Promise<void> {
    const { count, elapsed, withoutReplica } = this.#options;
    const wasLost = this.#lostAtMs !== undefined;
    if (!wasLost && elapsed() - this.#confirmedAtMs < INTERVAL_MS) return;
    const { socket, confirming } = await link.write([], count, wasLost ? INTERVAL_MS : SLICE_MS);
    if (!wasLost) await this.#untilConfirmed(link, socket, confirming);
    else if (confirming >= count) this.#found();
    else if (withoutReplica === 'continue') await this.#isPrimary(link, socket);
  }

  #found(): true {
    this.#confirmedAtMs = this.#options.elapsed();
    if (this.#lostAtMs === undefined) return true;
    this.#lostAtMs = undefined;
    this.#isCutOff = false;
    this.#options.log.info('a replica confirms what is stored again');
    this.#report();
    return true;
  }

  #lose(lostAtMs: number): false {
    if (this.#lostAtMs !== undefined) return false;
    this.#lostAtMs = lostAtMs;
    this.#options.log.warn('no replica confirms what is stored');
    this.#report();
    return false;
  }

  #setCutOff(isCutOff: boolean): void {
    if (this.#isCutOff === isCutOff) return;
    this.#isCutOff = isCutOff;
    this.#report();
  }

  /** Alone it serves as well as anybody could; when it acknowledges nothing it is not ready. */
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
