import { parseArgs } from 'node:util';

/** Options of a run. */
export interface ChaosOptions {
  /** Duration of publishing and killing; draining comes afterwards. */
  readonly durationMs: number;
  readonly kills: number;
  /** Kills of the bridge's upstream. */
  readonly upstreamKills: number;
  /** Publishing continues after the last kill until there are this many alarms. */
  readonly minAlarms: number;
  readonly seed: number;
  readonly devices: number;
  readonly alarmsPerSecond: number;
}

const DEFAULT_MINUTES = 1;
const DEFAULT_KILLS_PER_MINUTE = 20;
const DEFAULT_UPSTREAM_KILLS_PER_MINUTE = 6;
const DEFAULT_DEVICES = 20;
const DEFAULT_ALARMS_PER_SECOND = 100;
const MAX_SEED = 2 ** 31;
const MINUTE_MS = 60_000;

export const USAGE =
  'usage: npm run chaos -- [--minutes N] [--kills N] [--upstream-kills N] [--alarms N] [--seed S] [--devices N] [--rate N]';

/** @throws TypeError when an option is unknown or not a number */
export function readOptions(args: readonly string[]): ChaosOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    // npm passes on a second `--`.
    args: args.filter((arg) => arg !== '--'),
    options: {
      minutes: text,
      kills: text,
      'upstream-kills': text,
      alarms: text,
      seed: text,
      devices: text,
      rate: text,
    },
  });
  const minutes = number(values.minutes, DEFAULT_MINUTES, 'minutes');
  const durationMs = minutes * MINUTE_MS;
  const minAlarms = number(values.alarms, 0, 'alarms');
  const enough = Math.ceil(minAlarms / (durationMs / 1000));
  return {
    durationMs,
    kills: number(values.kills, Math.ceil(minutes * DEFAULT_KILLS_PER_MINUTE), 'kills'),
    upstreamKills: number(
      values['upstream-kills'],
      Math.ceil(minutes * DEFAULT_UPSTREAM_KILLS_PER_MINUTE),
      'upstream-kills',
    ),
    minAlarms,
    seed: number(values.seed, Math.floor(Math.random() * MAX_SEED), 'seed'),
    devices: number(values.devices, DEFAULT_DEVICES, 'devices'),
    alarmsPerSecond: number(values.rate, Math.max(enough, DEFAULT_ALARMS_PER_SECOND), 'rate'),
  };
}

function number(text: string | undefined, otherwise: number, name: string): number {
  const value = text === undefined ? otherwise : Number(text);
  if (Number.isFinite(value) && value >= 0) return value;
  throw new TypeError(`--${name} takes a number`);
}
