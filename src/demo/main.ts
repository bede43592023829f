import { fileURLToPath } from 'node:url';
import { DemoError } from './demo-error.js';
import { readInvocation, USAGE } from './options.js';
import { runDemo } from './run.js';
import { wantsColour } from './screen.js';
import type { Stage } from './simulation.js';

const EXIT_FAILED = 1;
const EXIT_UNUSABLE = 2;

const { argv, env: environment, execPath: node, stdout, stderr } = process;
const gatewayProgram = fileURLToPath(new URL('../main.js', import.meta.url));

async function run(alarms: number | undefined): Promise<void> {
  const end = new AbortController();
  // Repeated signals change nothing: ending has its own deadlines, and must leave nothing running.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end.abort());
  // The reader may be gone (`npm run demo | head`).
  stdout.on('error', () => end.abort());
  const colour = wantsColour(environment, stdout.isTTY);
  const stage: Stage = {
    look: () => ({ colour, width: stdout.isTTY ? stdout.columns : undefined }),
    print: (text) => stdout.write(text),
  };
  try {
    await runDemo({ node, gatewayProgram, environment }, stage, alarms, end.signal);
  } catch (error) {
    if (!(error instanceof DemoError)) throw error;
    stderr.write(`\nThe demo failed: ${error.message}\n`);
    // Exits at once, as calls cut short by the gateway's end may still wait for their deadlines.
    process.exit(EXIT_FAILED);
  }
}

const invocation = readInvocation(argv.slice(2));
if (invocation.mode === 'help') {
  stdout.write(USAGE);
} else if (invocation.mode === 'unusable') {
  stderr.write(`${invocation.fault}\n\n${USAGE}`);
  process.exitCode = EXIT_UNUSABLE;
} else {
  await run(invocation.alarms);
}
