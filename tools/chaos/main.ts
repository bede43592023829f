/** Kills, freezes and cuts at random while alarms come, and then compares every alarm with every destination. */
import { parseArgs } from 'node:util';
import { runOneBox } from './one-box.js';
import { runPair } from './pair/run.js';

const USAGE = `usage: npm run chaos -- [--minutes N] [--seed S] [--devices N] [--rate N] [--alarms N] [--kills N] [--upstream-kills N]
       npm run chaos -- --pair [--minutes N] [--seed S] [--devices N] [--rate N] [--replicas N] [--without-replica continue|refuse] [--hurried]`;
const EXIT_USAGE = 2;
const MAX_SEED = 2 ** 31;
const MINUTE_MS = 60_000;
const [KILLS_PER_MINUTE, UPSTREAM_KILLS_PER_MINUTE] = [20, 6];

function options() {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      pair: { type: 'boolean', default: false },
      hurried: { type: 'boolean', default: false },
      'without-replica': { ...text, default: 'continue' },
      ...{ minutes: text, seed: text, devices: text, rate: text, alarms: text },
      ...{ kills: text, 'upstream-kills': text, replicas: text },
    },
  });
  const number = (name: keyof typeof values, otherwise: number) => {
    const value = Number(values[name] ?? otherwise);
    if (Number.isFinite(value) && value >= 0) return value;
    throw new TypeError(`--${name} takes a number`);
  };
  const isPair = values.pair;
  const minutes = number('minutes', isPair ? 20 : 1);
  const minAlarms = number('alarms', 0);
  const enough = Math.ceil(minAlarms / (minutes * 60));
  const without = values['without-replica'];
  if (without !== 'continue' && without !== 'refuse') {
    throw new TypeError('--without-replica takes continue or refuse');
  }
  return {
    isPair,
    durationMs: minutes * MINUTE_MS,
    minAlarms,
    seed: number('seed', Math.floor(Math.random() * MAX_SEED)),
    devices: number('devices', isPair ? 12 : 20),
    alarmsPerSecond: number('rate', Math.max(enough, isPair ? 50 : 100)),
    kills: number('kills', Math.ceil(minutes * KILLS_PER_MINUTE)),
    upstreamKills: number('upstream-kills', Math.ceil(minutes * UPSTREAM_KILLS_PER_MINUTE)),
    replicas: number('replicas', 1),
    withoutReplica: without,
    isHurried: values.hurried,
  } as const;
}

function tell(line: string): void {
  console.log(line);
}

async function main(): Promise<number> {
  let chosen: ReturnType<typeof options>;
  try {
    chosen = options();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${USAGE}`);
    return EXIT_USAGE;
  }
  tell(`chaos: ${JSON.stringify(chosen)}`);
  const { violations, lines } = await (chosen.isPair ? runPair : runOneBox)(chosen, tell);
  for (const line of lines) tell(line);
  return violations.length === 0 ? 0 : 1;
}

process.exit(await main());
