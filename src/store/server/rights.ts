import { z } from 'zod';
import { replyCode } from '../../delivery/reply-code.js';
import { GatewayError } from '../../errors.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';

const missingRights = new Script('missing-rights', z.array(z.string()));

/** What the server's user must be allowed (docs/operate/install.md, the store); CONFIG GET is only asked for. */
export const NEEDED_COMMANDS: readonly string[] = `
  PING INFO TIME EVAL EVALSHA
  EXISTS DEL EXPIRE PEXPIRE PERSIST TYPE GET SET INCR APPEND
  HGET HSET HDEL HGETALL HKEYS HMGET HEXISTS HLEN HINCRBY
  LINDEX LLEN LPOP LPUSH LRANGE LREM LTRIM RPUSH
  SADD SREM SMEMBERS
  ZADD ZREM ZCARD ZCOUNT ZRANGE ZRANGEBYSCORE
  XADD XDEL XLEN XRANGE XREVRANGE XTRIM XINFO MEMORY`
  .trim()
  .split(/\s+/);

/** Those that take no key, or not as their first word. */
const FORMS: Readonly<Record<string, string>> = {
  PING: 'PING',
  INFO: 'INFO',
  TIME: 'TIME',
  EVAL: 'EVAL x 1 <key>',
  EVALSHA: 'EVALSHA x 1 <key>',
  XINFO: 'XINFO STREAM <key>',
  MEMORY: 'MEMORY USAGE <key>',
};

/** Redis 6.2 and 7 name the command differently. */
const FORBIDDEN_COMMAND = /no permissions to run the '([\w|-]+)' command/i;

/** Which right a refusal is about; undefined for another error. */
export function missingRight(error: unknown): string | undefined {
  if (!(error instanceof Error) || replyCode(error) !== 'NOPERM') return undefined;
  const [, command] = FORBIDDEN_COMMAND.exec(error.message) ?? [];
  return command === undefined ? "the site's keys" : command.toUpperCase();
}

/**
 * Checks that the server's user may do what the gateway does: otherwise one thing after another would fail.
 *
 * @throws GatewayError `start-failed`, naming the rights that it lacks
 */
export async function checkRights(store: Store): Promise<void> {
  const forms = NEEDED_COMMANDS.map((command) => FORMS[command] ?? `${command} <key>`);
  try {
    const missing = await store.run(missingRights, { commands: forms });
    if (missing.length > 0) throw lacking(missing);
  } catch (error) {
    const right = missingRight(error);
    throw right === undefined ? error : lacking([right]);
  }
}

/** The failure of a start for want of rights. */
export function lacking(rights: readonly string[]): GatewayError {
  const names = rights.join(', ');
  const advice = 'docs/operate/install.md lists what its user needs (ACL SETUSER)';
  return new GatewayError('start-failed', `the store forbids its user ${names}: ${advice}`);
}
