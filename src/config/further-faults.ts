import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { z } from 'zod';
import { isLoopbackHost } from '../domain/addresses.js';
import type { FieldFault } from '../errors.js';
import { whyUnreadable } from './file.js';

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
});

type Looked = z.output<typeof looked>;
type Certificate = Looked['tls'];
type Bridge = Looked['bridges'][number];

/**
 * Finds faults of several keys together, or of the files they name, which no key's schema sees.
 *
 * @param values the configuration before it was checked
 * @param cwd the base of relative file names
 */
export function furtherFaults(values: unknown, cwd: string): FieldFault[] {
  const { bridges, tls, lease, ...exposure } = looked.parse(values);
  return [
    ...within('lease', leaseFaults(lease)),
    ...plaintextFaults(exposure),
    ...within('tls', certificateFaults(tls, cwd)),
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
}: Omit<Looked, 'bridges' | 'tls' | 'lease'>) {
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
  const faults = certificateFaults(keys, cwd);
  if (keys.caFile !== undefined)
    faults.push(...readableFaults('caFile', resolve(cwd, keys.caFile)));
  if (keys.password !== undefined && keys.username === undefined) {
    faults.push({ path: 'username', message: 'is missing, a password is given' });
  }
  if (keys.certFile !== undefined && keys.keyFile === undefined) {
    faults.push({ path: 'keyFile', message: 'is missing, a certFile is given' });
  }
  if (keys.keyFile !== undefined && keys.certFile === undefined) {
    faults.push({ path: 'certFile', message: 'is missing, a keyFile is given' });
  }
  return faults;
}

/** Checks that the files are readable, hold PEM of their kind, and belong together. */
function certificateFaults({ certFile, keyFile }: Certificate, cwd: string): FieldFault[] {
  const cert = certFile === undefined ? undefined : resolve(cwd, certFile);
  const key = keyFile === undefined ? undefined : resolve(cwd, keyFile);
  const faults = [
    ...(cert === undefined ? [] : pemFaults('certFile', cert, 'cert', 'certificate')),
    ...(key === undefined ? [] : pemFaults('keyFile', key, 'key', 'private key')),
  ];
  if (cert === undefined || key === undefined || faults.length > 0) return faults;
  if (isUsable({ cert, key })) return [];
  return [{ path: 'keyFile', message: 'is not the key of the certificate in certFile' }];
}

function pemFaults(path: string, file: string, role: 'cert' | 'key', what: string): FieldFault[] {
  const faults = readableFaults(path, file);
  if (faults.length > 0 || isUsable({ [role]: file })) return faults;
  return [{ path, message: `holds no usable ${what} in PEM` }];
}

/** Whether OpenSSL takes the PEM; its own words say less than the name of the file. */
function isUsable({ cert, key }: { readonly cert?: string; readonly key?: string }): boolean {
  try {
    createSecureContext({
      ...(cert !== undefined && { cert: readFileSync(cert) }),
      ...(key !== undefined && { key: readFileSync(key) }),
    });
    return true;
  } catch {
    return false;
  }
}

function readableFaults(path: string, file: string): FieldFault[] {
  const problem = whyUnreadable(file);
  return problem === undefined ? [] : [{ path, message: problem }];
}

function within(section: string, faults: readonly FieldFault[]): FieldFault[] {
  return faults.map(({ path, message }) => ({ path: `${section}.${path}`, message }));
}
