import { isPassing } from '../../delivery/reply-code.js';
import { type FaultReport, fault, faultWords } from '../../domain/faults/faults.js';
import { lostAtPowerCut } from '../../domain/faults/phrases.js';
import { GatewayError } from '../../errors.js';
import type { Health } from '../../site/health/health.js';
import type { Store } from '../store.js';
import { CANNOT_BE_ASKED } from './connection.js';
import { lacking, missingRight } from './rights.js';
import { infoField } from './server-info.js';

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
 * Checks that the server is suitable (docs/reference/contract.md, 1, store).
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
