import { parseArgs } from 'node:util';
import type { PairChaosOptions } from './run.js';

const DEFAULT_MINUTES = 20;
const DEFAULT_DEVICES = 12;
const DEFAULT_ALARMS_PER_SECOND = 50;
const MAX_SEED = 2 ** 31;
const MINUTE_MS = 60_000;

export const PAIR_USAGE =
  'usage: npm run chaos -- --pair [--minutes N] [--seed S] [--devices N] [--rate N] [--replicas N] [--without-replica continue|refuse] [--hurried]';

/** @throws TypeError when an option is unknown or has no valid value */
export function readPairOptions(args: readonly string[]): PairChaosOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    // npm passes on a second `--`.
    args: args.filter((arg) => arg !== '--'),
    options: {
      pair: { type: 'boolean' },
      hurried: { type: 'boolean', default: false },
      minutes: text,
      seed: text,
      devices: text,
      rate: text,
      replicas: text,
      'without-replica': { ...text, default: 'continue' },
    },
  });
  return {
    durationMs: number(values.minutes, DEFAULT_MINUTES, 'minutes') * MINUTE_MS,
    minAlarms: 0,
    seed: number(values.seed, Math.floor(Math.random() * MAX_SEED), 'seed'),
    devices: number(values.devices, DEFAULT_DEVICES, 'devices'),
    alarmsPerSecond: number(values.rate, DEFAULT_ALARMS_PER_SECOND, 'rate'),
    replicas: number(values.replicas, 1, 'replicas'),
    withoutReplica: withoutReplica(values['without-replica']),
    isHurried: values.hurried,
  };
}

function withoutReplica(text: string): 'continue' | 'refuse' {
  if (text === 'continue' || text === 'refuse') return text;
  throw new TypeError('--without-replica takes continue or refuse');
}

function number(text: string | undefined, otherwise: number, name: string): number {
  const value = text === undefined ? otherwise : Number(text);
  if (Number.isFinite(value) && value >= 0) return value;
  throw new TypeError(`--${name} takes a number`);
}
