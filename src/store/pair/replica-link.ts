import { setTimeout as delay } from 'node:timers/promises';
import { Command, type Redis } from 'ioredis';
import { z } from 'zod';
import { infoField } from '../server/server-info.js';

const waitReply = z.number();
const waitAofReply = z.tuple([z.number(), z.number()]);
/** In no pipeline a command has this place. */
const NO_PLACE = Number.MAX_SAFE_INTEGER;

/** What tells a server from others. */
export interface AnsweringServer {
  readonly runId: string;
  readonly host: string | undefined;
  readonly port: number | undefined;
}

/**
 * Asks replicas, over the connection that wrote, whether they have what it wrote.
 *
 * WAIT knows the writes of its own connection only: on a new one it answers at once for writes that it has never
 * seen, and after a failover the new primary may lack them. So an answer counts only on the connection that
 * answered the write, told by its generation.
 */
export class ReplicaLink {
  readonly redis: Redis;
  readonly #markKey: string;
  #generation = 0;
  /** The generation that has written its mark. */
  #marked = -1;
  #isMarking = false;
  /** Redis 7.2 and later confirm what is on the replica's disk; unknown before the first question. */
  #hasWaitAof = true;
  #server: (AnsweringServer & { readonly generation: number }) | undefined;

  /** @param markKey a key of the site, without the connection's prefix */
  constructor(redis: Redis, markKey: string) {
    this.redis = redis;
    this.#markKey = markKey;
    redis.on('close', () => {
      this.#generation++;
      this.#hasWaitAof = true;
    });
  }

  /** Rises whenever the connection breaks. */
  get generation(): number {
    return this.#generation;
  }

  /** Whether the write that is just being sent is the link's own. */
  get isMarking(): boolean {
    return this.#isMarking;
  }

  /**
   * Counts the replicas that have all that was written over the connection, or in the store before it.
   *
   * @returns undefined when the connection broke meanwhile, or its server is no primary any more
   */
  async confirming(
    generation: number,
    replicas: number,
    timeoutMs: number,
  ): Promise<number | undefined> {
    try {
      if (!this.#isUsable(generation)) return undefined;
      if (this.#marked !== generation) await this.mark(generation);
      if (!this.#isUsable(generation)) return undefined;
      const count = await this.#wait(replicas, timeoutMs);
      return generation === this.#generation ? count : undefined;
    } catch (error) {
      if (!this.#isUsable(generation) || isDemotion(error)) return undefined;
      // Not permitted, or out of memory: it will not say so sooner if it is asked at once.
      await delay(timeoutMs);
      return this.#isUsable(generation) ? 0 : undefined;
    }
  }

  /**
   * Writes something, once over each new connection before its first question.
   *
   * From Redis 7.2 on, WAIT goes back to the last write of its connection that changed something, and a write that
   * is repeated changes nothing. What the store had before the mark is covered by it.
   */
  async mark(generation: number): Promise<void> {
    const command = new Command('set', [this.#markKey, '']);
    this.#isMarking = true;
    this.redis.sendCommand(command);
    this.#isMarking = false;
    await command.promise;
    if (generation === this.#generation) this.#marked = generation;
  }

  /** Counts the replicas that are connected and have copied; undefined as above. */
  async connected(generation: number): Promise<number | undefined> {
    try {
      if (!this.#isUsable(generation)) return undefined;
      const info = await this.redis.info('replication');
      const online = info.match(/^slave\d+:.*\bstate=online\b/gm) ?? [];
      return generation === this.#generation ? online.length : undefined;
    } catch {
      return undefined;
    }
  }

  /** The server that has answered; undefined as above. */
  async server(generation: number): Promise<AnsweringServer | undefined> {
    if (this.#server?.generation === generation) return this.#server;
    try {
      if (!this.#isUsable(generation)) return undefined;
      const { remoteAddress: host, remotePort: port } = this.redis.stream;
      const runId = infoField(await this.redis.info('server'), 'run_id');
      if (runId === undefined || generation !== this.#generation) return undefined;
      this.#server = { generation, runId, host, port };
      return this.#server;
    } catch {
      return undefined;
    }
  }

  #isUsable(generation: number): boolean {
    return generation === this.#generation && this.redis.status === 'ready';
  }

  async #wait(replicas: number, timeoutMs: number): Promise<number> {
    if (this.#hasWaitAof) {
      try {
        const reply = await this.#send('waitaof', [0, replicas, timeoutMs]);
        return waitAofReply.parse(reply)[1];
      } catch (error) {
        if (!(error instanceof Error) || !/^ERR unknown command/.test(error.message)) throw error;
        this.#hasWaitAof = false;
      }
    }
    return waitReply.parse(await this.#send('wait', [replicas, timeoutMs]));
  }

  /** Sends a command that fails when the connection breaks, and is not sent again on the next one. */
  #send(name: string, args: readonly number[]): Promise<unknown> {
    const command = new Command(name, [...args]);
    // ioredis sends no part of a pipeline again whose beginning was answered.
    command.pipelineIndex = NO_PLACE;
    this.redis.sendCommand(command);
    return command.promise;
  }
}

/** Whether the server has become a replica. */
function isDemotion(error: unknown): boolean {
  return error instanceof Error && /^(UNBLOCKED|READONLY|ERR WAIT)/.test(error.message);
}
