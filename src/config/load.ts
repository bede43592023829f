import { resolve } from 'node:path';
import { z } from 'zod';
import { type FieldFault, GatewayError } from '../errors.js';
import type { BridgeConfig } from './bridge-schema.js';
import { type Assignment, configKeys, readEnvironment } from './environment.js';
import { type FilePlace, findConfigFile, isRecord, readConfigFile, whyUnreadable } from './file.js';
import { type Config, configSchema, isLoopback } from './schema.js';

/**
 * Reads file and environment, which wins, into one valid configuration with absolute paths, or
 * throws `invalid-config` with every fault at once (CONTRACT 1, config).
 */
export function loadConfig(place: FilePlace): Config {
  const file = findConfigFile(place);
  const content =
    file === undefined ? { values: {}, faults: [] } : readConfigFile(file, place.isReadAgain);
  const environment = readEnvironment(configKeys(configSchema), place.env);
  const values = environment.assignments.reduce(assign, content.values);
  const result = configSchema.safeParse(values, { error: missingKey });
  const faults = [
    ...content.faults,
    ...environment.faults,
    ...[...(result.error?.issues ?? []).flatMap(faultsOf), ...plaintextFaults(values)].map(
      naming(environment.assignments),
    ),
  ];
  if (result.data === undefined || faults.length > 0) throw invalidConfig(faults);
  const config = withAbsolutePaths(result.data, place.cwd);
  const unreadable = bridgeFileFaults(config.bridges);
  if (unreadable.length > 0) throw invalidConfig(unreadable);
  return config;
}

function invalidConfig(faults: readonly FieldFault[]): GatewayError {
  const many = faults.length === 1 ? 'one fault' : `${faults.length} faults`;
  return new GatewayError('invalid-config', `the configuration has ${many}`, { faults });
}

/** Sets a key; where the file has no section at its place, the schema says so by itself. */
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
  return isRecord(inner) ? { ...section, [name]: setAt(inner, rest, value) } : section;
}

/** The schema's words for an absent key; its own for everything else, which quote no values. */
function missingKey(issue: { readonly input?: unknown }): string | undefined {
  return issue.input === undefined ? 'is missing' : undefined;
}

function faultsOf(issue: z.core.$ZodIssue): FieldFault[] {
  const path = issue.path.map(String);
  if (issue.code !== 'unrecognized_keys') return [{ path: path.join('.'), message: issue.message }];
  return issue.keys.map((key) => ({ path: [...path, key].join('.'), message: 'unknown key' }));
}

/** Says which variable the fault is in, where the environment set the key. */
function naming(assignments: readonly Assignment[]): (fault: FieldFault) => FieldFault {
  return (fault) => {
    const path = fault.path.split('.');
    const source = assignments.find(({ key }) => key.path.every((name, i) => path[i] === name));
    if (source === undefined) return fault;
    return { path: fault.path, message: `${source.key.variable}: ${fault.message}` };
  };
}

const listener = z.object({ host: z.string().catch('localhost') }).catch({ host: 'localhost' });
/** Just what the next check is about, so that other faults do not hide this one. */
const exposure = z.object({
  allowPlaintext: z.boolean().catch(false),
  mqtt: listener,
  http: listener,
});

/** Plaintext beyond this machine must be asked for in so many words (CONTRACT 1, listeners). */
function plaintextFaults(values: unknown): FieldFault[] {
  const { allowPlaintext, mqtt, http } = exposure.parse(values);
  if (allowPlaintext) return [];
  const hosts = [
    { path: 'mqtt.host', host: mqtt.host },
    { path: 'http.host', host: http.host },
  ];
  return hosts
    .filter(({ host }) => !isLoopback(host))
    .map(({ path }) => ({
      path,
      message:
        'would take plaintext connections from other machines: configure tls and leave this at ' +
        '127.0.0.1, or set allowPlaintext: true',
    }));
}

function withAbsolutePaths(config: Config, cwd: string): Config {
  const { tls } = config;
  return {
    ...config,
    dataDir: resolve(cwd, config.dataDir),
    ...(tls && {
      tls: { ...tls, certFile: resolve(cwd, tls.certFile), keyFile: resolve(cwd, tls.keyFile) },
    }),
    bridges: config.bridges.map((bridge) => {
      const files = fileKeysOf(bridge).map(([key, file]) => [key, resolve(cwd, file)]);
      return { ...bridge, ...Object.fromEntries(files) };
    }),
  };
}

const BRIDGE_FILE_KEYS = ['caFile', 'certFile', 'keyFile'] as const;

function fileKeysOf(bridge: BridgeConfig): [key: string, file: string][] {
  return BRIDGE_FILE_KEYS.flatMap((key) => {
    const file = bridge[key];
    return file === undefined ? [] : [[key, file]];
  });
}

/** A bridge begins on its own, perhaps much later: its files are looked at here. */
function bridgeFileFaults(bridges: readonly BridgeConfig[]): FieldFault[] {
  return bridges.flatMap((bridge, index) =>
    fileKeysOf(bridge).flatMap(([key, file]) => {
      const problem = whyUnreadable(file);
      return problem === undefined ? [] : [{ path: `bridges.${index}.${key}`, message: problem }];
    }),
  );
}
