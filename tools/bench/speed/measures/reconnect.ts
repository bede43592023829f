import type { Cleanups } from '../cleanups.js';
import { type Connecting, Connections } from '../connections.js';
import { AEDES } from '../contestants/aedes.js';
import type { Contestant, RestartableBroker } from '../contestants/contestant.js';
import { GATEWAY } from '../contestants/gateway.js';
import type { Measure, Outcome, Trial } from '../measure.js';
import type { Scale } from '../scale.js';
import { count, duration } from '../show.js';

const GENTLY: Connecting = { atATime: 200, timeoutMs: null, boundMs: 60_000 };
const BOUND_MS = 120_000;

interface Patience {
  readonly name: string;
  readonly timeoutMs: number | null;
}

export const IMPATIENT: Patience = { name: 'timing out after 10 s', timeoutMs: 10_000 };
export const PATIENT: Patience = { name: 'never timing out', timeoutMs: null };

/** The name of the case with this many devices of this patience. */
export function caseOf(devices: number, { name }: Patience): string {
  return `${count(devices)} devices, ${name}`;
}

export const RECONNECT: Measure = {
  name: 'reconnect',
  title: 'All devices reconnect at once, until the last has its CONNACK',
  maxRounds: 2,
  metrics: [
    { key: 'durationMs', title: 'all back after', better: 'less', show: duration },
    { key: 'attempts', title: 'attempts', better: 'less', show: count },
  ],
  trials: (scale) =>
    scale.reconnecting.flatMap((devices) =>
      [GATEWAY, AEDES].map((contestant) => trial(contestant, devices, scale)),
    ),
};

function trial(
  contestant: Contestant<RestartableBroker>,
  devices: number,
  { isQuick }: Scale,
): Trial {
  const patiences = isQuick ? [IMPATIENT] : [IMPATIENT, PATIENT];
  return {
    contestant: contestant.name,
    run: async (cleanups) => {
      const broker = await contestant.start(devices, cleanups);
      const before = await Connections.open(broker, GENTLY, cleanups);
      const outcomes: Outcome[] = [];
      let connected = before;
      for (const patience of patiences) {
        // The earlier connections must end, or there would be more connections than devices.
        await Promise.all([broker.restart(), connected.close()]);
        connected = await reconnect(broker, patience, cleanups);
        outcomes.push({ case: caseOf(devices, patience), ...found(connected) });
      }
      return outcomes;
    },
  };
}

function reconnect(broker: RestartableBroker, { timeoutMs }: Patience, cleanups: Cleanups) {
  return Connections.open(broker, { atATime: null, timeoutMs, boundMs: BOUND_MS }, cleanups);
}

function found({ result }: Connections): Pick<Outcome, 'values' | 'notes'> {
  const { durationMs, attempts, missing } = result;
  const notes = missing > 0 ? [`given up: ${count(missing)} were not back`] : [];
  return { values: { durationMs, attempts }, notes };
}
