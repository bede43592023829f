import { z } from 'zod';
import type { FieldFault } from '../errors.js';
import { clientTlsFaults, within } from './certificate-faults.js';

const text = z.string().min(1).optional().catch(undefined);
const given = z.unknown().optional();
const files = z.object({ caFile: text, certFile: text, keyFile: text }).catch({});

/** Only the keys checked here, so that no other fault of the configuration hides theirs. */
const looked = z
  .object({
    url: z.string().optional().catch(''),
    sentinels: given,
    name: given,
    cluster: given,
    user: given,
    password: given,
    tls: files.optional(),
    sentinelUser: given,
    sentinelPassword: given,
    sentinelTls: files.optional(),
    replicas: z.number().optional().catch(undefined),
  })
  .catch({});

type Looked = z.output<typeof looked>;
type Key = keyof Looked;

const NO_PLACE = 'is for a store of yours: give url, sentinels or cluster';
const PLACES = ['url', 'sentinels', 'cluster'] as const;
const FOR_PLACES = ['user', 'password', 'tls'] as const;
const FOR_SENTINELS = ['name', 'sentinelUser', 'sentinelPassword', 'sentinelTls'] as const;

/** Finds faults of the keys in `redis` together. */
export function storeFaults(values: unknown, cwd: string): FieldFault[] {
  const keys = looked.parse(values ?? {});
  return [
    ...placeFaults(keys),
    ...accessFaults(keys),
    ...urlFaults(keys),
    ...within('tls', clientTlsFaults(keys.tls ?? {}, cwd)),
    ...within('sentinelTls', clientTlsFaults(keys.sentinelTls ?? {}, cwd)),
  ];
}

/** The store is in one place, and each key belongs to a place that is given. */
function placeFaults(keys: Looked): FieldFault[] {
  const [place, ...others] = PLACES.filter((key) => keys[key] !== undefined);
  const faults = others.map((key) => fault(key, `cannot be given beside ${place}`));
  const needing = (names: readonly Key[], message: string) =>
    names.filter((key) => keys[key] !== undefined).map((key) => fault(key, message));
  if (place === undefined) {
    faults.push(...needing(FOR_PLACES, NO_PLACE));
    if ((keys.replicas ?? 0) > 0) faults.push(fault('replicas', NO_PLACE));
  }
  if (keys.sentinels === undefined) {
    faults.push(...needing(FOR_SENTINELS, 'is for sentinels, which are missing'));
  } else if (keys.name === undefined) {
    faults.push(fault('name', 'is missing, sentinels are given'));
  }
  return faults;
}

function accessFaults(keys: Looked): FieldFault[] {
  const pairs = [
    ['user', 'password'],
    ['sentinelUser', 'sentinelPassword'],
  ] as const;
  return pairs
    .filter(([user, password]) => keys[user] !== undefined && keys[password] === undefined)
    .map(([user, password]) => fault(password, `is missing, a ${user} is given`));
}

/** A user or password in the URL must not be given again as a key of its own. */
function urlFaults(keys: Looked): FieldFault[] {
  if (keys.url === undefined || !URL.canParse(keys.url)) return [];
  const { protocol, username, password } = new URL(keys.url);
  const isNamed = username !== '' || password !== '';
  const twice = isNamed ? (['user', 'password'] as const) : [];
  const faults = twice
    .filter((key) => keys[key] !== undefined)
    .map((key) => fault(key, 'cannot be given, the url has credentials'));
  if (keys.tls !== undefined && protocol !== 'rediss:') {
    faults.push(fault('tls', 'is for a url that begins with rediss://'));
  }
  return faults;
}

function fault(path: Key, message: string): FieldFault {
  return { path, message };
}
