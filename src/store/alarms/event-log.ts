import { z } from 'zod';
import type {
  BatchIdentity,
  Destination,
  DestinationsOf,
  FrozenBatch,
  Written,
} from '../../delivery/log/batch.js';
import type { LogEntry } from '../../delivery/log/log-entry.js';
import type { NewEvent } from '../../delivery/log/log-item.js';
import { uuidBytes } from '../../domain/notation.js';
import { forwardedTopic } from '../../domain/topics.js';
import type { Keys } from '../keys.js';
import { type Packable, packDestinations, packRows, Script } from '../scripts.js';
import type { ScriptArgument, Store } from '../store.js';
import { type ReadPlace, valueNamed } from './alarm-records.js';
import type { EntryPlace } from './alarm-state-log.js';

const numbers = z.array(z.number());
const appendEvents = new Script(
  'append-events',
  z.tuple([numbers, numbers]).rest(z.array(z.string())),
);

/** Appends events of the gateway itself to the history: findings of supervision, and escalations. */
export class EventLog {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  freeze<To extends Destination>(
    events: readonly NewEvent[],
    destinationsOf: DestinationsOf<To>,
    { tag, after }: BatchIdentity,
  ): FrozenBatch<To> {
    const destinations = events.map(destinationsOf);
    const { names, packedNames, packedSets, setOfItems } = packDestinations(destinations);
    const { alarmStatesPrefix, sessionPrefix, queuePrefix } = this.#keys;
    const rows = events.map((event, index) => rowOf(event, setOfItems[index] ?? 0));
    const args: ScriptArgument[] = [alarmStatesPrefix, sessionPrefix, queuePrefix, tag];
    args.push(packedNames, packedSets, packRows(rows), after);
    return { destinations, write: () => this.#write(args, names) };
  }

  async #write(args: readonly ScriptArgument[], names: readonly string[]): Promise<Written> {
    const { history, supervision, escalationsDue, escalationsMade } = this.#keys;
    const counter = this.#keys.logSequence('alarms');
    const keys = [counter, history, supervision, escalationsDue, escalationsMade];
    const [sequences, lengths, unusable] = await this.#store.run(appendEvents, keys, args);
    if (unusable !== undefined) return { unusable };
    const appended = sequences.map((sequence) => ({
      sequence: Math.abs(sequence),
      isNew: sequence > 0,
    }));
    const backlogs = new Map(names.map((name, index) => [name, { alarms: lengths[index] ?? 0 }]));
    return { appended, backlogs };
  }
}

/** An event as append-events.lua takes it. */
function rowOf({ event, receivedAtMs }: NewEvent, set: number): Packable[] {
  const { level, members, placeText, atMs, subject } = event;
  const times = [String(Math.round(atMs)), String(Math.round(receivedAtMs))];
  const row: Packable[] = [set, level, members, placeText, ...times, subject.type];
  if (subject.type === 'supervision') {
    row.push(subject.deviceId, subject.state, subject.id, String(Math.round(subject.lastSeenAtMs)));
  } else {
    row.push(subject.member, String(subject.alarmSequence), uuidBytes(subject.alarmId));
  }
  return row;
}

/** An event as read from the log. */
export interface ReadEvent {
  readonly level: string;
  readonly members: string;
  readonly placeText: string;
  /** By the steady clock. */
  readonly steadyAtMs: number;
}

/** Reads the fields and values of an entry; undefined if it is not an event. */
export function readEvent(fields: readonly Buffer[]): ReadEvent | undefined {
  const text = (name: string) => valueNamed(fields, name)?.toString() ?? '';
  const [level, steadyAtMs] = [text('l'), Number(text('t'))];
  if (level === '' || Number.isNaN(steadyAtMs)) return undefined;
  return { level, members: text('m'), placeText: text('c'), steadyAtMs };
}

/** The rendered entry of an event. */
export function eventEntry(at: EntryPlace, event: ReadEvent, place: ReadPlace): LogEntry {
  const { location, device, group, contextText } = place;
  return {
    ...at,
    log: 'alarms',
    isNeverLate: true,
    receivedAtMs: event.steadyAtMs,
    topic: forwardedTopic(location.id, device.id, event.level),
    payload: Buffer.from(`{${event.members},${contextText}}`),
    locationId: location.id,
    groupId: group?.id ?? null,
  };
}
