import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { LogEntry, LogName, LogReader } from '../delivery/log-entry.js';
import type { AlarmToRecord, MessageToAppend, Recorded, Recorder } from '../delivery/recorder.js';
import { alarmRecordFields } from './alarm-records.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';

const recordAlarm = new Script('record-alarm', z.tuple([z.number(), z.number()]));
const appendMessage = new Script('append-message', z.number());

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

  /**
   * @param writer for appending only
   * @param reader for reading, so that a page of a long backlog does not hold an alarm up
   */
  constructor(writer: Redis, reader: Redis, keys: Keys) {
    this.#writer = writer;
    this.#reader = reader;
    this.#keys = keys;
  }

  async recordAlarm(record: AlarmToRecord): Promise<Recorded> {
    const { alarm, context, receipt, receivedAtMs, topic, payload } = record;
    const keys = this.#keys;
    const [deviceId, locationId] = [context.device.id, context.location.id];
    const audience = { locationId, groupId: context.group?.id ?? null };
    const message = { topic, payload, receivedAtMs, ...audience };
    const history = alarmRecordFields(record);
    const [isNew, sequence] = await recordAlarm.run(
      this.#writer,
      [
        keys.logSequence('alarms'),
        keys.alarmIds(deviceId, alarm.id),
        keys.receipts(deviceId),
        keys.history,
        keys.log('alarms'),
        keys.alarmIndex(locationId, deviceId, alarm.kind),
        keys.alarmIndex(locationId, undefined, alarm.kind),
      ],
      [
        alarm.id,
        receipt?.packetIdentifier ?? '',
        receipt?.payloadDigest ?? '',
        receipt?.sentAgain === true ? 1 : 0,
        RECEIPTS_KEPT_SECONDS,
        alarm.detectedAtMs,
        history.length,
        ...history,
        ...entryFields(message),
      ],
    );
    return { entry: { ...message, log: 'alarms', sequence }, isNew: isNew === 1 };
  }

  async appendMessage(message: MessageToAppend): Promise<Recorded> {
    const keys = [this.#keys.logSequence('messages'), this.#keys.log('messages')];
    const sequence = await appendMessage.run(this.#writer, keys, entryFields(message));
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

  async lastSequence(log: LogName): Promise<number> {
    return Number((await this.#reader.get(this.#keys.logSequence(log))) ?? 0);
  }

  /** Removes the entries up to and including this one. */
  async trim(log: LogName, upToSequence: number): Promise<void> {
    await this.#reader.xtrim(this.#keys.log(log), 'MINID', `${upToSequence + 1}-0`);
  }
}

function entryFields(message: MessageToAppend): (string | number | Buffer)[] {
  return [
    ...['t', message.topic],
    ...['p', message.payload],
    ...['r', message.receivedAtMs],
    ...['l', message.locationId ?? ''],
    ...['g', message.groupId ?? ''],
  ];
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
