import { Command, type Redis } from 'ioredis';
import { FENCED, isFenced } from './fenced.js';

/** The lease under which a gateway writes. */
export interface Fence {
  /** The hash that is the lease, in the slot of all that is written. */
  readonly key: string;
  /** What its field `token` holds as long as nobody else holds the lease. */
  readonly token: string;
}

export interface WriteGuard {
  /** Each write is made only while the lease has this token, and is refused with `FENCED` otherwise. */
  readonly fence?: Fence | undefined;
  /**
   * Asked for each reply: undefined while the lease was renewed in time.
   *
   * Otherwise it resolves to whether the lease is still this gateway's: a reply may have waited in the socket of a
   * process that was frozen while another gateway began to serve.
   */
  readonly overdue?: (() => Promise<boolean> | undefined) | undefined;
  /** Told of each write that was refused. */
  readonly fenced?: (() => void) | undefined;
  /**
   * Resolves to the reply of a write that may be acknowledged.
   *
   * @param send sends the write, again at each call; the first call must be made at once, for writes keep
   * their order
   */
  readonly confirmed?: ((send: () => Promise<unknown>) => Promise<unknown>) | undefined;
}

type Stream = Parameters<Redis['sendCommand']>[1];

const LATE = `${FENCED} another gateway had the lease before the reply was read`;
/** Begins the text of a script that writes nothing (Script). */
export const READS_ONLY = '--reads\n';

/**
 * The check, before any other line of a script: the lease is its last key, the token its last argument.
 *
 * Both are taken away again, as scripts count theirs.
 */
const CHECK = `if redis.call('HGET', table.remove(KEYS), 'token') ~= table.remove(ARGV) then
return redis.error_reply('${FENCED} another gateway holds the lease') end
`;

/** One command. Lua unpacks less than 8,000 values, so that a longer removal is made in pieces. */
const ONE_COMMAND = `${CHECK}if #ARGV < 7000 then return redis.pcall(unpack(ARGV)) end
local removed, first, key = 0, 3, ARGV[2]
if ARGV[1] == 'del' or ARGV[1] == 'unlink' then first, key = 2, nil end
for at = first, #ARGV, 5000 do
local last = math.min(at + 4999, #ARGV)
if key then removed = removed + redis.call(ARGV[1], key, unpack(ARGV, at, last))
else removed = removed + redis.call(ARGV[1], unpack(ARGV, at, last)) end
end
return removed`;
const MAX_ARGUMENTS = 6_998;
const REMOVALS = new Set(['del', 'unlink', 'hdel', 'srem', 'zrem', 'xdel']);

/** Commands that change nothing of a site; every other one is taken for a write. */
const READS = new Set(
  `get mget strlen exists type ttl pttl scan keys dbsize memory object dump
  hget hmget hgetall hkeys hvals hlen hstrlen hexists hscan lrange llen lindex smembers scard sismember sscan
  zcard zcount zrange zrangebyscore zrevrange zscore zrank zscan xrange xrevrange xlen xinfo xread
  ping echo info config time role wait waitaof client hello auth select readonly readwrite asking command
  cluster sentinel latency subscribe psubscribe ssubscribe unsubscribe punsubscribe sunsubscribe
  quit`.split(/\s+/),
);

/**
 * Has every write of a connection checked and confirmed.
 *
 * Also the writes of libraries that use the connection. A transaction is refused: scripts do what it does.
 */
export function guardWrites(connection: Redis, guard: WriteGuard): void {
  const plain = connection.sendCommand.bind(connection);
  // A command is sent anew through the connection when that was broken, or not yet open.
  const guarded = new WeakSet<Command>();
  connection.sendCommand = (command: Command, stream?: Stream) => {
    if (guarded.has(command) || isRead(command)) return plain(command, stream);
    refuseUncheckable(command);
    let isFirst = true;
    const send = () => {
      const checked = checkedCommand(command, guard.fence);
      guarded.add(checked);
      if (isFirst) {
        isFirst = false;
        // A pipeline counts what is written into it.
        if (command.pipelineIndex !== undefined) checked.pipelineIndex = command.pipelineIndex;
        plain(checked, stream);
      } else {
        plain(checked);
      }
      return checked.promise;
    };
    const reply = guard.confirmed === undefined ? send() : guard.confirmed(send);
    const refuse = (error: Error) => {
      if (isFenced(error)) guard.fenced?.();
      command.reject(error);
    };
    reply.then((answer) => {
      const held = guard.overdue?.();
      if (held === undefined) command.resolve(answer);
      else held.then((isHeld) => (isHeld ? command.resolve(answer) : refuse(new Error(LATE))));
    }, refuse);
    return command.promise;
  };
}

function isRead({ name, args }: Command): boolean {
  const command = name.toLowerCase();
  if (command === 'eval') return String(args[0]).startsWith(READS_ONLY);
  return READS.has(command);
}

/**
 * Refuses a write that cannot be checked.
 *
 * Thrown at once: a rejected command of a pipeline would keep all of it from being sent.
 */
function refuseUncheckable({ name, args }: Command): void {
  const command = name.toLowerCase();
  if (['multi', 'exec', 'watch', 'evalsha', 'fcall'].includes(command)) {
    throw new Error(`ERR ${name} cannot be checked against the lease`);
  }
  if (command === 'eval' || args.length <= MAX_ARGUMENTS || REMOVALS.has(command)) return;
  throw new Error(`ERR ${name} has too many arguments to be checked against the lease`);
}

/** The command with the check, or as it is when there is no lease. */
function checkedCommand(command: Command, fence: Fence | undefined): Command {
  const { name, args } = command;
  if (fence === undefined) return new Command(name, args);
  if (name.toLowerCase() !== 'eval') {
    const keys = command.getKeys();
    const values = [name.toLowerCase(), ...args];
    const count = keys.length + 1;
    return new Command('eval', [ONE_COMMAND, count, ...keys, fence.key, ...values, fence.token]);
  }
  const [text, keyCount, ...rest] = args;
  const count = Number(keyCount);
  return new Command('eval', [
    ...[CHECK + String(text), count + 1, ...rest.slice(0, count), fence.key],
    ...[...rest.slice(count), fence.token],
  ]);
}
