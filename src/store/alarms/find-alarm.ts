import { z } from 'zod';
import { ALARM_KINDS, type AlarmKind } from '../../domain/alarms.js';
import { uuidBytes } from '../../domain/notation.js';
import type { AlarmName } from '../../site/alarms/alarm-history.js';
import type { Keys } from '../keys.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';
import { alarmIdPlace } from './alarm-records.js';

const foundSchema = z.union([
  z.tuple([z.string(), z.coerce.number(), z.string(), z.string()]),
  z.tuple([]),
]);
const findAlarm = new Script('find-alarm', foundSchema);

/** An alarm as found by its id. */
export interface FoundAlarm {
  readonly deviceId: string;
  readonly kind: AlarmKind;
  readonly groupId: string | null;
  readonly sequence: string;
}

/** Finds an alarm by its id; undefined if the location or the device has none with that id. */
export async function findAlarmIn(
  store: Store,
  keys: Keys,
  { locationId, alarmId, deviceId = '' }: AlarmName,
): Promise<FoundAlarm | undefined> {
  const id = uuidBytes(alarmId);
  const { piece, field } = alarmIdPlace(id);
  const scriptKeys = [keys.history, keys.alarmIds(piece)];
  const [device, kindNumber = -1, group, sequence] = await store.run(findAlarm, scriptKeys, [
    field,
    locationId,
    id,
    deviceId,
  ]);
  const kind = ALARM_KINDS[kindNumber];
  if (device === undefined || kind === undefined || sequence === undefined) return undefined;
  return { deviceId: device, kind, groupId: group || null, sequence };
}
