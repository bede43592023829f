/** Opens what takes the publishes of devices, hubs and people. */

import type { DeliveryParts } from '../delivery/open.js';
import type { Foundation } from '../foundation.js';
import type { SiteParts } from '../site/open.js';
import type { Storage } from '../store/open.js';
import { AlarmStates } from './alarm-states.js';
import { Commands } from './commands.js';
import { DevicePublishes, UNREADABLE_CHECK_MS, UnreadableDevices } from './device-publishes.js';
import { HUB_CHECK_MS, Hubs } from './hubs.js';
import { InvalidPublishes } from './invalid-publishes.js';
import { Presence } from './presence.js';
import { TestAlarms } from './test-alarms.js';

const HEARD_SAVED_MS = 30_000;

/** The parts that handle publishes, and devices that come and go. */
export type IngestParts = Awaited<ReturnType<typeof openIngest>>;

/** Opens the parts that take publishes, and loads when each device was last heard. */
export async function openIngest(
  { config, escalations, health, log, releasers, steady, now }: Foundation,
  storage: Storage,
  { model, accessTokens }: SiteParts,
  { router, writer, forwarder, retained }: DeliveryParts,
) {
  const steadyNow = steady.now;
  const store = storage.presence;
  const clocks = { now, steadyNow, runningNow: steady.runningNow };
  const hubs = new Hubs({ model, health, runningNow: steady.runningNow });
  const presence = new Presence({ model, forwarder, retained, store, hubs, log, ...clocks });
  await presence.load();
  releasers.add(() => presence.stop());
  const invalid = new InvalidPublishes({
    router,
    forwarder,
    store: storage.invalidPublishes,
    log,
    steadyNow,
  });
  const unreadable = new UnreadableDevices(model, health);
  releasers.every(UNREADABLE_CHECK_MS, () => unreadable.check());
  releasers.every(HUB_CHECK_MS, () => hubs.check());
  releasers.every(HEARD_SAVED_MS, () => void presence.saveHeard());
  const { maxAlarmBytes } = config.mqtt;
  const publishes = new DevicePublishes({
    model,
    writer,
    forwarder,
    invalid,
    unreadable,
    maxAlarmBytes,
    escalations,
    now,
    steadyNow,
  });
  const testAlarms = new TestAlarms({ publishes, audit: storage.audit, now });
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
    commands: new Commands(model, forwarder, steadyNow),
    alarmStates,
    testAlarms,
    publishes,
  };
}
