import { warning } from '../../domain/faults.js';
import { GatewayError } from '../../errors.js';
import type { Health } from '../../site/health/health.js';
import type { Store } from '../store.js';
import { CANNOT_BE_ASKED } from './connection.js';
import { infoField } from './server-info.js';

const MIN_VERSION = [6, 2] as const;
const FAULT = 'store-settings';

/** A setting of the server, and the warning for a value. */
interface Setting {
  readonly name: string;
  readonly warning: (value: string) => string | undefined;
}

const SETTINGS: readonly Setting[] = [
  {
    name: 'maxmemory-policy',
    warning: (value) =>
      value === 'noeviction'
        ? undefined
        : `maxmemory-policy is ${value}: a store that runs out of memory deletes alarms that were acknowledged. Set it to noeviction.`,
  },
  {
    name: 'appendonly',
    warning: (value) =>
      value === 'yes'
        ? undefined
        : 'appendonly is off: when the store ends unexpectedly, all alarms since its last snapshot are lost. Set it to yes.',
  },
  {
    name: 'appendfsync',
    warning: (value) =>
      value === 'always'
        ? undefined
        : `appendfsync is ${value}: a power cut at the store loses alarms that were acknowledged ${value === 'everysec' ? 'in the second before it' : 'since its system last wrote to disk'}. Set it to always.`,
  },
];

/**
 * Checks that the server is suitable (docs/contract.md, 1, store).
 *
 * @returns a warning for each guarantee that its settings do not give
 * @throws GatewayError `start-failed` when it is unsuitable
 */
export async function checkServer(store: Store, isCluster = false): Promise<string[]> {
  const info = await readInfo(store);
  const version = /^(\d+)\.(\d+)/.exec(infoField(info, 'redis_version') ?? '');
  if (version === null) throw unsuitable('it does not say which version of Redis it is');
  // A Sentinel's other commands fail one by one, none of them saying why.
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
  return warningsOf(store, unreadable);
}

async function readInfo(store: Store): Promise<string> {
  try {
    return await store.read((redis) => redis.info());
  } catch (cause) {
    throw new GatewayError('start-failed', CANNOT_BE_ASKED, { cause });
  }
}

function unsuitable(reason: string): GatewayError {
  return new GatewayError('start-failed', `the store cannot be used: ${reason}`);
}

/**
 * Reports the server's unsafe settings.
 *
 * The gateway works as before, but what it acknowledges may be evicted or lost.
 */
export async function checkSettings(store: Store, health: Pick<Health, 'report'>): Promise<void> {
  const sentences = await warningsOf(store, () => undefined);
  const fault = warning('store-unsafe', sentences.join(' '));
  health.report(FAULT, sentences.length > 0 ? fault : undefined);
}

/** A warning for each guarantee that the settings do not give. */
async function warningsOf(
  store: Store,
  whenUnreadable: (name: string) => string | undefined,
): Promise<string[]> {
  const warnings = await Promise.all(
    SETTINGS.map(async ({ name, warning }) => {
      const value = await readSetting(store, name);
      return value === undefined ? whenUnreadable(name) : warning(value);
    }),
  );
  return warnings.filter((warning) => warning !== undefined);
}

/** The warning for a setting that cannot be read: managed servers often forbid CONFIG. */
function unreadable(name: string): string {
  return `${name} cannot be checked, because the server does not answer CONFIG GET: see to it that it is as docs/install.md says.`;
}

async function readSetting(store: Store, name: string): Promise<string | undefined> {
  try {
    const answer: unknown = await store.read((redis) => redis.config('GET', name));
    const value: unknown = Array.isArray(answer) ? answer[1] : undefined;
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
