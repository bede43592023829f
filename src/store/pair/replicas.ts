import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { stopping, warning } from '../../domain/faults.js';
import { repeat } from '../../repeat.js';
import type { Health } from '../../site/health/health.js';
import { ConfirmedWrites, type Judge, type Verdict } from './confirmed-writes.js';
import { ReplicaLink } from './replica-link.js';
import type { Sought } from './sentinel-majority.js';
import type { WriteGuard } from './write-guard.js';

/** How long a replica may take to confirm before it is given up. */
const TIMEOUT_MS = 2_000;
/** A connection is blocked for so long at most, and serves others in between. */
const SLICE_MS = 100;
const INTERVAL_MS = 1_000;
/** Held writes are judged again after this time. */
const HELD_MS = 250;
/** Sentinels ping once a second. */
const MAX_UNHEARD_MS = 2_000;

const FAULT = 'replicas';
const REFUSAL_FAULT = 'replicas-refusal';
const ALONE = 'No replica confirms what is stored: new alarms are on one machine only.';
const REFUSAL = 'No replica confirms what is stored: nothing is acknowledged.';
const CUT_OFF =
  'The store has no replica, and most Sentinels cannot be reached or do not take it for the primary: nothing is acknowledged.';

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
export class Replicas implements Judge {
  readonly #options: ReplicasOptions;
  readonly #timeoutMs: number;
  #isOn = false;
  /** Since when no replica confirms; undefined while one does. */
  #lostAtMs: number | undefined;
  #isCutOff = false;
  #confirmedAtMs = 0;
  readonly #changed = new Set<() => void>();

  constructor(options: ReplicasOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  get refusal(): string | undefined {
    if (this.#lostAtMs === undefined) return undefined;
    if (this.#options.withoutReplica === 'refuse') return REFUSAL;
    return this.#isCutOff ? CUT_OFF : undefined;
  }

  /**
   * Has the writes of a connection confirmed, for `guardWrites`.
   *
   * @param isRepeating whether the connection's writes are idempotent and wait for the store without limit
   */
  confirmation(redis: Redis, isRepeating: boolean): NonNullable<WriteGuard['confirmed']> {
    const link = new ReplicaLink(redis, this.#options.markKey);
    const writes = new ConfirmedWrites(link, this, isRepeating);
    return (send) => writes.confirm(send);
  }

  /**
   * Begins to withhold replies, and to try the replicas once a second.
   *
   * @param redis a connection of its own that fails soon; it is not confirmed
   * @returns stops trying; what is written is confirmed until its connection ends
   */
  start(redis: Redis): () => void {
    const link = new ReplicaLink(redis, this.#options.markKey);
    this.#isOn = true;
    return repeat(() => this.#try(link), INTERVAL_MS);
  }

  async judge(link: ReplicaLink, generation: number): Promise<Verdict> {
    if (this.#lostAtMs === undefined) {
      const verdict = await this.#untilConfirmed(link, generation);
      if (verdict !== 'lost') return verdict;
    }
    return this.#judgeAlone(link, generation);
  }

  untilChange(): Promise<void> {
    return new Promise((resolve) => {
      const changed = () => {
        clearTimeout(timer);
        this.#changed.delete(changed);
        resolve();
      };
      const timer = setTimeout(changed, HELD_MS);
      this.#changed.add(changed);
    });
  }

  /** Waits in slices, so that the connection serves others in between. */
  async #untilConfirmed(link: ReplicaLink, generation: number): Promise<Verdict | 'lost'> {
    const { count, elapsed } = this.#options;
    const sinceMs = elapsed();
    for (;;) {
      const confirming = await link.confirming(generation, count, SLICE_MS);
      if (confirming === undefined) return 'broken';
      if (confirming >= count) return this.#found();
      const connected = await link.connected(generation);
      if (connected === undefined) return 'broken';
      // One that is not even connected needs no waiting for.
      if (connected < count) return this.#lose(elapsed());
      const nowMs = elapsed();
      if (nowMs - sinceMs >= this.#timeoutMs) return this.#lose(nowMs - this.#timeoutMs / 2);
      if (this.#lostAtMs !== undefined) return 'lost';
    }
  }

  async #judgeAlone(link: ReplicaLink, generation: number): Promise<Verdict> {
    if (this.#options.withoutReplica === 'refuse') return 'held';
    if (!(await this.#isPrimary(link, generation))) return 'held';
    return link.generation === generation ? 'confirmed' : 'broken';
  }

  /** Whether most Sentinels were in touch with this primary after the replica was lost, and lately. */
  async #isPrimary(link: ReplicaLink, generation: number): Promise<boolean> {
    const { majority, elapsed } = this.#options;
    if (majority === undefined) return true;
    const lostAtMs = this.#lostAtMs ?? elapsed();
    for (;;) {
      const server = await link.server(generation);
      const heardWithinMs = Math.min(elapsed() - lostAtMs, MAX_UNHEARD_MS);
      const is =
        server !== undefined && (await majority.takesForPrimary({ ...server, heardWithinMs }));
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
    const { generation } = link;
    const { count, elapsed } = this.#options;
    if (this.#lostAtMs === undefined) {
      if (elapsed() - this.#confirmedAtMs < INTERVAL_MS) return;
      await link.mark(generation);
      await this.#untilConfirmed(link, generation);
      return;
    }
    await link.mark(generation);
    const confirming = await link.confirming(generation, count, INTERVAL_MS);
    if (confirming !== undefined && confirming >= count) this.#found();
    else if (this.#options.withoutReplica === 'continue') await this.#isPrimary(link, generation);
  }

  #found(): 'confirmed' {
    this.#confirmedAtMs = this.#options.elapsed();
    if (this.#lostAtMs === undefined) return 'confirmed';
    this.#lostAtMs = undefined;
    this.#isCutOff = false;
    this.#options.log.info('a replica confirms what is stored again');
    this.#report();
    this.#change();
    return 'confirmed';
  }

  #lose(lostAtMs: number): 'lost' {
    if (this.#lostAtMs !== undefined) return 'lost';
    this.#lostAtMs = lostAtMs;
    this.#options.log.warn('no replica confirms what is stored');
    this.#report();
    return 'lost';
  }

  #setCutOff(isCutOff: boolean): void {
    if (this.#isCutOff === isCutOff) return;
    this.#isCutOff = isCutOff;
    this.#report();
    this.#change();
  }

  /** Alone it serves as well as anybody could; when it acknowledges nothing it is not ready. */
  #report(): void {
    const { health } = this.#options;
    const { refusal } = this;
    const isAlone = this.#lostAtMs !== undefined && refusal === undefined;
    health.report(FAULT, isAlone ? warning('replica-missing', ALONE) : undefined);
    const refused = refusal === undefined ? undefined : stopping('replica-missing', refusal);
    health.report(REFUSAL_FAULT, refused);
  }

  #change(): void {
    for (const changed of [...this.#changed]) changed();
  }
}
