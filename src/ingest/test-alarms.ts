import { newId } from '../domain/ids.js';
import { formatTime } from '../domain/time.js';
import { deviceTopic } from '../domain/topics.js';
import { GatewayError } from '../errors.js';
import type { TestAlarmRequest, TestAlarms } from '../site/alarms/test-alarms.js';
import type { AuditTrail } from '../site/audit-trail.js';
import { within } from '../site/clock/pause.js';
import type { DevicePublish, DevicePublishes } from './device-publishes.js';

/** As for states: an HTTP request waits no longer for a store that does not answer. */
const TIMEOUT_MS = 3_000;

export interface TestAlarmsOptions {
  readonly publishes: Pick<DevicePublishes, 'accept'>;
  readonly audit: AuditTrail;
  readonly now: () => number;
}

/** Puts test alarms on the path of every alarm, at the point where a device's publish comes in. */
export class TestAlarmPublishes implements TestAlarms {
  readonly #options: TestAlarmsOptions;

  constructor(options: TestAlarmsOptions) {
    this.#options = options;
  }

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
