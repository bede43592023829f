/** Whether a server is suitable: version, role, rights of the user, settings, and the layout of what it stores. */
import type { Logger } from 'pino';
import { z } from 'zod';
import { isPassing, replyCode } from '../../delivery/reply-code.js';
import { type FaultReport, fault, faultWords, lostAtPowerCut } from '../../domain/fault.js';
import { GatewayError } from '../../errors.js';
import type { Health } from '../../site/health/health.js';
import type { Keys } from '../keys.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';
import { unlessOfAnotherType } from '../store.js';

/** Begins the message for a start that the store refuses. */
export const CANNOT_BE_ASKED = 'the store cannot be asked what it is';

const MIN_VERSION = [6, 2] as const;

/** A setting of the server, the value that gives the guarantees, and the fault for any other value. */
interface Setting {
  readonly name: string;
  readonly safe: string;
  readonly faultOf: (value: string) => FaultReport;
}

const SETTINGS: readonly Setting[] = [
  {
    name: 'maxmemory-policy',
    safe: 'noeviction',
    faultOf: (value) => fault('maxmemoryPolicyUnsafe', { value }),
  },
  { name: 'appendonly', safe: 'yes', faultOf: () => fault('appendonlyOff') },
  {
    name: 'appendfsync',
    safe: 'always',
    faultOf: (value) => fault('appendfsyncUnsafe', { value, lost: lostAtPowerCut(value) }),
  },
];

/**
 * Checks that the server is suitable (contract 1, store).
 *
 * @returns a sentence for each setting that does not give its guarantee, or cannot be checked
 * @throws GatewayError `start-failed` when the server is unsuitable
 */
export async function checkServer(store: Store, isCluster = false): Promise<string[]> {
  const info = await readInfo(store);
  const version = /^(\d+)\.(\d+)/.exec(infoField(info, 'redis_version') ?? '');
  if (version === null) throw unsuitable('it does not say which version of Redis it is');
  // Other commands would fail one by one on a Sentinel without saying why.
  if (infoField(info, 'redis_mode') === 'sentinel') {
    throw unsuitable('it is a Sentinel, which stores nothing; redis.url must name a Redis server');
  }
  if (infoField(info, 'redis_mode') === 'cluster' && !isCluster) {
    throw unsuitable('it is a node of a Redis Cluster; name the nodes in redis.cluster');
  }
  const [major, minor] = [Number(version[1]), Number(version[2])];
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1])) {
    throw unsuitable(
      `it is Redis ${major}.${minor}, and must be ${MIN_VERSION.join('.')} or later`,
    );
  }
  if (infoField(info, 'role') === 'slave')
    throw unsuitable('it is a replica, which takes no writes');
  const faults = await Promise.all(SETTINGS.map((setting) => unsafe(store, setting)));
  return faults.flatMap((found, index) => {
    if (found === 'unreadable') return [unreadable(SETTINGS[index]?.name ?? '')];
    if (found === undefined || found === 'unanswered') return [];
    const { message, advice } = faultWords(found, 'en');
    return [`${message} ${advice}`];
  });
}

async function readInfo(store: Store): Promise<string> {
  try {
    return await store.read((redis) => redis.info());
  } catch (cause) {
    const right = missingRight(cause);
    if (right !== undefined) throw lacking([right]);
    throw new GatewayError('start-failed', CANNOT_BE_ASKED, { cause });
  }
}

function unsuitable(reason: string): GatewayError {
  return new GatewayError('start-failed', `the store cannot be used: ${reason}`);
}

/**
 * Reports the server's unsafe settings: once for each new server, and again and again, for they may be changed at run time.
 *
 * The gateway keeps working, but acknowledged data may be evicted or lost. While the store does not answer, what was
 * reported stays.
 */
export async function checkSettings(store: Store, health: Pick<Health, 'report'>): Promise<void> {
  for (const setting of SETTINGS) {
    const found = await unsafe(store, setting);
    if (found === 'unanswered') return;
    const isUnsafe = found !== undefined && found !== 'unreadable';
    health.report(`store-settings/${setting.name}`, isUnsafe ? found : undefined);
  }
}

/** The fault of a setting; undefined if its value gives the guarantee. Managed servers often forbid CONFIG. */
async function unsafe(
  store: Store,
  { name, safe, faultOf }: Setting,
): Promise<FaultReport | 'unreadable' | 'unanswered' | undefined> {
  const value = await readSetting(store, name).catch((error: unknown) => {
    if (isPassing(error)) return null;
    return undefined;
  });
  if (value === null) return 'unanswered';
  if (value === undefined) return 'unreadable';
  return value === safe ? undefined : faultOf(value);
}

function unreadable(name: string): string {
  return `${name} cannot be checked, because the server does not answer CONFIG GET: see to it that it is as docs/operate/install.md says.`;
}

async function readSetting(store: Store, name: string): Promise<string | undefined> {
  const answer: unknown = await store.read((redis) => redis.config('GET', name));
  const value: unknown = Array.isArray(answer) ? answer[1] : undefined;
  return typeof value === 'string' ? value : undefined;
}

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

/** With `redis.replicas` also these. */
export const CONFIRMING_COMMANDS: readonly string[] = ['WAIT', 'WAITAOF'];

/** Those that take no key, or not as their first word. */
const FORMS: Readonly<Record<string, string>> = {
  PING: 'PING',
  INFO: 'INFO',
  TIME: 'TIME',
  EVAL: 'EVAL x 1 <key>',
  EVALSHA: 'EVALSHA x 1 <key>',
  XINFO: 'XINFO STREAM <key>',
  MEMORY: 'MEMORY USAGE <key>',
  WAIT: 'WAIT 0 0',
  WAITAOF: 'WAITAOF 0 0 0',
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
 * @param isConfirmed whether replicas confirm its writes
 * @throws GatewayError `start-failed`, naming the rights that it lacks
 */
export async function checkRights(store: Store, isConfirmed: boolean): Promise<void> {
  const commands = [...NEEDED_COMMANDS, ...(isConfirmed ? CONFIRMING_COMMANDS : [])];
  const forms = commands.map((command) => FORMS[command] ?? `${command} <key>`);
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

/** A field of the server's INFO; undefined if missing. */
export function infoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

/** A number in the server's INFO; 0 if missing. */
export function infoNumber(info: string, name: string): number {
  return Number(infoField(info, name) ?? 0);
}

/** The layout that this program reads and writes. */
export const LAYOUT = '2';

/**
 * Checks that the store has the layout of this program. Writes the number to a store without one.
 *
 * @throws GatewayError `start-failed` when the store has another layout
 */
export async function requireLayout(store: Store, keys: Keys, log: Logger): Promise<void> {
  const layout =
    (await unlessOfAnotherType(store.read((redis) => redis.get(keys.layout)))) ?? undefined;
  if (layout === LAYOUT) return;
  if (layout !== undefined) {
    throw new GatewayError(
      'start-failed',
      `the store has layout ${layout}, and this program has layout ${LAYOUT}: install the version ` +
        'that wrote it, or move its data away as a backup and start with an empty store',
    );
  }
  // A full store still serves: the next start writes the number.
  await store.write(['SET', keys.layout, LAYOUT]).catch((err: unknown) => {
    log.warn({ part: 'store', err }, 'failed to write the number of the layout');
  });
}
