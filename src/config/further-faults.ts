import { join, resolve } from 'node:path';
import { z } from 'zod';
import { isAnyAddress, isLoopbackHost } from '../domain/addresses.js';
import type { FieldFault } from '../errors.js';
import { certificateFaults, clientTlsFaults, within } from './certificate-faults.js';
import { DEFAULT_TLS_HOST } from './listener-schema.js';
import { type Config, configSchema } from './schema.js';
import { storeFaults } from './store-faults.js';
import { isEmbeddedStore, storeSchema } from './store-schema.js';

const defaults = configSchema.parse({});
/** One late renewal must not end the lease. */
const RENEWALS_OF_LEASE = 2;
/** The longest path of a Unix socket on macOS, without the closing zero; Linux takes four more. */
const MAX_SOCKET_PATH_BYTES = 103;
/** The socket of the gateway's own store, in `dataDir`. */
const STORE_SOCKET = 'redis/redis.sock';

const text = z.string().min(1).optional().catch(undefined);
const addresses = ({ host, port, tlsPort }: Config['mqtt' | 'http']) =>
  z
    .object({
      host: z.string().catch(host),
      port: z.int().catch(port),
      tlsPort: z.int().catch(tlsPort),
    })
    .catch({ host, port, tlsPort });
const certificate = { certFile: text, keyFile: text };
const bridge = z.object({
  ...certificate,
  name: text,
  username: text,
  password: z.string().optional().catch(undefined),
  caFile: text,
});

const seconds = z.number().catch(0);

/** Only the keys checked here, so that no other fault of the configuration hides theirs. */
const looked = z.object({
  lease: z
    .object({
      lengthSeconds: z.number().catch(defaults.lease.lengthSeconds),
      renewSeconds: seconds,
    })
    .catch({ lengthSeconds: defaults.lease.lengthSeconds, renewSeconds: 0 }),
  dataDir: z.string().catch(defaults.dataDir),
  allowPlaintext: z.boolean().catch(false),
  mqtt: addresses(defaults.mqtt),
  http: addresses(defaults.http),
  tls: z
    .object({ ...certificate, host: z.string().catch(DEFAULT_TLS_HOST) })
    .optional()
    .catch(undefined),
  bridges: z.array(bridge.catch({})).catch([]),
  redis: z.unknown().optional(),
});

type Looked = z.output<typeof looked>;
type Bridge = Looked['bridges'][number];

/**
 * Finds faults of several keys together, or of the files they name; no key's own schema sees these.
 *
 * @param values the configuration before it was checked
 * @param cwd the base of relative file names
 */
export function furtherFaults(values: unknown, cwd: string): FieldFault[] {
  const keys = looked.parse(values);
  const { bridges, tls = {}, lease, redis } = keys;
  return [
    ...dataDirFaults(keys, cwd),
    ...within('lease', leaseFaults(lease)),
    ...plaintextFaults(keys),
    ...portFaults(keys),
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

function dataDirFaults({ dataDir, redis }: Looked, cwd: string): FieldFault[] {
  const store = storeSchema.safeParse(redis ?? {}).data;
  const socketPath = join(resolve(cwd, dataDir), STORE_SOCKET);
  const excessBytes = Buffer.byteLength(socketPath) - MAX_SOCKET_PATH_BYTES;
  if (store === undefined || !isEmbeddedStore(store) || excessBytes <= 0) return [];
  const message = `must be ${excessBytes} bytes shorter: the path of the store's socket in it may have ${MAX_SOCKET_PATH_BYTES} bytes`;
  return [{ path: 'dataDir', message }];
}

function leaseFaults({ lengthSeconds, renewSeconds }: Looked['lease']): FieldFault[] {
  if (lengthSeconds >= renewSeconds * RENEWALS_OF_LEASE) return [];
  return [{ path: 'renewSeconds', message: 'must be at most half of lengthSeconds' }];
}

/** Plaintext beyond this machine must be allowed explicitly (docs/reference/contract.md, 1, listeners). */
function plaintextFaults({ allowPlaintext, mqtt, http }: Looked): FieldFault[] {
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

/** Two listeners cannot have the same address, and a listener on all addresses leaves none for another. */
function portFaults({ mqtt, http, tls }: Looked): FieldFault[] {
  const listeners = [
    { path: 'mqtt.port', host: mqtt.host, port: mqtt.port },
    { path: 'http.port', host: http.host, port: http.port },
  ];
  if (tls !== undefined) {
    listeners.push(
      { path: 'mqtt.tlsPort', host: tls.host, port: mqtt.tlsPort },
      { path: 'http.tlsPort', host: tls.host, port: http.tlsPort },
    );
  }
  return listeners.flatMap(({ path, host, port }, index) => {
    const other = listeners.slice(0, index).find((one) => {
      const isSameHost = one.host === host || isAnyAddress(one.host) || isAnyAddress(host);
      // With port 0, each gets its own port.
      return port !== 0 && one.port === port && isSameHost;
    });
    return other === undefined ? [] : [{ path, message: `is the port of ${other.path}` }];
  });
}

/** Checks a bridge's files, which it would read only when it connects, perhaps much later. */
function bridgeFaults(keys: Bridge, cwd: string): FieldFault[] {
  const faults = clientTlsFaults(keys, cwd);
  if (keys.password !== undefined && keys.username === undefined) {
    faults.push({ path: 'username', message: 'is missing, a password is given' });
  }
  return faults;
}
