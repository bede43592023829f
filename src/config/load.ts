import { resolve } from 'node:path';
import { SELF_SIGNED_FILE } from '../domain/credentials.js';
import { fieldFaults } from '../domain/field-faults.js';
import { isObject } from '../domain/json.js';
import { type FieldFault, GatewayError } from '../errors.js';
import { type Assignment, configKeys, readEnvironment } from './environment.js';
import { type FilePlace, findConfigFile, readConfigFile } from './file.js';
import type { TlsConfig } from './listener-schema.js';
import { type CertificateFiles, ruleFaults } from './rules.js';
import { type Config, configSchema, type ParsedConfig } from './schema.js';

/**
 * Loads the configuration from file and environment; the environment wins. Paths become absolute.
 *
 * @throws GatewayError `invalid-config` with all faults together (contract 1, config)
 */
export function loadConfig(place: FilePlace): Config {
  const file = findConfigFile(place);
  const keys = configKeys(configSchema);
  const nullable = new Set(
    keys.flatMap(({ path, mayBeNull }) => (mayBeNull ? path.join('.') : [])),
  );
  const content =
    file === undefined
      ? { values: {}, faults: [] }
      : readConfigFile(file, place, (path) => nullable.has(path));
  const environment = readEnvironment(keys, place.env);
  const values = environment.assignments.reduce(assign, content.values);
  const result = configSchema.safeParse(values);
  const ofValues = fieldFaults(result.error, 'unknown key').concat(ruleFaults(values, place.cwd));
  const faults = [
    ...content.faults,
    ...environment.faults,
    ...ofValues.map(naming(environment.assignments)),
  ];
  if (result.data === undefined || faults.length > 0) throw invalidConfig(faults);
  return withAbsolutePaths(result.data, place.cwd);
}

function invalidConfig(faults: readonly FieldFault[]): GatewayError {
  const many = faults.length === 1 ? 'one fault' : `${faults.length} faults`;
  return new GatewayError('invalid-config', `the configuration has ${many}`, { faults });
}

/** Sets a key; if the file has something else in place of its section, the schema reports that. */
function assign(
  values: Readonly<Record<string, unknown>>,
  { key, value }: Assignment,
): Readonly<Record<string, unknown>> {
  return setAt(values, key.path, value);
}

function setAt(
  section: Readonly<Record<string, unknown>>,
  [name = '', ...rest]: readonly string[],
  value: unknown,
): Readonly<Record<string, unknown>> {
  if (rest.length === 0) return { ...section, [name]: value };
  const inner = section[name] ?? {};
  return isObject(inner) ? { ...section, [name]: setAt(inner, rest, value) } : section;
}

/** Adds the variable's name to the fault of a key set by the environment. */
function naming(assignments: readonly Assignment[]): (fault: FieldFault) => FieldFault {
  return (fault) => {
    const path = fault.path.split('.');
    const source = assignments.find(({ key }) => key.path.every((name, i) => path[i] === name));
    if (source === undefined) return fault;
    return { path: fault.path, message: `${source.key.variable}: ${fault.message}` };
  };
}

function withAbsolutePaths(config: ParsedConfig, cwd: string): Config {
  const { tls, redis, backup } = config;
  const dataDir = resolve(cwd, config.dataDir);
  return {
    ...config,
    dataDir,
    tls: tls && tlsConfig(tls, dataDir, cwd),
    ...(backup && { backup: { ...backup, directory: resolve(cwd, backup.directory) } }),
    redis: {
      ...redis,
      ...(redis.tls && { tls: withAbsoluteFiles(redis.tls, cwd) }),
      ...(redis.sentinelTls && { sentinelTls: withAbsoluteFiles(redis.sentinelTls, cwd) }),
    },
    bridges: config.bridges.map((bridge) => withAbsoluteFiles(bridge, cwd)),
  };
}

/** Without files of the customer, those that the gateway makes. */
function tlsConfig(tls: NonNullable<ParsedConfig['tls']>, dataDir: string, cwd: string): TlsConfig {
  const own = resolve(dataDir, SELF_SIGNED_FILE);
  const { certFile = own, keyFile = own, clientCaFile } = tls;
  return {
    ...tls,
    certFile: resolve(cwd, certFile),
    keyFile: resolve(cwd, keyFile),
    ...(clientCaFile !== undefined && { clientCaFile: resolve(cwd, clientCaFile) }),
  };
}

const FILE_KEYS = ['caFile', 'certFile', 'keyFile'] as const;

function withAbsoluteFiles<Section extends CertificateFiles>(
  section: Section,
  cwd: string,
): Section {
  const files = FILE_KEYS.flatMap((key) => {
    const file = section[key];
    return file === undefined ? [] : [[key, resolve(cwd, file)]];
  });
  return { ...section, ...Object.fromEntries(files) };
}
