import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { infoField } from '../server/server-info.js';

const waitReply = z.number();
const waitAofReply = z.tuple([z.number(), z.number()]);
type Value = string | number | Buffer;

/** What tells a server from others. */
export interface AnsweringServer {
  readonly runId: string;
  readonly host: string | undefined;
  readonly port: number | undefined;
}

/** The socket over which a write went: only there a server can be asked who has it. */
export type WriteSocket = Redis['stream'];

/** A write that the server has made. */
export interface MadeWrite {
  readonly reply: unknown;
  readonly socket: WriteSocket;
  /** How many replicas have it so far. */
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
  #server: { readonly server: AnsweringServer; readonly socket: WriteSocket } | undefined;

  /** @param markKey a key of the site */
  constructor(redis: Redis, markKey: string) {
    this.#redis = redis;
    this.#markKey = markKey;
  }

  /**
   * Writes, and waits for replicas in the same round trip.
   *
   * The mark is written as well, because from Redis 7.2 on, WAIT goes back to the last write of its connection that
   * changed something, and a batch that is sent again changes nothing. What the store had before the mark is covered by it.
   *
   * @param call the arguments of EVAL; undefined to write the mark alone
   * @throws ReplyError the one of the script
   */
  async write(
    call: readonly Value[] | undefined,
    replicas: number,
    timeoutMs: number,
  ): Promise<MadeWrite> {
    const socket = this.#redis.stream;
    const pipeline = this.#redis.pipeline();
    if (call !== undefined) pipeline.call('EVAL', ...call);
    pipeline.set(this.#markKey, '');
    pipeline.call(...this.#waitOn(socket, replicas, timeoutMs));
    const answers = (await pipeline.exec()) ?? [];
    const [made, , waited] = call === undefined ? [[null, null], ...answers] : answers;
    if (made === undefined || waited === undefined) throw broken();
    const [failure, reply] = made;
    if (failure !== null) throw failure;
    const [error, count] = waited;
    this.requireOpen(socket);
    const confirming =
      error === null ? countOf(count) : await this.#failed(error, socket, timeoutMs);
    return { reply, socket, confirming };
  }

  /** Writes without waiting for anybody. */
  async writeAlone(call: readonly Value[]): Promise<MadeWrite> {
    const socket = this.#redis.stream;
    const reply = await this.#redis.call('EVAL', ...call);
    this.requireOpen(socket);
    return { reply, socket, confirming: 0 };
  }

  /** Counts the replicas that have all that was written over the socket, or in the store before it. */
  async confirming(socket: WriteSocket, replicas: number, timeoutMs: number): Promise<number> {
    this.requireOpen(socket);
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
    if (this.#redis.stream !== socket || this.#redis.status !== 'ready') throw broken();
  }

  #waitOn(socket: WriteSocket, replicas: number, timeoutMs: number): [string, ...number[]] {
    if (this.#withoutWaitAof === socket) return ['WAIT', replicas, timeoutMs];
    return ['WAITAOF', 0, replicas, timeoutMs];
  }

  /** A server that may not be asked, or has no memory for the mark, will not say so sooner if it is asked at once. */
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

/** As ioredis says it of a command whose connection broke. */
function broken(): Error {
  return new Error('Connection is closed.');
}
