import type { Offer } from '../../../../test/harness/load/plan.js';
import { AEDES } from '../contestants/aedes.js';
import { CONTESTANTS } from '../contestants/all.js';
import type { Contestant } from '../contestants/contestant.js';
import { ENRICHER } from '../contestants/enricher.js';
import { GATEWAY } from '../contestants/gateway.js';
import { DEVICES, openLoad } from '../loads.js';
import type { Measure, Trial } from '../measure.js';
import type { Scale } from '../scale.js';
import { SUSTAINED_METRICS, sustain } from '../sustain.js';

interface SustainedCase {
  readonly name: string;
  readonly isClean: boolean;
  readonly readers: number;
  readonly underWayTo: Offer['underWayTo'];
}

export const ONE_DURABLE = caseOf(1, 'durable');
export const FIVE_DURABLE = caseOf(5, 'durable');
/**
 * The window extends to the subscriber, which shows what a contestant forwards when it is not flooded.
 * Otherwise hardly anything gets through the enricher: Mosquitto reads one packet of each client in
 * turn, and for fifty publishes reads half of what the enricher sends for one alarm.
 */
export const HELD_BACK: SustainedCase = {
  ...ONE_DURABLE,
  name: `${ONE_DURABLE.name}, held back`,
  underWayTo: 'readers',
};

const CASES: readonly SustainedCase[] = [
  ONE_DURABLE,
  HELD_BACK,
  FIVE_DURABLE,
  caseOf(20, 'durable'),
  ...[1, 5, 20].map((readers) => caseOf(readers, 'clean')),
];
/** The cases that goals are about, or that help to understand them. */
const QUICK: ReadonlyMap<SustainedCase, readonly Contestant[]> = new Map([
  [ONE_DURABLE, CONTESTANTS],
  [HELD_BACK, [GATEWAY, ENRICHER]],
  [FIVE_DURABLE, [GATEWAY, AEDES]],
]);

export const SUSTAINED: Measure = {
  name: 'sustained',
  title: `Alarms a second from ${DEVICES} devices, QoS 1`,
  metrics: SUSTAINED_METRICS,
  trials: (scale) =>
    CASES.flatMap((one) => {
      const contestants = scale.isQuick ? (QUICK.get(one) ?? []) : CONTESTANTS;
      return contestants.map((contestant) => trial(contestant, one, scale));
    }),
};

function caseOf(readers: number, session: 'durable' | 'clean'): SustainedCase {
  const name = `${readers} ${session} ${readers > 1 ? 'subscribers' : 'subscriber'}`;
  return { name, readers, isClean: session === 'clean', underWayTo: 'acknowledgement' };
}

function trial(contestant: Contestant, one: SustainedCase, scale: Scale): Trial {
  const { name, isClean, readers, underWayTo } = one;
  return {
    contestant: contestant.name,
    run: async (cleanups) => {
      const broker = await contestant.start(DEVICES, cleanups);
      const load = await openLoad(broker, { kind: 'falls', qos: 1, isClean, readers }, cleanups);
      const found = await sustain(load, broker.processIds, scale, underWayTo);
      return [{ case: name, ...found }];
    },
  };
}
