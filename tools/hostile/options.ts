import { parseArgs } from 'node:util';
import type { Peer } from './site.js';

export interface HostileOptions {
  /** Names of attacks; empty: all. */
  readonly only: readonly string[];
  readonly seconds: number;
  readonly peers: readonly Peer[];
  /** File for the figures. */
  readonly json: string | undefined;
  /** File for the table of docs/reports/attacks.md. */
  readonly markdown: string | undefined;
  readonly isList: boolean;
}

const DEFAULT_SECONDS = 20;

export const USAGE =
  'usage: npm run hostile -- [--only ATTACK]… [--seconds 20] [--peer mosquitto] [--json FILE] [--markdown FILE] [--list]';

/** @throws TypeError when an option is unknown or has an invalid value */
export function readOptions(args: readonly string[]): HostileOptions {
  const { values } = parseArgs({
    // npm passes on a second `--`.
    args: args.filter((arg) => arg !== '--'),
    options: {
      only: { type: 'string', multiple: true },
      seconds: { type: 'string' },
      peer: { type: 'string' },
      json: { type: 'string' },
      markdown: { type: 'string' },
      list: { type: 'boolean' },
    },
  });
  const seconds = Number(values.seconds ?? DEFAULT_SECONDS);
  if (!(seconds > 0)) throw new TypeError('--seconds takes a number above 0');
  if (values.peer !== undefined && values.peer !== 'mosquitto') {
    throw new TypeError('--peer takes mosquitto');
  }
  return {
    only: values.only ?? [],
    seconds,
    peers: values.peer === undefined ? ['gateway'] : ['gateway', 'mosquitto'],
    json: values.json,
    markdown: values.markdown,
    isList: values.list ?? false,
  };
}
