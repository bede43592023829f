import { readOptions, USAGE } from './options.js';
import { PAIR_USAGE, readPairOptions } from './pair/options.js';
import { linesOfPair } from './pair/print.js';
import { runPairChaos } from './pair/run.js';
import { linesOf } from './print.js';
import { runChaos } from './run.js';

const EXIT_USAGE = 2;
const args = process.argv.slice(2);
const isPair = args.includes('--pair');

function chosen<T>(read: (args: readonly string[]) => T): T {
  try {
    return read(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${USAGE}\n${PAIR_USAGE}`);
    process.exit(EXIT_USAGE);
  }
}

function tell(line: string): void {
  console.log(line);
}

async function chaos(): Promise<boolean> {
  const options = chosen(readOptions);
  tell(`chaos: ${JSON.stringify(options)}`);
  const report = await runChaos(options, tell);
  for (const line of linesOf(report)) tell(line);
  return report.violations.length === 0;
}

async function pairChaos(): Promise<boolean> {
  const options = chosen(readPairOptions);
  tell(`chaos of a pair: ${JSON.stringify(options)}`);
  const report = await runPairChaos(options, tell);
  for (const line of linesOfPair(report)) tell(line);
  return report.violations.length === 0;
}

const isUnblemished = await (isPair ? pairChaos() : chaos());
process.exit(isUnblemished ? 0 : 1);
