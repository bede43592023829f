import { writeFileSync } from 'node:fs';
import { handleInterrupts, stopOnInterrupt, wasInterrupted } from '../bench/interruption.js';
import { Cleanups } from '../bench/speed/cleanups.js';
import type { Attack } from './attack.js';
import { ATTACKS } from './attacks/index.js';
import { markdownOf } from './markdown.js';
import { HAS_NAMESPACE } from './network.js';
import { type HostileOptions, readOptions, USAGE } from './options.js';
import type { Result } from './result.js';
import { Scene } from './scene.js';
import type { Peer } from './site.js';
import { printTable } from './table.js';

const EXIT_USAGE = 2;
const LONG = { quietMs: 3_000, maxRecoveryMs: 60_000, calmSeconds: 3, namedWithinMs: 3_000 };

function options(): HostileOptions {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${USAGE}`);
    process.exit(EXIT_USAGE);
  }
}

/** The quiet row, then the requested attacks. */
function chosenAttacks(only: readonly string[]): readonly (Attack | undefined)[] {
  const unknown = only.filter((name) => !ATTACKS.some((attack) => attack.name === name));
  if (unknown.length > 0) {
    console.error(`no attack ${unknown.join(', ')}; --list names them`);
    process.exit(EXIT_USAGE);
  }
  const wanted = ATTACKS.filter(({ name }) => only.length === 0 || only.includes(name));
  const possible = wanted.filter(({ addresses }) => addresses === undefined || HAS_NAMESPACE);
  for (const { name } of wanted.filter((attack) => !possible.includes(attack))) {
    console.log(`${name}: left out, network namespaces are not permitted here`);
  }
  return [undefined, ...possible];
}

async function runTrial(attack: Attack | undefined, peer: Peer, seconds: number): Promise<Result> {
  const cleanups = new Cleanups();
  const over = stopOnInterrupt(() => cleanups.run());
  try {
    const scene = await Scene.open(
      {
        peer,
        needs: (await attack?.needs?.()) ?? {},
        isExposed: attack?.addresses !== undefined,
        areSubscribersShared: attack?.areSubscribersShared ?? false,
      },
      cleanups,
    );
    return await scene.try(attack, { seconds, ...LONG });
  } finally {
    await cleanups.run();
    over();
  }
}

const chosen = options();
if (chosen.isList) {
  for (const { name, finding, what } of ATTACKS)
    console.log(`${name} (${finding ?? 'own'}): ${what}`);
  process.exit(0);
}
handleInterrupts();
const results: Result[] = [];
for (const attack of chosenAttacks(chosen.only)) {
  for (const peer of chosen.peers) {
    if (wasInterrupted() || (peer === 'mosquitto' && attack?.isForMosquitto === false)) continue;
    const result = await runTrial(attack, peer, chosen.seconds);
    results.push(result);
    const verdict = result.misses.length === 0 ? 'holds' : result.misses.join('; ');
    console.log(`${attack?.name ?? 'quiet'} (${peer}): ${verdict}`);
    console.log(`  ${JSON.stringify(result.counts)}`);
  }
}
printTable(results);
if (chosen.markdown !== undefined) writeFileSync(chosen.markdown, markdownOf(results, ATTACKS));
if (chosen.json !== undefined) writeFileSync(chosen.json, `${JSON.stringify(results, null, 2)}\n`);
const isMissed = results.some(({ peer, misses }) => peer === 'gateway' && misses.length > 0);
process.exit(isMissed ? 1 : 0);
