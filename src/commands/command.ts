/**
 * A command besides the gateway itself: `care-home-gateway backup FILE`. Each is a file of this directory with its own
 * help. What it needs of the gateway it imports when it runs: a start need not load it.
 */

import type { ParseArgsConfig } from 'node:util';
import type { Config } from '../config/schema.js';
import type { FieldFault } from '../errors.js';

export interface Invocation {
  /** The valid configuration. */
  readonly config: Config;
  readonly version: string;
  /** Options of the command, by their names. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The arguments after the name of the command, such as a file; as many as `operands`. */
  readonly operands: readonly string[];
}

export interface Command {
  readonly name: string;
  /** For the list of commands. */
  readonly summary: string;
  /** The text for `--help`. */
  readonly help: string;
  readonly options?: ParseArgsConfig['options'];
  /** The names of what must follow the command. */
  readonly operands?: readonly string[];
  /** Runs instead for a configuration with faults; without it, they are printed. @returns the exit status */
  readonly judge?: (faults: readonly FieldFault[]) => number;
  /** Writes to standard output and standard error. @returns the exit status */
  readonly run: (invocation: Invocation) => number | Promise<number>;
}
