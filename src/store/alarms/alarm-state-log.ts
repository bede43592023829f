import type {
  Appended,
  BatchIdentity,
  Destination,
  DestinationsOf,
  FrozenBatch,
  Written,
} from '../../delivery/log/batch.js';
import type { LogEntry } from '../../delivery/log/log-entry.js';
import type { NewStateChange, StateChange } from '../../delivery/log/log-item.js';
import { alarmStateText, type GivenState } from '../../domain/alarm-states.js';
import { uuidBytes } from '../../domain/notation.js';
import { ALARM_STATES_LEVEL, forwardedTopic } from '../../domain/topics.js';
import type { AuditAction } from '../../site/audit-trail.js';
import { recordText } from '../audit.js';
import type { Keys } from '../keys.js';
import { packRows, Script } from '../scripts.js';
import { MAX_AUDITED_CHANGES, type ScriptArgument, type Store } from '../store.js';
import { alarmIdPlace, type ReadPlace, readPlace } from './alarm-records.js';
import {
  type Answer,
  changeReply,
  outcomeOf,
  type ReadStateChange,
} from './alarm-state-records.js';
import { findAlarmIn } from './find-alarm.js';

const changeAlarmState = new Script('change-alarm-state', changeReply);

const ACTIONS: Readonly<Record<GivenState, AuditAction>> = {
  acknowledged: 'alarm.acknowledged',
  resolved: 'alarm.resolved',
};
const ANY_GROUP = '*';
const NOT_APPENDED: Appended = { sequence: 0, isNew: false };

/** Sets the states of alarms, as entries of the history. */
export class AlarmStateLog {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  /** Freezes a change. Finds the alarm: its kind and group decide who gets the entry. */
  async freeze<To extends Destination>(
    item: NewStateChange,
    destinationsOf: DestinationsOf<To>,
    identity: BatchIdentity,
  ): Promise<FrozenBatch<To>> {
    const { locationId, deviceId } = item.stateChange;
    const alarm = await findAlarmIn(this.#store, this.#keys, item.stateChange);
    const level = `${ALARM_STATES_LEVEL}/${alarm?.kind}`;
    const topic = forwardedTopic(locationId, deviceId, level);
    const destinations = alarm === undefined ? [] : destinationsOf({ ...item, ...alarm, topic });
    const names = destinations.map(({ key }) => key);
    const args = this.#argumentsOf(item, identity, names);
    return { destinations: [destinations], write: () => this.#write(item, args, names) };
  }

  /** Makes the change in one atomic write, unless already made. Durable when the promise resolves. */
  async #write(
    item: NewStateChange,
    args: readonly ScriptArgument[],
    names: readonly string[],
  ): Promise<Written> {
    const { history, auditSequence, auditChanges, auditDenials } = this.#keys;
    const counter = this.#keys.logSequence('alarms');
    const keys = [counter, history, auditSequence, auditChanges, auditDenials];
    const reply = await this.#store.run(changeAlarmState, keys, args);
    if ('unusable' in reply) return reply;
    item.onOutcome(outcomeOf(reply));
    const lengths = 'lengths' in reply ? reply.lengths : [];
    const backlogs = lengths.map((alarms, index) => [names[index] ?? '', { alarms }] as const);
    return { appended: [appendedOf(item, reply)], backlogs: new Map(backlogs) };
  }

  #argumentsOf(
    item: NewStateChange,
    { tag, after }: BatchIdentity,
    names: readonly string[],
  ): ScriptArgument[] {
    const { stateChange: change, receivedAtMs, received } = item;
    const keys = this.#keys;
    const { alarmId, deviceId, locationId, state, by, atMs, note = '', groupIds } = change;
    const id = uuidBytes(alarmId);
    const { piece, field } = alarmIdPlace(id);
    return [
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
      keys.sessionPrefix,
      keys.queuePrefix,
      tag,
      packRows(names.map((name) => [name])),
      after,
      ...(groupIds ?? [ANY_GROUP]),
    ];
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

function appendedOf({ stateChange, receivedAtMs }: NewStateChange, reply: Answer): Appended {
  if ('refused' in reply) return NOT_APPENDED;
  const { sequence, isNew, kind, placeText, record } = reply;
  const { alarmId: id, state, by, atMs, note } = stateChange;
  const made = record[state];
  const place = readPlace(placeText);
  // An earlier change already made and announced it.
  const isOwn = isNew || (made?.atMs === atMs && made.by.id === by.id);
  if (!isOwn || kind === undefined || place === undefined) return NOT_APPENDED;
  const change = { id, kind, state, by, atMs, note, steadyAtMs: receivedAtMs, placeText };
  return { sequence, isNew, entry: stateEntry({ sequence, item: 0 }, change, place) };
}

/** The number of an entry, and its item in a queue. */
export type EntryPlace = Pick<LogEntry, 'sequence' | 'item'>;

/** The rendered entry of a change. */
export function stateEntry(at: EntryPlace, change: ReadStateChange, place: ReadPlace): LogEntry {
  const { kind, steadyAtMs } = change;
  const { location, device, group, contextText } = place;
  return {
    ...at,
    log: 'alarms',
    isNeverLate: true,
    receivedAtMs: steadyAtMs,
    topic: forwardedTopic(location.id, device.id, `${ALARM_STATES_LEVEL}/${kind}`),
    payload: Buffer.from(alarmStateText(change, contextText)),
    locationId: location.id,
    groupId: group?.id ?? null,
  };
}
