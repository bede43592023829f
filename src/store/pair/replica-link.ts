import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { infoField } from '../server/server-info.js';

const waitReply = z.number();
const waitAofReply = z.tuple([z.number(), z.number()]);
/** Each write renews it. */
const MARK_KEPT_SECONDS = 366 * 24 * 3_600;

type Value = string | number | Buffer;

/** What tells a server from others. */
export interface AnsweringServer {
  readonly runId: string;
  readonly host: string | undefined;
  readonly port: number | undefined;
}

/** The socket over which a write went: only there a server can be asked who has it. */
export type WriteSocket = Redis['stream'];

/** The arguments of EVAL. */
export type ScriptCall = readonly Value[];

/** Writes that the server has made, or refused. */
export interface MadeWrites {
  /** What the server answered to each, in their order. */
  readonly replies: readonly PromiseSettledResult<unknown>[];
  readonly socket: WriteSocket;
  /** How many replicas have them so far. */
  readonly confirming: number;
}

/**
 * Writes over one connection, and asks over the same one whether replicas have what it wrote.
 *
 * WAIT knows the writes of its own connection only: on a new one it answers at once for writes that it has never
 * seen, and after a failover the new primary may lack them. So each call here fails when the connection breaks.
 */
export class ReplicaLink {
  readonly #redis: Redis;
  readonly #markKey: string;
  /** The socket of a server before Redis 7.2, which cannot say what is on a replica's disk. */
  #withoutWaitAof: WriteSocket | undefined;
  /** The socket over which a mark was written: WAIT answers for what came before it. */
  #marked: WriteSocket | undefined;
  #server: { readonly server: AnsweringServer; readonly socket: WriteSocket } | undefined;

  /** @param markKey a key of the site */
  constructor(redis: Redis, markKey: string) {
    this.#redis = redis;
    this.#markKey = markKey;
  }

  /**
   * Writes, and waits for replicas in the same round trip, once for all that is written.
   *
   * The mark is written as well, because from Redis 7.2 on, WAIT goes back to the last write of its connection that
   * changed something, and a batch that is sent again changes nothing. What the store had before the mark is covered by it.
   */
  async write(
    calls: readonly ScriptCall[],
    replicas: number,
    timeoutMs: number,
  ): Promise<MadeWrites> {
    const socket = this.#redis.stream;
    const pipeline = this.#redis.pipeline();
    for (const call of calls) pipeline.call('EVAL', ...call);
    // A full store still takes the second of them, once there is a mark.
    pipeline.set(this.#markKey, '').expire(this.#markKey, MARK_KEPT_SECONDS);
    pipeline.call(...this.#waitOn(socket, replicas, timeoutMs));
    const answers = (await pipeline.exec()) ?? [];
    const [set, expire, waited] = answers.slice(calls.length);
    if (set === undefined || expire === undefined || waited === undefined) throw broken();
    this.requireOpen(socket);
    if (set[0] === null || expire[1] === 1) this.#marked = socket;
    const [error, count] = waited;
    const failure = error ?? (this.#marked === socket ? null : set[0]);
    const confirming =
      failure === null ? countOf(count) : await this.#failed(failure, socket, timeoutMs);
    return { replies: answers.slice(0, calls.length).map(settledOf), socket, confirming };
  }

  /** Writes without waiting for anybody. */
  async writeAlone(calls: readonly ScriptCall[]): Promise<MadeWrites> {
    const socket = this.#redis.stream;
    const pipeline = this.#redis.pipeline();
    for (const call of calls) pipeline.call('EVAL', ...call);
    const replies = ((await pipeline.exec()) ?? []).map(settledOf);
    this.requireOpen(socket);
    return { replies, socket, confirming: 0 };
  }

  /** Counts the replicas that have all that was written over the socket, or in the store before it. */
  async confirming(socket: WriteSocket, replicas: number, timeoutMs: number): Promise<number> {
    this.requireOpen(socket);
    // Without a mark the server may answer for writes that are not these.
    if (this.#marked !== socket) return this.#failed(undefined, socket, timeoutMs);
    try {
      const count = countOf(await this.#redis.call(...this.#waitOn(socket, replicas, timeoutMs)));
      this.requireOpen(socket);
      return count;
    } catch (error) {
      return this.#failed(error, socket, timeoutMs);
    }
  }

  /** Counts the replicas that are connected and have copied. */
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

  /** @throws Error when the connection has broken since */
  requireOpen(socket: WriteSocket): void {
    const { stream, status } = this.#redis;
    if (status !== 'ready' || stream !== socket || socket.destroyed) throw broken();
  }

  #waitOn(socket: WriteSocket, replicas: number, timeoutMs: number): [string, ...number[]] {
    if (this.#withoutWaitAof === socket) return ['WAIT', replicas, timeoutMs];
    return ['WAITAOF', 0, replicas, timeoutMs];
  }

  /** A server that may not be asked, or takes no mark, will not say so sooner if it is asked at once. */
  async #failed(error: unknown, socket: WriteSocket, timeoutMs: number): Promise<number> {
    this.requireOpen(socket);
    const text = error instanceof Error ? error.message : '';
    // It has become a replica.
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

/** As ioredis says it of a command whose connection broke. */
function broken(): Error {
  return new Error('Connection is closed.');
}
