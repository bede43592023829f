import { abandoned } from './abandoned.js';
import { drain } from './drain.js';
import { history } from './history.js';
import { isolation } from './isolation.js';

const PARTS: ReadonlyMap<string, () => Promise<void>> = new Map([
  ['drain', drain],
  ['abandoned', abandoned],
  ['isolation', isolation],
  ['history', history],
]);

const wanted = process.argv.slice(2);
for (const name of wanted.length > 0 ? wanted : PARTS.keys()) {
  const part = PARTS.get(name);
  if (part === undefined) {
    console.error(`no part ${name}; there are: ${[...PARTS.keys()].join(', ')}`);
    process.exit(2);
  }
  await part();
}
process.exit(0);
