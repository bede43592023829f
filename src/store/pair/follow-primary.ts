import type { Command, Redis } from 'ioredis';
import { replyCode } from '../../delivery/log/reply-code.js';

/** Answers of a server that is not the primary of the key: it has done nothing. */
const ELSEWHERE: ReadonlySet<string> = new Set(['READONLY', 'MOVED']);
/** Answers of a primary that does nothing at present: its slot is moving, or has no majority of the cluster. */
const LATER: ReadonlySet<string> = new Set(['ASK', 'TRYAGAIN', 'CLUSTERDOWN']);
const LATER_MS = 50;

/** Emitted by a connection: a write is refused for now (with the reason's code), and all of them were taken. */
export const REFUSED = 'refused';
export const TAKEN = 'taken';

type Stream = Parameters<Redis['sendCommand']>[1];

export interface FollowOptions {
  /** Whether a command waits for a server that takes it; else it fails at once. */
  readonly isRetrying: boolean;
  /** A key of the site that never exists, for a store in which slots move. */
  readonly absentKey?: string | undefined;
}

/** Whether another server has become the primary. */
export function isElsewhere(error: Error): boolean {
  return ELSEWHERE.has(replyCode(error) ?? '');
}

/**
 * Makes a connection outlive a server that may be a primary today and a replica tomorrow.
 *
 * A command that such a server has not taken is sent again, and none that came after it overtakes it: ioredis alone
 * (`reconnectOnError` with 2) sends those first that had no answer when the connection broke.
 */
export function followPrimary(redis: Redis, options: FollowOptions): void {
  const follower = new Follower(redis, options);
  redis.sendCommand = (command, stream) => follower.send(command, stream);
}

interface Held {
  readonly command: Command;
  /** The rest of a pipeline that was not sent yet. */
  readonly stream?: Stream;
}

class Follower {
  readonly #redis: Redis;
  readonly #options: FollowOptions;
  readonly #sendCommand: Redis['sendCommand'];
  /** The number of each command in the order of the calls. */
  readonly #numbers = new WeakMap<Command, number>();
  readonly #prepared = new WeakSet<Command>();
  #calls = 0;
  /** Whether what was left of the last connection has been sent on this one. */
  #isOpen = false;
  #held: Held[] = [];
  readonly #refused = new WeakSet<Command>();
  #refusals = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(redis: Redis, options: FollowOptions) {
    this.#redis = redis;
    this.#options = options;
    this.#sendCommand = redis.sendCommand.bind(redis);
    redis.on('ready', () => {
      this.#isOpen = true;
      this.#sendHeld();
    });
    redis.on('close', () => {
      this.#isOpen = false;
    });
    redis.on('end', () => this.#rejectHeld());
  }

  send(command: Command, stream?: Stream): unknown {
    if (!this.#numbers.has(command)) this.#numbers.set(command, this.#calls++);
    // What is sent earlier greets the server, or comes here again once the connection is ready.
    if (this.#redis.status !== 'ready') return this.#sendCommand(command, stream);
    if (!this.#prepared.has(command)) this.#prepare(command);
    if (this.#isOpen && this.#held.length === 0) return this.#sendCommand(command, stream);
    this.#held.push({ command, stream });
    return command.promise;
  }

  #prepare(command: Command): void {
    this.#prepared.add(command);
    const { absentKey, isRetrying } = this.#options;
    if (absentKey !== undefined) addKey(command, absentKey);
    // A command of a transaction alone would be half of it.
    if (!isRetrying || command.inTransaction) return;
    const { reject } = command;
    command.reject = (error) => {
      const isRetried = isElsewhere(error) || LATER.has(replyCode(error) ?? '');
      if (!isRetried || this.#redis.status === 'end') {
        reject.call(command, error);
        return;
      }
      this.#held.push({ command });
      this.#countRefusal(command, error);
      this.#timer ??= setTimeout(() => this.#sendHeld(), LATER_MS);
    };
  }

  #countRefusal(command: Command, error: Error): void {
    if (this.#refused.has(command)) return;
    this.#refused.add(command);
    this.#refusals++;
    this.#redis.emit(REFUSED, replyCode(error));
    const settled = () => {
      if (--this.#refusals === 0) this.#redis.emit(TAKEN);
    };
    command.promise.then(settled, settled);
  }

  #sendHeld(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // A socket that was just destroyed is still `ready`: what is held waits for the next.
    if (!this.#isOpen || this.#redis.status !== 'ready' || !this.#redis.stream.writable) return;
    // What was refused comes after what was called meanwhile, and was called earlier.
    const held = this.#held.sort((one, other) => this.#numberOf(one) - this.#numberOf(other));
    this.#held = [];
    for (const { command, stream } of held) this.#sendCommand(command, stream);
  }

  #numberOf({ command }: Held): number {
    return this.#numbers.get(command) ?? this.#calls;
  }

  #rejectHeld(): void {
    clearTimeout(this.#timer);
    const held = this.#held;
    this.#held = [];
    for (const { command } of held) command.reject(new Error('Connection is closed.'));
  }
}

/**
 * Declares one more key of a script, which never exists.
 *
 * While a slot moves, a script may find some of its keys here and others gone, and Redis ends it then in the
 * middle of its writes. A script with a declared key that is not there is not begun. The script does not see it.
 */
function addKey(command: Command, key: string): void {
  if (command.name.toLowerCase() !== 'eval') return;
  const [script, count] = [String(command.args[0]), Number(command.args[1])];
  command.args.splice(0, 2, `table.remove(KEYS) ${script}`, String(count + 1));
  command.args.splice(2 + count, 0, key);
}
