import { type ChaosOptions, readOptions, USAGE } from './options.js';
import { linesOf } from './print.js';
import { runChaos } from './run.js';

const EXIT_USAGE = 2;

function options(): ChaosOptions {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${USAGE}`);
    process.exit(EXIT_USAGE);
  }
}

const chosen = options();
console.log(`chaos: ${JSON.stringify(chosen)}`);
const report = await runChaos(chosen, (line) => console.log(line));
for (const line of linesOf(report)) console.log(line);
process.exit(report.violations.length === 0 ? 0 : 1);
