import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { LogEntry, LogName, LogReader } from '../delivery/log-entry.js';
import type { AlarmToRecord, MessageToAppend, Recorded, Recorder } from '../delivery/recorder.js';
import { AlarmRecording } from './alarm-recording.js';
import { writing } from './failures.js';
import { GroupCommit } from './group-commit.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';

const recordAlarms = new Script('record-alarms', z.array(z.number()));
const appendMessage = new Script('append-message', z.number());

/** What `record-alarms.lua` answers for each alarm: whether it is new, and its sequence. */
const RESULTS_PER_ALARM = 2;
/** Longer than any device goes on sending one alarm again. */
const RECEIPTS_KEPT_SECONDS = 7 * 24 * 3600;

const entries = z.array(z.tuple([z.instanceof(Buffer), z.array(z.instanceof(Buffer))]));

/**
 * The logs in Redis, one stream each. Everything is appended over one connection: its answers come
 * in the order of the log, and so the entries reach the memory in order.
 */
export class LogStore implements Recorder, LogReader {
  readonly #writer: Redis;
  readonly #reader: Redis;
  readonly #keys: Keys;
  readonly #recording: AlarmRecording;
  readonly #alarms = new GroupCommit<AlarmToRecord, Recorded>((alarms) => this.#record(alarms));

  /**
   * @param writer for appending only
   * @param reader for reading, so that a page of a long backlog does not hold an alarm up
   */
  constructor(writer: Redis, reader: Redis, keys: Keys) {
    this.#writer = writer;
    this.#reader = reader;
    this.#keys = keys;
    this.#recording = new AlarmRecording(keys);
  }

  recordAlarm(alarm: AlarmToRecord): Promise<Recorded> {
    return this.#alarms.submit(alarm);
  }

  async appendMessage(message: MessageToAppend): Promise<Recorded> {
    const keys = [this.#keys.logSequence('messages'), this.#keys.log('messages')];
    const sequence = await writing(() =>
      appendMessage.run(this.#writer, keys, entryFields(message)),
    );
    return { entry: { ...message, log: 'messages', sequence }, isNew: true };
  }

  async read(log: LogName, afterSequence: number, count: number): Promise<LogEntry[]> {
    const reply = await this.#reader.xrangeBuffer(
      this.#keys.log(log),
      `(${afterSequence}-0`,
      '+',
      'COUNT',
      count,
    );
    return entries.parse(reply).map(([id, fields]) => readEntry(log, id, fields));
  }

  async pick(log: LogName, sequences: readonly number[]): Promise<LogEntry[]> {
    const key = this.#keys.log(log);
    const replies = await Promise.all(
      sequences.map((sequence) => this.#reader.xrangeBuffer(key, `${sequence}-0`, `${sequence}-0`)),
    );
    return entries.parse(replies.flat()).map(([id, fields]) => readEntry(log, id, fields));
  }

  async lastSequence(log: LogName): Promise<number> {
    return Number((await this.#reader.get(this.#keys.logSequence(log))) ?? 0);
  }

  /** Removes the entries up to and including this one. */
  async trim(log: LogName, upToSequence: number): Promise<void> {
    await this.#reader.xtrim(this.#keys.log(log), 'MINID', `${upToSequence + 1}-0`);
  }

  async #record(alarms: readonly AlarmToRecord[]): Promise<Recorded[]> {
    const keys = this.#keys;
    const allKeys = [keys.logSequence('alarms'), keys.history, keys.log('alarms')];
    const allArguments: (string | number | Buffer)[] = [RECEIPTS_KEPT_SECONDS];
    for (const alarm of alarms) {
      const call = this.#recording.callOf(alarm);
      allKeys.push(...call.keys);
      allArguments.push(...call.arguments, ...entryValues(messageOf(alarm)));
    }
    const results = await writing(() => recordAlarms.run(this.#writer, allKeys, allArguments));
    return alarms.map((alarm, index) => {
      const [isNew, sequence = 0] = results.slice(index * RESULTS_PER_ALARM);
      return { entry: { ...messageOf(alarm), log: 'alarms', sequence }, isNew: isNew === 1 };
    });
  }
}

function messageOf({ topic, payload, steadyAtMs, context }: AlarmToRecord): MessageToAppend {
  const { location, group } = context;
  const groupId = group?.id ?? null;
  return { topic, payload, receivedAtMs: steadyAtMs, locationId: location.id, groupId };
}

function entryFields(message: MessageToAppend): (string | number | Buffer)[] {
  const [topic, payload, receivedAtMs, locationId, groupId] = entryValues(message);
  return ['t', topic, 'p', payload, 'r', receivedAtMs, 'l', locationId, 'g', groupId];
}

function entryValues(message: MessageToAppend): [string, Buffer, number, string, string] {
  const { topic, payload, receivedAtMs, locationId, groupId } = message;
  return [topic, payload, receivedAtMs, locationId ?? '', groupId ?? ''];
}

function readEntry(log: LogName, id: Buffer, fields: readonly Buffer[]): LogEntry {
  const [, topic, , payload, , receivedAtMs, , locationId, , groupId] = fields;
  return {
    log,
    sequence: Number.parseInt(id.toString(), 10),
    topic: topic?.toString() ?? '',
    payload: payload ?? Buffer.alloc(0),
    receivedAtMs: Number(receivedAtMs?.toString()),
    locationId: locationId?.toString() || null,
    groupId: groupId?.toString() || null,
  };
}
