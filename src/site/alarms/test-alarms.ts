import type { AlarmKind } from '../../domain/alarm.js';
import type { Actor } from '../audit-trail.js';
import type { DeviceKey } from '../site-store.js';

/** An alarm that somebody asks for, to see whether alarms arrive. */
export interface TestAlarmRequest extends DeviceKey {
  readonly kind: AlarmKind;
  readonly actor: Actor;
}

/** Raises alarms as a device would, marked as tests. */
export interface TestAlarms {
  /**
   * Raises an alarm of the device, with `"test": true` in its `data`.
   *
   * @param before called with its id before it is raised; if this rejects, it is not raised
   * @returns the id of the alarm, once it is stored
   * @throws GatewayError `store-unavailable`, and then it is unknown whether the alarm was raised
   */
  raise(request: TestAlarmRequest, before?: (alarmId: string) => Promise<void>): Promise<string>;
}
