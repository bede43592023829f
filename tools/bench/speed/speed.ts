import { writeFile } from 'node:fs/promises';
import { chart } from './chart.js';
import { verdicts } from './goals.js';
import { runAsJson } from './json.js';
import { describeMachine, type Machine } from './machine.js';
import { runAsMarkdown } from './markdown.js';
import type { Measure } from './measure.js';
import { MEASURES } from './measures/all.js';
import { readOptions, type SpeedOptions, USAGE } from './options.js';
import { printResults, printVerdicts } from './print.js';
import type { MeasureResults, Results } from './results.js';
import { runMeasure } from './run.js';
import type { Scale } from './scale.js';
import { duration } from './show.js';

const EXIT_USAGE = 2;

/** Compares the gateway's speed with that of others on the same machine in the same run. */
export async function speed(args: readonly string[]): Promise<void> {
  const { scale, measures, ...files } = chosen(args);
  const begunMs = performance.now();
  const machine = describeMachine();
  const results = new Map<Measure, MeasureResults>();
  for (const measure of measures) {
    const found = await runMeasure(measure, scale);
    results.set(measure, found);
    printResults(found);
    // A run takes half an hour: if it is interrupted, its results so far remain.
    await writeFiles(files, machine, scale, results);
  }
  printVerdicts(verdicts(results, scale));
  console.log(`\n  ${duration(performance.now() - begunMs)} in all`);
}

async function writeFiles(
  { jsonFile, svgFile, markdownFile }: Omit<SpeedOptions, 'scale' | 'only'>,
  machine: Machine,
  scale: Scale,
  results: Results,
): Promise<void> {
  const judged = verdicts(results, scale);
  const written: readonly (readonly [file: string | undefined, text: string])[] = [
    [jsonFile, runAsJson(machine, scale, results, judged)],
    [svgFile, chart(results)],
    [markdownFile, runAsMarkdown(machine, scale, results, judged)],
  ];
  for (const [file, text] of written) if (file !== undefined) await writeFile(file, text);
}

function chosen(args: readonly string[]) {
  try {
    const options = readOptions(args);
    return { ...options, measures: measuresOf(options.only) };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${USAGE}`);
    process.exit(EXIT_USAGE);
  }
}

/** @throws TypeError when a name is not that of a measure */
function measuresOf(names: readonly string[]): readonly Measure[] {
  const known = MEASURES.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`no measure ${unknown}; there are: ${known.join(', ')}`);
  }
  return MEASURES.filter(({ name }) => names.length === 0 || names.includes(name));
}
