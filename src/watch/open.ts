/** Opens the watch over silent devices and unacknowledged alarms, and the drills. */

import type { Writer } from '../delivery/writer.js';
import type { Foundation } from '../foundation.js';
import type { TestAlarms } from '../ingest/test-alarms.js';
import { repeat } from '../releasers.js';
import type { SiteParts } from '../site/open.js';
import type { Storage } from '../store/open.js';
import { DRILL_CHECK_MS, Drills } from './drills.js';
import { ESCALATION_CHECK_MS, Escalations } from './escalations.js';
import { type Hearing, SUPERVISION_CHECK_MS, Supervision } from './supervision.js';

/** The parts that notice what nobody sends. */
export type WatchParts = Awaited<ReturnType<typeof openWatch>>;

/** Loads what supervision, escalations and drills have noted. `start` begins those that send alarms. */
export async function openWatch(
  { config, escalations, health, log, releasers, steady, now }: Foundation,
  storage: Storage,
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
  const escalating = new Escalations({
    escalations,
    store: storage.escalations,
    writer,
    log,
    ...clocks,
  });
  const drills = new Drills({
    model,
    testAlarms,
    history: storage.alarms,
    store: storage.drills,
    supervision,
    destinationOf: (key) => accessTokens.destinationOf(key),
    health,
    log,
    ...clocks,
  });
  drills.plan(config.drills);
  await drills.load();
  const start = () => {
    releasers.every(DRILL_CHECK_MS, () => drills.check());
    releasers.add(repeat(() => escalating.check(), ESCALATION_CHECK_MS));
  };
  return { supervision, drills, start };
}
