import type {
  Appended,
  LogEntry,
  NewStateChange,
  StateChange,
} from '../../delivery/log/log-entry.js';
import { alarmStateText, type GivenState } from '../../domain/alarm-states.js';
import { uuidBytes } from '../../domain/notation.js';
import { ALARM_STATES_LEVEL, forwardedTopic } from '../../domain/topics.js';
import type { AuditAction } from '../../site/audit-trail.js';
import { recordText } from '../audit/records.js';
import { MAX_AUDITED_CHANGES } from '../change.js';
import type { Keys } from '../keys.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';
import { alarmIdPlace, type ReadPlace, readPlace } from './alarm-records.js';
import {
  type ChangeReply,
  changeReply,
  outcomeOf,
  type ReadStateChange,
} from './alarm-state-records.js';

const changeAlarmState = new Script('change-alarm-state', changeReply);

const ACTIONS: Readonly<Record<GivenState, AuditAction>> = {
  acknowledged: 'alarm.acknowledged',
  resolved: 'alarm.resolved',
};
const ANY_GROUP = '*';
const NOT_APPENDED: Appended = { sequence: 0, isNew: false };

/** Gives alarms their states: entries of the alarm log, which is the history. */
export class AlarmStateLog {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  /** Makes the change in one atomic write, unless it is made; durable when the promise resolves. */
  async append(item: NewStateChange): Promise<Appended> {
    const reply = await this.#run(item);
    item.onOutcome(outcomeOf(reply));
    return appendedOf(item, reply);
  }

  async #run({
    stateChange: change,
    receivedAtMs,
    received,
  }: NewStateChange): Promise<ChangeReply> {
    const keys = this.#keys;
    const { alarmId, deviceId, locationId, state, by, atMs, note = '', groupIds } = change;
    const id = uuidBytes(alarmId);
    const { piece, field } = alarmIdPlace(id);
    return this.#store.run(
      changeAlarmState,
      [
        keys.logSequence('alarms'),
        keys.history,
        keys.auditSequence,
        keys.auditChanges,
        keys.auditDenials,
      ],
      [
        keys.alarmIdsPrefix,
        keys.alarmStatesPrefix,
        keys.receivedPrefix,
        keys.openAlarmIndexPrefix,
        piece,
        field,
        id,
        locationId,
        state,
        JSON.stringify({ id: by.id, name: by.name }),
        note,
        String(atMs),
        String(Math.round(receivedAtMs)),
        auditText(change),
        received?.session ?? '',
        String(received?.packetIdentifier ?? ''),
        deviceId,
        MAX_AUDITED_CHANGES,
        ...(groupIds ?? [ANY_GROUP]),
      ],
    );
  }
}

function auditText({ alarmId, deviceId, locationId, state, atMs, actor }: StateChange): string {
  const action = ACTIONS[state];
  return recordText({
    action,
    actor,
    atMs,
    locationId,
    resourceId: alarmId,
    details: { deviceId },
  });
}

function appendedOf({ stateChange, receivedAtMs }: NewStateChange, reply: ChangeReply): Appended {
  if ('refused' in reply) return NOT_APPENDED;
  const { sequence, isNew, kind, placeText, record } = reply;
  const { alarmId: id, state, by, atMs, note } = stateChange;
  const made = record[state];
  const place = readPlace(placeText);
  // Another change has made it before, and announced it.
  const isOwn = isNew || (made?.atMs === atMs && made.by.id === by.id);
  if (!isOwn || kind === undefined || place === undefined) return NOT_APPENDED;
  const change = { id, kind, state, by, atMs, note, steadyAtMs: receivedAtMs, placeText };
  return { sequence, isNew, entry: stateEntry(sequence, change, place) };
}

/** The entry of a change, rendered. */
export function stateEntry(sequence: number, change: ReadStateChange, place: ReadPlace): LogEntry {
  const { kind, steadyAtMs } = change;
  const { location, device, group, contextText } = place;
  return {
    ...{ log: 'alarms', sequence, isStateChange: true, receivedAtMs: steadyAtMs },
    topic: forwardedTopic(location.id, device.id, `${ALARM_STATES_LEVEL}/${kind}`),
    payload: Buffer.from(alarmStateText(change, contextText)),
    locationId: location.id,
    groupId: group?.id ?? null,
  };
}
