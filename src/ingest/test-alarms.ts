import type { AlarmKind } from '../domain/alarm.js';
import { newId } from '../domain/ids.js';
import { formatTime } from '../domain/time.js';
import { deviceTopic } from '../domain/topics.js';
import { GatewayError } from '../errors.js';
import type { Actor, AuditTrail } from '../site/audit-trail.js';
import { within } from '../site/clock/pause.js';
import type { DeviceKey } from '../site/site-model.js';
import type { DevicePublish, DevicePublishes } from './device-publishes.js';

/** As for states: an HTTP request waits no longer for a store that does not answer. */
const TIMEOUT_MS = 3_000;

/** An alarm that somebody asks for, to see whether alarms arrive. */
export interface TestAlarmRequest extends DeviceKey {
  readonly kind: AlarmKind;
  readonly actor: Actor;
}

export interface TestAlarmsOptions {
  readonly publishes: Pick<DevicePublishes, 'accept'>;
  readonly audit: AuditTrail;
  readonly now: () => number;
}

/** Puts test alarms on the path of every alarm, at the point where a device's publish comes in. */
export class TestAlarms {
  readonly #options: TestAlarmsOptions;

  constructor(options: TestAlarmsOptions) {
    this.#options = options;
  }

  /**
   * Raises an alarm of the device, with `"test": true` in its `data`.
   *
   * @param before called with its id before it is raised; if this rejects, it is not raised
   * @returns the id of the alarm, once it is stored
   * @throws GatewayError `store-unavailable`, and then it is unknown whether the alarm was raised
   */
  async raise(
    { locationId, deviceId, kind, actor }: TestAlarmRequest,
    before?: (alarmId: string) => Promise<void>,
  ): Promise<string> {
    const { publishes, audit, now } = this.#options;
    const id = newId();
    const atMs = now();
    // First: every test alarm has a record of who asked for it.
    await audit.record([
      { action: 'alarm.tested', actor, atMs, locationId, resourceId: deviceId, details: { kind } },
    ]);
    await before?.(id);
    const alarm = { id, kind, detectedAt: formatTime(atMs), test: true };
    const topic = deviceTopic(deviceId, 'alarms');
    const publish: DevicePublish = {
      deviceId,
      topic,
      target: { type: 'alarm', deviceId, kind: undefined },
      payload: Buffer.from(JSON.stringify(alarm)),
      qos: 1,
      retain: false,
      packet: undefined,
      properties: undefined,
      publisher: undefined,
      isTest: true,
    };
    const stored = new Promise<boolean>((resolve) => publishes.accept(publish, resolve));
    if ((await within(stored, TIMEOUT_MS)) === true) return id;
    throw new GatewayError('store-unavailable', 'The store does not answer.');
  }
}
