/** Attacks the built gateway, one after the other, and judges what becomes of the alarms of another home. */
import { parseArgs } from 'node:util';
import { ATTACKS } from './attacks/index.js';
import { headLine, rowOf } from './judge.js';
import { HAS_NAMESPACE, trial } from './trial.js';

const USAGE = 'usage: npm run hostile -- [--only ATTACK]… [--seconds 20] [--list]';
const EXIT_USAGE = 2;

function options() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      seconds: { type: 'string', default: '20' },
      list: { type: 'boolean', default: false },
    },
  });
  const unknown = values.only.filter((name) => !ATTACKS.some((attack) => attack.name === name));
  if (unknown.length > 0) throw new TypeError(`no attack ${unknown.join(', ')}; --list names them`);
  const seconds = Number(values.seconds);
  if (!(seconds > 0)) throw new TypeError('--seconds takes a number above 0');
  return { ...values, seconds };
}

async function main(): Promise<number> {
  let chosen: ReturnType<typeof options>;
  try {
    chosen = options();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${USAGE}`);
    return EXIT_USAGE;
  }
  const { only, seconds, list } = chosen;
  if (list) {
    for (const { name, what, expects } of ATTACKS) console.log(`${name} (${expects}): ${what}`);
    return 0;
  }
  const wanted = ATTACKS.filter(({ name }) => only.length === 0 || only.includes(name));
  console.log(headLine());
  let missed = 0;
  for (const attack of [undefined, ...wanted]) {
    if (attack?.addresses !== undefined && !HAS_NAMESPACE) {
      console.log(`${attack.name}: left out, network namespaces are not permitted here`);
      continue;
    }
    const result = await trial(attack, Math.max(seconds, attack?.leastSeconds ?? 0));
    if (result.misses.length > 0) missed++;
    console.log(rowOf(result));
    if (result.misses.length > 0) console.log(`  ${JSON.stringify(result.counts)}`);
  }
  console.log(`\n${wanted.length} attacks, ${missed} of them missed`);
  return missed === 0 ? 0 : 1;
}

process.exit(await main());
