import type { NewAlarm } from '../../../src/delivery/log/log-item.js';
import { alarmText } from '../../../src/domain/alarm-payload.js';
import type { Alarm } from '../../../src/domain/alarms.js';
import type { DeviceContext } from '../../../src/domain/messages.js';
import { forwardedTopic } from '../../../src/domain/topics.js';

/** An alarm as ingest passes it to the log, with a correct wall clock. */
export function newAlarm(alarm: Alarm, context: DeviceContext, receivedAtMs: number): NewAlarm {
  const { device, location, group } = context;
  return {
    topic: forwardedTopic(location.id, device.id, `alarms/${alarm.kind}`),
    payload: Buffer.from(alarmText(alarm, context.text, receivedAtMs)),
    alarm,
    context,
    receivedAtMs,
    wallReceivedAtMs: receivedAtMs,
    receipt: undefined,
    locationId: location.id,
    groupId: group?.id ?? null,
    isSent: false,
  };
}
