import { AlarmStates } from '../ingest/alarm-states.js';
import { Commands } from '../ingest/commands.js';
import { DevicePublishes } from '../ingest/device-publishes.js';
import { HUB_CHECK_MS, Hubs } from '../ingest/hubs.js';
import { InvalidPublishes } from '../ingest/invalid-publishes.js';
import { Presence } from '../ingest/presence.js';
import { TestAlarmPublishes } from '../ingest/test-alarms.js';
import { UNREADABLE_CHECK_MS, UnreadableDevices } from '../ingest/unreadable-devices.js';
import { destinationOf } from '../site/alarms/destinations.js';
import { DrillRunner } from '../watch/drills.js';
import { Escalations } from '../watch/escalations.js';
import { SUPERVISION_CHECK_MS, Supervision } from '../watch/supervision.js';
import type { DeliveryParts } from './delivering.js';
import type { Foundation } from './foundation.js';
import type { SiteParts } from './site-loading.js';
import type { Storage } from './storage.js';

const HEARD_SAVED_MS = 30_000;

/** The parts that handle publishes, and devices that come and go. */
export type IngestParts = Awaited<ReturnType<typeof openIngest>>;

/** Opens the parts that take publishes, and loads when each device was last heard. */
export async function openIngest(
  { config, health, log, releasers, steady, now }: Foundation,
  storage: Storage,
  { model, accessTokens }: SiteParts,
  { deliveries, writer, forwarder, retained }: DeliveryParts,
) {
  const steadyNow = steady.now;
  const store = storage.presence;
  const clocks = { now, steadyNow, runningNow: steady.runningNow };
  const hubs = new Hubs({ model, health, runningNow: steady.runningNow });
  const presence = new Presence({ model, forwarder, retained, store, hubs, log, ...clocks });
  await presence.load();
  releasers.add(() => presence.stop());
  const invalid = new InvalidPublishes({
    deliveries,
    forwarder,
    store: storage.invalidPublishes,
    log,
    steadyNow,
  });
  const unreadable = new UnreadableDevices(model, health);
  releasers.every(UNREADABLE_CHECK_MS, () => unreadable.check());
  const supervision = new Supervision({
    model,
    hearing: presence,
    writer,
    store: storage.supervision,
    health,
    silentAfterSeconds: config.supervision.silentAfterSeconds,
    now,
    steadyNow,
  });
  await supervision.load();
  releasers.every(SUPERVISION_CHECK_MS, () => supervision.check());
  releasers.every(HUB_CHECK_MS, () => hubs.check());
  releasers.every(HEARD_SAVED_MS, () => void presence.saveHeard());
  const { escalations: configured } = config;
  const escalations = new Escalations({
    escalations: configured,
    store: storage.escalations,
    writer,
    log,
    now,
    steadyNow,
  });
  const { maxAlarmBytes } = config.mqtt;
  const publishes = new DevicePublishes({
    model,
    writer,
    forwarder,
    invalid,
    unreadable,
    maxAlarmBytes,
    escalations: configured,
    now,
    steadyNow,
  });
  const testAlarms = new TestAlarmPublishes({ publishes, audit: storage.audit, now });
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
    now,
    steadyNow,
  });
  await drills.load();
  const alarmStates = new AlarmStates({
    model,
    accessTokens,
    writer,
    invalid,
    now,
    steadyNow,
    history: storage.history,
    maxBytes: maxAlarmBytes,
  });
  releasers.add(() => alarmStates.stop());
  return {
    presence,
    hubs,
    invalid,
    unreadable,
    supervision,
    escalations,
    commands: new Commands(model, forwarder, steadyNow),
    alarmStates,
    testAlarms,
    drills,
    publishes,
  };
}
