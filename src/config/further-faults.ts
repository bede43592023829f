import { z } from 'zod';
import { isLoopbackHost } from '../domain/addresses.js';
import type { FieldFault } from '../errors.js';
import { certificateFaults, clientTlsFaults, within } from './certificate-faults.js';
import { storeFaults } from './store-faults.js';

const DEFAULT_LEASE_SECONDS = 5;
/** A renewal that is late must not end the lease. */
const RENEWALS_OF_LEASE = 2;

const text = z.string().min(1).optional().catch(undefined);
const listener = z.object({ host: z.string().catch('localhost') }).catch({ host: 'localhost' });
const certificate = { certFile: text, keyFile: text };
const bridge = z.object({
  ...certificate,
  name: text,
  username: text,
  password: z.string().optional().catch(undefined),
  caFile: text,
});

/** Only the keys checked here, so that no other fault of the configuration hides theirs. */
const seconds = z.number().catch(0);

const looked = z.object({
  lease: z
    .object({ lengthSeconds: z.number().catch(DEFAULT_LEASE_SECONDS), renewSeconds: seconds })
    .catch({ lengthSeconds: DEFAULT_LEASE_SECONDS, renewSeconds: 0 }),
  allowPlaintext: z.boolean().catch(false),
  mqtt: listener,
  http: listener,
  tls: z.object(certificate).catch({}),
  bridges: z.array(bridge.catch({})).catch([]),
  redis: z.unknown().optional(),
});

type Looked = z.output<typeof looked>;
type Bridge = Looked['bridges'][number];

/**
 * Finds faults of several keys together, or of the files they name, which no key's schema sees.
 *
 * @param values the configuration before it was checked
 * @param cwd the base of relative file names
 */
export function furtherFaults(values: unknown, cwd: string): FieldFault[] {
  const { bridges, tls, lease, redis, ...exposure } = looked.parse(values);
  return [
    ...within('lease', leaseFaults(lease)),
    ...plaintextFaults(exposure),
    ...within('tls', certificateFaults(tls, cwd)),
    ...within('redis', storeFaults(redis, cwd)),
    ...bridges.flatMap((one, index) => {
      const isNameTaken = bridges.slice(0, index).some(({ name }) => name === one.name);
      const name = isNameTaken && one.name !== undefined ? ['is the name of another bridge'] : [];
      return within(`bridges.${index}`, [
        ...name.map((message) => ({ path: 'name', message })),
        ...bridgeFaults(one, cwd),
      ]);
    }),
  ];
}

function leaseFaults({ lengthSeconds, renewSeconds }: Looked['lease']): FieldFault[] {
  if (lengthSeconds >= renewSeconds * RENEWALS_OF_LEASE) return [];
  return [{ path: 'renewSeconds', message: 'must be at most half of lengthSeconds' }];
}

/** Plaintext beyond this machine must be allowed explicitly (CONTRACT 1, listeners). */
function plaintextFaults({
  allowPlaintext,
  mqtt,
  http,
}: Omit<Looked, 'bridges' | 'tls' | 'lease' | 'redis'>) {
  if (allowPlaintext) return [];
  const hosts = [
    { path: 'mqtt.host', host: mqtt.host },
    { path: 'http.host', host: http.host },
  ];
  const message =
    'would take plaintext connections from other machines: configure tls and leave this at ' +
    '127.0.0.1, or set allowPlaintext: true';
  return hosts.filter(({ host }) => !isLoopbackHost(host)).map(({ path }) => ({ path, message }));
}

/** Checks a bridge's files, which it would read only when it connects, perhaps much later. */
function bridgeFaults(keys: Bridge, cwd: string): FieldFault[] {
  const faults = clientTlsFaults(keys, cwd);
  if (keys.password !== undefined && keys.username === undefined) {
    faults.push({ path: 'username', message: 'is missing, a password is given' });
  }
  return faults;
}
