/** Compares the gateway's speed with that of its peers in the same run, by turns; and measures what only it promises. */
import { parseArgs } from 'node:util';
import { box } from './box.js';
import { DRAIN } from './drain.js';
import { LATENCY } from './latency.js';
import type { Measure, Part } from './measure.js';
import { memory } from './memory.js';
import { overload } from './overload.js';
import { RECONNECT } from './reconnect.js';
import { start } from './start.js';
import { SUSTAINED } from './sustained.js';
import { compare } from './table.js';
import { transmission } from './transmission.js';

const MEASURES: readonly Measure[] = [SUSTAINED, LATENCY, DRAIN, RECONNECT];
const EXIT_USAGE = 2;

function options() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seconds: { type: 'string', default: '10' },
      rounds: { type: 'string', default: '3' },
      minutes: { type: 'string', default: '30' },
    },
  });
  const number = (name: keyof typeof values) => {
    const value = Number(values[name]);
    if (value > 0) return value;
    throw new TypeError(`--${name} takes a number above 0`);
  };
  const parts = partsWith(number('minutes'));
  const names = positionals.length > 0 ? positionals : MEASURES.map(({ name }) => name);
  const unknown = names.filter((name) => !parts.has(name));
  if (unknown.length > 0) throw new TypeError(`no ${unknown}; there are ${[...parts.keys()]}`);
  return { names, parts, scale: { seconds: number('seconds'), rounds: number('rounds') } };
}

function partsWith(minutes: number): ReadonlyMap<string, Part> {
  const measures = MEASURES.map((measure): [string, Part] => [
    measure.name,
    async (scale) => {
      await compare(measure, scale);
      return true;
    },
  ]);
  const own: [string, Part][] = [
    ['overload', overload],
    ['memory', () => memory(minutes)],
    ['box', () => box(minutes)],
    ['start', start],
    ['transmission', transmission],
  ];
  return new Map([...measures, ...own]);
}

async function main(): Promise<number> {
  let chosen: ReturnType<typeof options>;
  try {
    chosen = options();
  } catch (error) {
    const usage = 'usage: npm run bench -- [MEASURE…] [--seconds 10] [--rounds 3] [--minutes 30]';
    console.error(`${error instanceof Error ? error.message : error}\n${usage}`);
    return EXIT_USAGE;
  }
  let isMet = true;
  for (const name of chosen.names) {
    isMet = ((await chosen.parts.get(name)?.(chosen.scale)) ?? true) && isMet;
  }
  return isMet ? 0 : 1;
}

process.exit(await main());
