import { parseArgs } from 'node:util';
import { FULL, QUICK, type Scale } from './scale.js';

export interface SpeedOptions {
  readonly scale: Scale;
  /** Names of measures; empty for all. */
  readonly only: readonly string[];
  readonly jsonFile: string | undefined;
  readonly svgFile: string | undefined;
  /** File for the tables of docs/reports/performance.md. */
  readonly markdownFile: string | undefined;
}

export const USAGE =
  'npm run bench -- speed [--quick] [--rounds N] [--only MEASURE]… [--json FILE] [--svg FILE] [--markdown FILE]';

/** @throws TypeError when an option is unknown, or the rounds are not an integer from 1 on */
export function readOptions(args: readonly string[]): SpeedOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      json: { type: 'string' },
      svg: { type: 'string' },
      markdown: { type: 'string' },
    },
  });
  const scale = values.quick ? QUICK : FULL;
  const rounds = values.rounds === undefined ? scale.rounds : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new TypeError('--rounds takes a number');
  return {
    scale: { ...scale, rounds },
    only: values.only,
    jsonFile: values.json,
    svgFile: values.svg,
    markdownFile: values.markdown,
  };
}
