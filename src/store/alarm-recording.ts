import type { AlarmToRecord } from '../delivery/recorder.js';
import { alarmIdPlace } from './alarm-ids.js';
import { AlarmPlaces } from './alarm-places.js';
import { alarmRecordValues, kindNumber } from './alarm-records.js';
import type { Keys } from './keys.js';

/** What `record-alarms.lua` is told of one alarm. */
export interface AlarmRecordingCall {
  readonly keys: readonly string[];
  /** All but those of the log entry. */
  readonly arguments: readonly (string | number | Buffer)[];
}

/** Puts together what an alarm is recorded with. */
export class AlarmRecording {
  readonly #keys: Keys;
  readonly #places = new AlarmPlaces();

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  callOf(record: AlarmToRecord): AlarmRecordingCall {
    const { alarm, context, receipt } = record;
    const { device, location, group } = context;
    const groupId = group?.id ?? null;
    const kind = kindNumber(alarm.kind);
    const id = alarmIdPlace(device.id, alarm.id);
    const place = this.#places.of(context);
    return {
      keys: [
        this.#keys.alarmIds(id.piece),
        this.#keys.receipts(device.id),
        this.#keys.alarmIndex(location.id, device.id, groupId, kind),
        this.#keys.alarmIndex(location.id, undefined, groupId, kind),
        this.#keys.alarmPlace(place.digest),
        this.#keys.alarmGroups(location.id, device.id),
        this.#keys.alarmGroups(location.id, undefined),
      ],
      arguments: [
        id.field,
        receipt?.packetIdentifier ?? '',
        receipt?.payloadDigest ?? '',
        receipt?.sentAgain === true ? 1 : 0,
        alarm.detectedAtMs,
        groupId ?? '',
        place.text,
        ...alarmRecordValues(record, place.digest),
      ],
    };
  }
}
