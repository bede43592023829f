/** Opens the watch over silent devices and unacknowledged alarms, and the drills. */
import type { Writer } from '../delivery/writer.js';
import type { Foundation } from '../foundation.js';
import { repeat } from '../releasers.js';
import type { AlarmHistory } from '../site/alarms/alarm-history.js';
import { destinationOf } from '../site/alarms/destinations.js';
import type { DrillStore } from '../site/alarms/drills.js';
import type { TestAlarms } from '../site/alarms/test-alarms.js';
import type { SiteParts } from '../site/open.js';
import { DRILL_CHECK_MS, DrillRunner } from './drills.js';
import { ESCALATION_CHECK_MS, type EscalationStore, Escalations } from './escalations.js';
import {
  type Hearing,
  SUPERVISION_CHECK_MS,
  Supervision,
  type SupervisionStore,
} from './supervision.js';

/** The parts that notice what nobody sends. */
export type WatchParts = Awaited<ReturnType<typeof openWatch>>;

/** The parts of the store that they use. */
export interface WatchStores {
  readonly supervision: SupervisionStore;
  readonly escalations: EscalationStore;
  readonly drills: DrillStore;
  readonly alarms: AlarmHistory;
}

/** Loads what supervision, escalations and drills have noted. `start` begins those that send alarms. */
export async function openWatch(
  { config, health, log, releasers, steady, now }: Foundation,
  storage: WatchStores,
  { model, accessTokens }: SiteParts,
  writer: Writer,
  {
    presence: hearing,
    testAlarms,
  }: { readonly presence: Hearing; readonly testAlarms: TestAlarms },
) {
  const { silentAfterSeconds } = config.supervision;
  const clocks = { now, steadyNow: steady.now };
  const store = storage.supervision;
  const supervision = new Supervision({
    model,
    hearing,
    writer,
    store,
    health,
    silentAfterSeconds,
    ...clocks,
  });
  await supervision.load();
  releasers.every(SUPERVISION_CHECK_MS, () => supervision.check());
  const escalations = new Escalations({
    escalations: config.escalations,
    store: storage.escalations,
    writer,
    log,
    ...clocks,
  });
  const drills = new DrillRunner({
    plans: config.drills,
    model,
    testAlarms,
    history: storage.alarms,
    store: storage.drills,
    supervision,
    destinationOf: (key) => destinationOf({ model, accessTokens }, key),
    health,
    log,
    ...clocks,
  });
  await drills.load();
  const start = () => {
    releasers.every(DRILL_CHECK_MS, () => drills.check());
    releasers.add(repeat(() => escalations.check(), ESCALATION_CHECK_MS));
  };
  return { supervision, escalations, drills, start };
}
