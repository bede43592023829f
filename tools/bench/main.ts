import { history } from './history.js';
import { homes } from './homes.js';
import { handleInterrupts } from './interruption.js';
import { live } from './live.js';
import { manyHomes } from './many-homes.js';
import { memory } from './memory.js';
import { overload } from './overload.js';
import { replicas } from './replicas.js';
import { USAGE } from './speed/options.js';
import { speed } from './speed/speed.js';
import { start } from './start.js';
import { takeover } from './takeover.js';

type Part = (options: readonly string[]) => Promise<void>;

const PARTS: ReadonlyMap<string, Part> = new Map<string, Part>([
  ['live', live],
  ['history', history],
  ['overload', overload],
  ['memory', memory],
  ['start', start],
  ['homes', homes],
  ['many-homes', manyHomes],
  ['replicas', replicas],
  ['takeover', takeover],
  ['speed', speed],
]);
/** Each of these takes longer than all others together, and runs only when named. */
const LONG_PARTS: readonly string[] = [
  'overload',
  'memory',
  'start',
  'homes',
  'many-homes',
  'replicas',
  'takeover',
  'speed',
];
const HELP = `usage: npm run bench -- [PART…] [OPTION…]

parts: ${[...PARTS.keys()].join(', ')}; without any: all but ${LONG_PARTS.join(', ')}

${USAGE}`;

// Names of parts, then the options of those parts.
const args = process.argv.slice(2);
const optionsAt = args.findIndex((arg) => arg.startsWith('--'));
const wanted = optionsAt < 0 ? args : args.slice(0, optionsAt);
const options = optionsAt < 0 ? [] : args.slice(optionsAt);
const byDefault = [...PARTS.keys()].filter((name) => !LONG_PARTS.includes(name));
if (options.includes('--help')) {
  console.log(HELP);
  process.exit(0);
}
handleInterrupts();
for (const name of wanted.length > 0 ? wanted : byDefault) {
  const part = PARTS.get(name);
  if (part === undefined) {
    console.error(`no part ${name}; there are: ${[...PARTS.keys()].join(', ')}`);
    process.exit(2);
  }
  await part(options);
}
process.exit(0);
