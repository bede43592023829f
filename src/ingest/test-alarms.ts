import { formatTime, newId } from '../domain/notation.js';
import { deviceTopic } from '../domain/topics.js';
import { GatewayError } from '../errors.js';
import type { AuditTrail } from '../site/audit-trail.js';
import type { TestAlarmRequest, TestAlarms } from '../site/test-alarms.js';
import type { DevicePublish, DevicePublishes } from './device-publishes.js';

/** As for states: a store that does not answer lets nobody wait for longer who asks over HTTP. */
const TIMEOUT_MS = 3_000;

export interface TestAlarmsOptions {
  readonly publishes: Pick<DevicePublishes, 'accept'>;
  readonly audit: AuditTrail;
  readonly now: () => number;
}

/** Puts test alarms on the way of every alarm, at the place where a device's publish comes in. */
export class TestAlarmPublishes implements TestAlarms {
  readonly #options: TestAlarmsOptions;

  constructor(options: TestAlarmsOptions) {
    this.#options = options;
  }

  async raise({ locationId, deviceId, kind, actor }: TestAlarmRequest): Promise<string> {
    const { audit, now } = this.#options;
    const id = newId();
    const atMs = now();
    // First, so that no test alarm is without a record of who asked for it.
    await audit.record([
      { action: 'alarm.tested', actor, atMs, locationId, resourceId: deviceId, details: { kind } },
    ]);
    const alarm = { id, kind, detectedAt: formatTime(atMs), test: true };
    const topic = deviceTopic(deviceId, 'alarms');
    await this.#publish({
      ...{ deviceId, topic, target: { type: 'alarm', deviceId } },
      payload: Buffer.from(JSON.stringify(alarm)),
      ...{ qos: 1, retain: false, packet: undefined, received: undefined },
    });
    return id;
  }

  #publish(publish: DevicePublish): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(notStored()), TIMEOUT_MS);
      this.#options.publishes.accept(publish, (isStored) => {
        clearTimeout(timer);
        if (isStored) resolve();
        else reject(notStored());
      });
    });
  }
}

function notStored(): GatewayError {
  return new GatewayError('store-unavailable', 'The store does not answer.');
}
