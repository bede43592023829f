/**
 * Rules that no key can check by itself: between keys, between entries, and about the files they name.
 *
 * Wrong values are replaced by their defaults first, so one run reports every fault.
 */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { z } from 'zod';
import { isAnyAddress, isLoopbackHost } from '../domain/addresses.js';
import { bridgeKeys } from '../domain/bridge-schema.js';
import { certificateEndMs, endingFault } from '../domain/credentials.js';
import { faultWords } from '../domain/fault.js';
import { isObject } from '../domain/json.js';
import { matchesSent } from '../domain/output-schema.js';
import type { FieldFault } from '../errors.js';
import { whyUnreadable } from './file.js';
import { tlsSchema } from './listener-schema.js';
import { type Config, configSchema } from './schema.js';

/** One late renewal must not end the lease. */
const RENEWALS_OF_LEASE = 2;
/** The longest path of a Unix socket on macOS, without the closing zero; Linux takes four more. */
const MAX_SOCKET_PATH_BYTES = 103;
/** The socket of the gateway's own store, in `dataDir`. */
const STORE_SOCKET = 'redis/redis.sock';

const NO_PLACE = 'is for a store of yours: give url, sentinels or cluster';
const PLACES = ['url', 'sentinels', 'cluster'];
const FOR_PLACES = ['user', 'password', 'tls'];
const FOR_SENTINELS = ['name', 'sentinelUser', 'sentinelPassword', 'sentinelTls'];
const CREDENTIALS = [
  ['user', 'password'],
  ['sentinelUser', 'sentinelPassword'],
] as const;

const PEM_FILES = [
  ['certFile', 'cert', 'certificate'],
  ['keyFile', 'key', 'private key'],
] as const;

/** The files of a certificate and its key, and of the authority that the other side is checked against. */
export interface CertificateFiles {
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly caFile?: string | undefined;
}

type Values = Readonly<Record<string, unknown>>;

/** A key that is missing must not take the rest of its section with it, nor the place of a bridge in the list. */
const incompleteSchema = configSchema.extend({
  tls: tlsSchema.partial().optional(),
  bridges: z.array(bridgeKeys.partial().prefault({})).default([]),
});

type Incomplete = z.output<typeof incompleteSchema>;

/**
 * Finds the faults that no key's own schema sees.
 *
 * @param values the configuration before it was checked
 * @param cwd the base of relative file names
 */
export function ruleFaults(values: Values, cwd: string): FieldFault[] {
  const config = lenient(incompleteSchema, values);
  const section = (name: string) => (isObject(values[name]) ? values[name] : {});
  const store = section('redis');
  return [
    ...dataDirFaults(config, store, cwd),
    ...leaseFaults(config),
    ...(config.allowPlaintext
      ? []
      : ['mqtt', 'http'].flatMap((name) => plaintextFaults(name, section(name)))),
    ...portFaults(config),
    ...tlsFaults(values['tls'] === undefined ? undefined : section('tls'), cwd),
    ...within('tls', certificateFaults(config.tls ?? {}, cwd)),
    ...within('redis', [
      ...placeFaults(store),
      ...credentialFaults(store),
      ...urlFaults(store),
      ...within('tls', clientTlsFaults(config.redis.tls ?? {}, cwd)),
      ...within('sentinelTls', clientTlsFaults(config.redis.sentinelTls ?? {}, cwd)),
    ]),
    ...(values['backup'] !== undefined && given(store, PLACES).length > 0
      ? faultsOf(['backup'], "is for the gateway's own store: back up yours by its own means")
      : []),
    ...config.bridges.flatMap((bridge, index) => {
      const others = config.bridges.slice(0, index);
      return within(`bridges.${index}`, bridgeFaults(bridge, others, cwd));
    }),
  ];
}

/**
 * Parses values with faults: takes out what is wrong, or what lacks something, until the rest is valid.
 *
 * @param schema one that `{}` satisfies
 */
function lenient<Schema extends z.ZodType>(schema: Schema, values: unknown): z.output<Schema> {
  const result = schema.safeParse(values);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const unknownKey = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  return lenient(schema, without(values, [...(issue?.path ?? []), ...unknownKey]) ?? {});
}

/** Takes out the value at the path; where there is none, that which should have it. */
function without(value: unknown, [key, ...rest]: readonly PropertyKey[]): unknown {
  const isContainer = typeof value === 'object' && value !== null;
  if (key === undefined || !isContainer || !Object.hasOwn(value, key)) return undefined;
  const copy = Object.assign(Array.isArray(value) ? [] : {}, value);
  const inner = without(Reflect.get(value, key), rest);
  if (inner === undefined) Reflect.deleteProperty(copy, key);
  else Reflect.set(copy, key, inner);
  return copy;
}

function dataDirFaults({ dataDir }: Incomplete, store: Values, cwd: string): FieldFault[] {
  const socketPath = join(resolve(cwd, dataDir), STORE_SOCKET);
  const excessBytes = Buffer.byteLength(socketPath) - MAX_SOCKET_PATH_BYTES;
  if (given(store, PLACES).length > 0 || excessBytes <= 0) return [];
  const message = `must be ${excessBytes} bytes shorter: the path of the store's socket in it may have ${MAX_SOCKET_PATH_BYTES} bytes`;
  return [{ path: 'dataDir', message }];
}

function leaseFaults({ lease }: Incomplete): FieldFault[] {
  if (lease.lengthSeconds >= lease.renewSeconds * RENEWALS_OF_LEASE) return [];
  return [{ path: 'lease.renewSeconds', message: 'must be at most half of lengthSeconds' }];
}

/** Plaintext beyond this machine must be allowed explicitly (contract 1, listeners). */
function plaintextFaults(section: string, { host }: Values): FieldFault[] {
  if (typeof host !== 'string' || isLoopbackHost(host)) return [];
  const message =
    'would take plaintext connections from other machines: configure tls and leave this at ' +
    '127.0.0.1, or set allowPlaintext: true';
  return [{ path: `${section}.host`, message }];
}

/** Two listeners cannot have the same address, and a listener on all addresses leaves none for another. */
function portFaults({ mqtt, http, tls }: Incomplete): FieldFault[] {
  const listeners = [
    { path: 'mqtt.port', host: mqtt.host, port: mqtt.port },
    { path: 'http.port', host: http.host, port: http.port },
  ];
  if (tls?.host !== undefined) {
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

/** The store is in one place, and each key belongs to a place that is given. */
function placeFaults(store: Values): FieldFault[] {
  const [place, ...others] = given(store, PLACES);
  const faults = faultsOf(others, `cannot be given beside ${place}`);
  if (place === undefined) {
    faults.push(...faultsOf(given(store, FOR_PLACES), NO_PLACE));
    if (Number(store['replicas']) > 0) faults.push(...faultsOf(['replicas'], NO_PLACE));
  }
  if (store['sentinels'] === undefined) {
    faults.push(...faultsOf(given(store, FOR_SENTINELS), 'is for sentinels, which are missing'));
  } else if (store['name'] === undefined) {
    faults.push(...faultsOf(['name'], 'is missing, sentinels are given'));
  }
  return faults;
}

function credentialFaults(store: Values): FieldFault[] {
  return CREDENTIALS.filter(
    ([user, password]) => store[user] !== undefined && store[password] === undefined,
  ).flatMap(([user, password]) => faultsOf([password], `is missing, a ${user} is given`));
}

/** A user or password in the URL must not be given again as a key of its own. */
function urlFaults(store: Values): FieldFault[] {
  const { url, tls } = store;
  if (typeof url !== 'string' || !URL.canParse(url)) return [];
  const { protocol, username, password } = new URL(url);
  const twice = username !== '' || password !== '' ? given(store, ['user', 'password']) : [];
  const needless = tls !== undefined && protocol !== 'rediss:' ? ['tls'] : [];
  return [
    ...faultsOf(twice, 'cannot be given, the url has credentials'),
    ...faultsOf(needless, 'is for a url that begins with rediss://'),
  ];
}

/** Also checks a bridge's files, which it would read only when it connects, perhaps much later. */
function bridgeFaults(
  bridge: Incomplete['bridges'][number],
  others: Incomplete['bridges'],
  cwd: string,
): FieldFault[] {
  const { name, username, password } = bridge;
  const isNameTaken = name !== undefined && others.some((other) => other.name === name);
  const isUserMissing = password !== undefined && username === undefined;
  return [
    ...faultsOf(isNameTaken ? ['name'] : [], 'is the name of another bridge'),
    ...clientTlsFaults(bridge, cwd),
    ...faultsOf(isUserMissing ? ['username'] : [], 'is missing, a password is given'),
  ];
}

/** Checks the files for TLS to a server; otherwise, only a connection to it would read them. */
function clientTlsFaults(files: CertificateFiles, cwd: string): FieldFault[] {
  const { certFile, keyFile, caFile } = files;
  const problem = caFile === undefined ? undefined : whyUnreadable(resolve(cwd, caFile));
  const [lacksKey, lacksCert] = [!keyFile && certFile, !certFile && keyFile];
  return [
    ...certificateFaults(files, cwd),
    ...(problem === undefined ? [] : faultsOf(['caFile'], problem)),
    ...faultsOf(lacksKey ? ['keyFile'] : [], 'is missing, a certFile is given'),
    ...faultsOf(lacksCert ? ['certFile'] : [], 'is missing, a keyFile is given'),
  ];
}

/** The certificate has files, or the gateway makes it; that of the clients' authority is checked like the others. */
function tlsFaults(tls: Values | undefined, cwd: string): FieldFault[] {
  if (tls === undefined) return [];
  const { selfSigned, clientCertificates, clientCaFile } = tls;
  const files = given(tls, ['certFile', 'keyFile']);
  const [isOwn, isCaMissing] = [selfSigned === true, clientCaFile === undefined];
  const missing = ['certFile', 'keyFile'].filter((key) => !files.includes(key));
  return [
    ...(!isOwn && files.length === 0
      ? faultsOf(['tls'], 'needs certFile and keyFile, or selfSigned: true')
      : within('tls', faultsOf(isOwn ? [] : missing, 'is missing'))),
    ...within('tls', [
      ...faultsOf(isOwn ? files : [], 'cannot be given, selfSigned is true'),
      ...faultsOf(
        clientCertificates !== undefined && isCaMissing ? ['clientCertificates'] : [],
        'is for clientCaFile, which is missing',
      ),
      ...(typeof clientCaFile === 'string' ? authorityFaults(resolve(cwd, clientCaFile)) : []),
    ]),
  ];
}

function authorityFaults(file: string): FieldFault[] {
  const problem = whyUnreadable(file);
  if (problem !== undefined) return faultsOf(['clientCaFile'], problem);
  try {
    // In OpenSSL's context an authority that is no certificate would just be missing.
    return new X509Certificate(readFileSync(file)).ca
      ? []
      : faultsOf(['clientCaFile'], 'is not the certificate of an authority');
  } catch {
    return faultsOf(['clientCaFile'], 'holds no usable certificate in PEM');
  }
}

/** Checks that the files are readable, hold PEM of their kind, and belong together. */
function certificateFaults(files: CertificateFiles, cwd: string): FieldFault[] {
  const both: SecureContextOptions = {};
  const faults = PEM_FILES.flatMap(([key, option, what]) => {
    if (files[key] === undefined) return [];
    const file = resolve(cwd, files[key]);
    const problem = whyUnreadable(file);
    if (problem !== undefined) return faultsOf([key], problem);
    both[option] = readFileSync(file);
    const isPem = isUsable({ [option]: both[option] });
    return isPem ? [] : faultsOf([key], `holds no usable ${what} in PEM`);
  });
  if (faults.length > 0 || isUsable(both)) return faults;
  return faultsOf(['keyFile'], 'is not the key of the certificate in certFile');
}

/** Whether OpenSSL accepts the PEM; its own words say less than the name of the file. */
function isUsable(options: SecureContextOptions): boolean {
  try {
    createSecureContext(options);
    return true;
  } catch {
    return false;
  }
}

/** Those of the keys that have a value, right or wrong. */
function given(section: Values, keys: readonly string[]): string[] {
  return keys.filter((key) => section[key] !== undefined);
}

function faultsOf(paths: readonly string[], message: string): FieldFault[] {
  return paths.map((path) => ({ path, message }));
}

/** Puts the faults of a section's keys under its name. */
function within(section: string, faults: readonly FieldFault[]): FieldFault[] {
  return faults.map(({ path, message }) => ({ path: `${section}.${path}`, message }));
}

/**
 * The fault of a certificate that has ended, for `check-config`.
 *
 * A start only warns: alarms of clients that use no TLS, or do not check it, must not wait for a new certificate.
 */
export function endedCertificateFaults({ tls }: Config, nowMs: number): FieldFault[] {
  const hasEnded = tls !== undefined && !tls.selfSigned && endOf(tls) <= nowMs;
  return faultsOf(hasEnded ? ['tls.certFile'] : [], 'the certificate has ended');
}

function endOf({ certFile }: NonNullable<Config['tls']>): number {
  return certificateEndMs(readFileSync(certFile, 'utf8'));
}

/** Warnings about a valid configuration, for `check-config` and the log at start-up. */
export function configWarnings({ tls, outputs }: Config, nowMs: number): string[] {
  // The gateway renews its own.
  const ending = tls?.selfSigned === false ? endingFault(endOf(tls), nowMs) : undefined;
  return [
    ...(ending === undefined ? [] : [`tls.certFile: ${faultWords(ending, 'en').message}`]),
    ...outputs.flatMap(({ name, topics }) =>
      topics
        .filter((filter) => !matchesSent(filter))
        .map((filter) => `outputs: ${filter} of ${name} matches no topic that is sent`),
    ),
  ];
}
