import { z } from 'zod';
import type { FieldFault } from '../errors.js';

/** The variable that names the configuration file; it is the only one that is not a key. */
export const FILE_VARIABLE = 'GATEWAY_CONFIG';
const PREFIX = 'GATEWAY_';
const NUMBER = /^-?\d+(\.\d+)?$/;

/** The environment, as `process.env` holds it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A key of the configuration, and the variable that sets it. */
export interface ConfigKey {
  readonly path: readonly string[];
  readonly variable: string;
  readonly parse: (text: string) => unknown;
  /** Whether null is a value of it. */
  readonly mayBeNull: boolean;
}

/** A key that the environment sets. */
export interface Assignment {
  readonly key: ConfigKey;
  readonly value: unknown;
}

/** Every key of the schema, without the sections. */
export function configKeys(schema: z.ZodObject, path: readonly string[] = []): ConfigKey[] {
  return Object.entries(schema.shape).flatMap(([name, field]) => {
    const inner = unwrap(field);
    const here = [...path, name];
    if (inner instanceof z.ZodObject) return configKeys(inner, here);
    const mayBeNull = inner instanceof z.ZodNullable;
    return [{ path: here, variable: variableOf(here), parse: parserOf(inner), mayBeNull }];
  });
}

/** Reads the keys that the environment sets; an unknown `GATEWAY_…` variable is a fault. */
export function readEnvironment(
  keys: readonly ConfigKey[],
  env: Environment,
): { assignments: Assignment[]; faults: FieldFault[] } {
  const assignments: Assignment[] = [];
  const faults: FieldFault[] = [];
  const byVariable = new Map(keys.map((key) => [key.variable, key]));
  for (const [variable, text] of Object.entries(env)) {
    if (text === undefined || !variable.startsWith(PREFIX) || variable === FILE_VARIABLE) continue;
    const key = byVariable.get(variable);
    if (key === undefined) {
      faults.push({ path: variable, message: 'sets no key of the configuration' });
    } else {
      assignments.push({ key, value: key.parse(text) });
    }
  }
  return { assignments, faults };
}

/** `mqtt.maxPacketBytes` → `GATEWAY_MQTT_MAX_PACKET_BYTES` (contract 1, environment). */
function variableOf(path: readonly string[]): string {
  const words = path.map((name) => name.replace(/[A-Z]/g, '_$&').toUpperCase());
  return PREFIX + words.join('_');
}

/** A parser for the variable's text. Unparseable text stays text, for the schema to reject in its words. */
function parserOf(schema: z.core.$ZodType): (text: string) => unknown {
  if (schema instanceof z.ZodNumber) return (text) => (NUMBER.test(text) ? Number(text) : text);
  if (schema instanceof z.ZodBoolean) return parseBoolean;
  if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) return (text) => text;
  return parseJson;
}

function parseBoolean(text: string): unknown {
  if (text === 'true') return true;
  return text === 'false' ? false : text;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes its input, which may be a secret.
    return text;
  }
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const isWrapper =
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional;
  return isWrapper ? unwrap(schema.unwrap()) : schema;
}
