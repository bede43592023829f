import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { isObject } from '../domain/json.js';
import type { FieldFault } from '../errors.js';
import { type Environment, FILE_VARIABLE } from './environment.js';

/** The contents of a configuration file; after a fault, the values that can be checked. */
export interface FileContent {
  readonly values: Readonly<Record<string, unknown>>;
  readonly faults: readonly FieldFault[];
}

/** Where to look for the configuration, and the base of relative names. */
export interface FilePlace {
  /** `--config FILE` */
  readonly file?: string | undefined;
  /** Whether an empty file is a fault: on a reload, such a file is being written or was lost. */
  readonly isReadAgain?: boolean | undefined;
  readonly env: Environment;
  /** The directory that holds `dist/` and `config/`. */
  readonly programDir: string;
  readonly cwd: string;
}

/** Files next to the program; the first is for a checkout, where a local change would dirty the sample. */
const OWN_NAMES = ['gateway.local.yaml', 'gateway.yaml'];

/** Finds the file to read; undefined for the defaults (contract 1, config). */
export function findConfigFile(place: FilePlace): string | undefined {
  const named = place.file ?? place.env[FILE_VARIABLE];
  if (named !== undefined && named !== '') return resolve(place.cwd, named);
  return OWN_NAMES.map((name) => join(place.programDir, 'config', name)).find(existsSync);
}

/**
 * Reads the file. Faults never quote it, as the YAML parser's own messages would: it may hold the admin
 * token.
 *
 * @param mayBeNull whether null is a value of this key, given as its path with dots
 */
export function readConfigFile(
  file: string,
  { isReadAgain = false }: Pick<FilePlace, 'isReadAgain'>,
  mayBeNull: (path: string) => boolean,
): FileContent {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return faulty(file, [`cannot be read (${errorCode(error)})`]);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const problems = [...document.errors, ...document.warnings].map(({ code, pos }) => {
    const { line, col } = lines.linePos(pos[0]);
    return `line ${line}, column ${col}: no valid YAML (${words(code)})`;
  });
  if (problems.length > 0) return faulty(file, problems);
  const content = contentOf(file, () => withoutNulls(document.toJS(), mayBeNull));
  const hasKeys = Object.values(content.values).some((value) => value !== undefined);
  if (isReadAgain && !hasKeys && content.faults.length === 0) return faulty(file, ['is empty']);
  return content;
}

function contentOf(file: string, read: () => unknown): FileContent {
  let value: unknown;
  try {
    value = read();
  } catch {
    return faulty(file, ['no valid YAML (an alias cannot be resolved)']);
  }
  if (value === undefined) return { values: {}, faults: [] };
  return isObject(value) ? { values: value, faults: [] } : faulty(file, ['must be a mapping']);
}

/** Says why the file cannot be read; undefined when it can. */
export function whyUnreadable(file: string): string | undefined {
  try {
    readFileSync(file);
    return undefined;
  } catch (error) {
    return `cannot be read (${errorCode(error)})`;
  }
}

/** Removes keys without a value (`redis:` with all its keys commented out), unless null is a value of theirs. */
function withoutNulls(value: unknown, mayBeNull: (path: string) => boolean, path = ''): unknown {
  if (value === null) return mayBeNull(path) ? null : undefined;
  if (!isObject(value)) return value;
  const at = (key: string) => (path === '' ? key : `${path}.${key}`);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withoutNulls(item, mayBeNull, at(key))]),
  );
}

function faulty(file: string, messages: readonly string[]): FileContent {
  return { values: {}, faults: messages.map((message) => ({ path: file, message })) };
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

function words(code: string): string {
  return code.toLowerCase().replaceAll('_', ' ');
}
