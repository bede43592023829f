import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { infoField } from '../server/check.js';

const waitReply = z.number();
const waitAofReply = z.tuple([z.number(), z.number()]);
/** Each write renews it. */
const MARK_KEPT_SECONDS = 366 * 24 * 3_600;

type Value = string | number | Buffer;

/** What identifies a server. */
export interface AnsweringServer {
  readonly runId: string;
  readonly host: string | undefined;
  readonly port: number | undefined;
}

/** The socket that carried a write. Only over this one can a server be asked who has the write. */
export type WriteSocket = Redis['stream'];

/** The arguments of EVAL. */
export type ScriptCall = readonly Value[];

/** Writes that the server has made or refused. */
export interface MadeWrites {
  /** The server's answer to each, in order. */
  readonly replies: readonly PromiseSettledResult<unknown>[];
  readonly socket: WriteSocket;
  /** How many replicas have them so far. */
  readonly confirming: number;
}

/**
 * Writes over one connection, and asks over the same one whether replicas have the writes.
 *
 * WAIT knows only the writes of its own connection: on a new one it answers immediately for writes it has never
 * seen, and after a failover the new primary may lack them. So each call here fails if the connection breaks.
 */
export class ReplicaLink {
  readonly #redis: Redis;
  readonly #markKey: string;
  /** The socket of a server older than Redis 7.2, which cannot say what is on a replica's disk. */
  #withoutWaitAof: WriteSocket | undefined;
  /** The socket that carried a mark: WAIT answers for everything before the mark. */
  #marked: WriteSocket | undefined;
  #server: { readonly server: AnsweringServer; readonly socket: WriteSocket } | undefined;

  /** @param markKey a key of the site */
  constructor(redis: Redis, markKey: string) {
    this.#redis = redis;
    this.#markKey = markKey;
  }

  /**
   * Writes, and waits for replicas in the same round trip, once for all writes; 0 milliseconds: it does not wait.
   *
   * It also writes the mark: from Redis 7.2 on, WAIT goes back to the last write of its connection that changed
   * something, and a repeated batch changes nothing. The mark covers everything the store had before it.
   */
  async write(
    calls: readonly ScriptCall[],
    replicas: number,
    timeoutMs: number,
  ): Promise<MadeWrites> {
    const socket = this.#redis.stream;
    const pipeline = this.#redis.pipeline();
    for (const call of calls) pipeline.call('EVAL', ...call);
    // A full store still takes the second command, once a mark exists.
    pipeline.set(this.#markKey, '').expire(this.#markKey, MARK_KEPT_SECONDS);
    if (timeoutMs > 0) pipeline.call(...this.#waitOn(socket, replicas, timeoutMs));
    const answers = (await pipeline.exec()) ?? [];
    const [set, expire, waited = [null, 0]] = answers.slice(calls.length);
    if (set === undefined || expire === undefined) throw broken();
    this.requireOpen(socket);
    if (set[0] === null || expire[1] === 1) this.#marked = socket;
    const [error, count] = waited;
    const failure = error ?? (this.#marked === socket ? null : set[0]);
    const confirming =
      failure === null ? countOf(count) : await this.#failed(failure, socket, timeoutMs);
    return { replies: answers.slice(0, calls.length).map(settledOf), socket, confirming };
  }

  /** Counts the replicas that have everything written over the socket and everything in the store before it. */
  async confirming(socket: WriteSocket, replicas: number, timeoutMs: number): Promise<number> {
    this.requireOpen(socket);
    // Without a mark the server may answer for other writes.
    if (this.#marked !== socket) return this.#failed(undefined, socket, timeoutMs);
    try {
      const count = countOf(await this.#redis.call(...this.#waitOn(socket, replicas, timeoutMs)));
      this.requireOpen(socket);
      return count;
    } catch (error) {
      return this.#failed(error, socket, timeoutMs);
    }
  }

  /** Counts the connected replicas that have copied the data. */
  async connected(socket: WriteSocket): Promise<number> {
    this.requireOpen(socket);
    const info = await this.#redis.info('replication');
    this.requireOpen(socket);
    return (info.match(/^slave\d+:.*\bstate=online\b/gm) ?? []).length;
  }

  /** The server that made the write. */
  async server(socket: WriteSocket): Promise<AnsweringServer> {
    if (this.#server?.socket === socket) return this.#server.server;
    this.requireOpen(socket);
    const { remoteAddress: host, remotePort: port } = socket;
    const runId = infoField(await this.#redis.info('server'), 'run_id');
    this.requireOpen(socket);
    if (runId === undefined) throw broken();
    const server = { runId, host, port };
    this.#server = { server, socket };
    return server;
  }

  /** @throws Error if the connection has broken since */
  requireOpen(socket: WriteSocket): void {
    const { stream, status } = this.#redis;
    if (status !== 'ready' || stream !== socket || socket.destroyed) throw broken();
  }

  #waitOn(socket: WriteSocket, replicas: number, timeoutMs: number): [string, ...number[]] {
    if (this.#withoutWaitAof === socket) return ['WAIT', replicas, timeoutMs];
    return ['WAITAOF', 0, replicas, timeoutMs];
  }

  /** Waits before failing: an immediate retry does not help if the server cannot be asked or takes no mark. */
  async #failed(error: unknown, socket: WriteSocket, timeoutMs: number): Promise<number> {
    this.requireOpen(socket);
    const text = error instanceof Error ? error.message : '';
    // The server has become a replica.
    if (/^(UNBLOCKED|READONLY|ERR WAIT)/.test(text)) throw broken();
    if (/^ERR unknown command/.test(text)) this.#withoutWaitAof = socket;
    else await delay(timeoutMs);
    this.requireOpen(socket);
    return 0;
  }
}

function countOf(reply: unknown): number {
  return Array.isArray(reply) ? waitAofReply.parse(reply)[1] : waitReply.parse(reply);
}

function settledOf([error, value]: [Error | null, unknown]): PromiseSettledResult<unknown> {
  if (error === null) return { status: 'fulfilled', value };
  return { status: 'rejected', reason: error };
}

/** The error that ioredis gives for a command whose connection broke. */
function broken(): Error {
  return new Error('Connection is closed.');
}
