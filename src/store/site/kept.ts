/** State that survives restarts: the clock, supervision, escalations, when devices were last heard and tokens last used. */

import type { Logger } from 'pino';
import { z } from 'zod';
import { alarmMembers } from '../../domain/alarm.js';
import { parseJson } from '../../domain/json.js';
import type { PresenceRecord } from '../../ingest/presence.js';
import type { ClockRecord } from '../../site/clock/steady-clock.js';
import type { DueAlarm, EscalatedAlarm } from '../../watch/escalations.js';
import type { SilentDevice } from '../../watch/supervision.js';
import { findAlarm } from '../history/history-log.js';
import type { Keys } from '../keys.js';
import { type Store, unlessOfAnotherType } from '../store.js';

const silenceSchema = z.object({
  state: z.enum(['silent', 'heard']),
  sinceMs: z.number(),
  lastSeenAtMs: z.number(),
});

/** One hash, written with each event of supervision (history/entries.ts). */
export class SupervisionStoreRedis {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  async silent(): Promise<SilentDevice[]> {
    const key = this.#keys.supervision;
    const stored = await unlessOfAnotherType(this.#store.read((redis) => redis.hgetall(key)));
    return Object.entries(stored ?? {}).flatMap(([deviceId, text]) => {
      const record = silenceSchema.safeParse(parseJson(text)).data;
      if (record?.state !== 'silent') return [];
      return [{ deviceId, sinceMs: record.sinceMs, lastSeenAtMs: record.lastSeenAtMs }];
    });
  }
}

/** Alarm, device and escalation. */
const MEMBER = /^([0-9a-f-]{36}) ([0-9a-f-]{36}) ([a-z0-9-]+)$/;

/** One sorted set: alarms put themselves into it, and their escalations take them out (history/entries.ts). */
export class EscalationStoreRedis {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  async due(steadyAtMs: number, count: number): Promise<DueAlarm[]> {
    const key = this.#keys.escalationsDue;
    const members = await this.#store.read((redis) =>
      redis.zrangebyscore(key, '-inf', Math.floor(steadyAtMs), 'LIMIT', 0, count),
    );
    return members.map((member) => {
      const [, alarmId = '', deviceId = '', name = ''] = MEMBER.exec(member) ?? [];
      return { member, alarmId, deviceId, name };
    });
  }

  async alarm({ alarmId, deviceId }: DueAlarm): Promise<EscalatedAlarm | undefined> {
    const found = await findAlarm(this.#store, { alarmId, deviceId });
    if (found === undefined) return undefined;
    const { record, place, states } = found;
    return {
      members: alarmMembers(record, record.receivedAtMs),
      contextText: place.contextText,
      place,
      isRaised: states.state === 'raised',
    };
  }

  async forget(members: readonly string[]): Promise<void> {
    if (members.length === 0) return;
    await this.#store.write(['ZREM', this.#keys.escalationsDue, ...members]);
  }
}

/** Names and values. Lua unpacks about 8,000 arguments at most. */
const FIELDS_AT_ONCE = 2_000;

/** Device id → `<milliseconds since 1970>`, `+` while online, the steady time, and its hub. */
export class PresenceStoreRedis {
  readonly #store: Store;
  readonly #key: string;

  constructor(store: Store, { lastSeen }: Keys) {
    this.#store = store;
    this.#key = lastSeen;
  }

  async load(): Promise<PresenceRecord[]> {
    return (await fieldsOf(this.#store, this.#key)).map(([deviceId, text]) => ({
      deviceId,
      online: text.includes('+'),
      lastSeenAtMs: Number.parseInt(text, 10),
      heardAtMs: steadyTimeIn(text),
      hubId: text.split(' ')[2],
    }));
  }

  async save(records: readonly PresenceRecord[]): Promise<void> {
    const fields = records.flatMap(({ deviceId, lastSeenAtMs, online, heardAtMs, hubId }) => {
      const heard = Math.round(heardAtMs ?? Number.NaN);
      return [deviceId, [`${lastSeenAtMs}${online ? '+' : ''}`, heard, hubId].join(' ').trimEnd()];
    });
    await saveFields(this.#store, this.#key, fields);
  }
}

/** Id → milliseconds since 1970. */
export class TokenUseStoreRedis {
  readonly #store: Store;
  readonly #key: string;

  constructor(store: Store, { tokenUse }: Keys) {
    this.#store = store;
    this.#key = tokenUse;
  }

  async load(): Promise<Map<string, number>> {
    const fields = await fieldsOf(this.#store, this.#key);
    const times = fields.map(([id, text]) => [id, Number(text)] as const);
    return new Map(times.filter(([, atMs]) => Number.isSafeInteger(atMs)));
  }

  async save(usedAtMs: ReadonlyMap<string, number>): Promise<void> {
    const fields = [...usedAtMs].flatMap(([id, atMs]) => [id, String(atMs)]);
    await saveFields(this.#store, this.#key, fields);
  }
}

function steadyTimeIn(text: string): number | undefined {
  const steadyMs = Number(text.split(' ')[1]);
  return Number.isFinite(steadyMs) ? steadyMs : undefined;
}

/** Nothing if somebody has overwritten the key: it must not stop the start. */
async function fieldsOf(store: Store, key: string): Promise<[string, string][]> {
  const stored = await unlessOfAnotherType(store.read((redis) => redis.hgetall(key)));
  return Object.entries(stored ?? {});
}

/** A device or token deleted in this moment leaves a field of some 60 bytes. */
async function saveFields(store: Store, key: string, fields: readonly string[]): Promise<void> {
  for (let at = 0; at < fields.length; at += FIELDS_AT_ONCE) {
    await store.write(['HSET', key, ...fields.slice(at, at + FIELDS_AT_ONCE)]);
  }
}

/** The steady clock in Redis: one hash. */
export class ClockStoreRedis {
  readonly #store: Store;
  readonly #writer: Store;
  readonly #keys: Keys;
  readonly #log: Logger;

  /**
   * Saves must not wait for the store: on a full disk, a waiting save would end it again after each restart.
   *
   * @param store waits for the store
   * @param writer fails soon and never retries
   */
  constructor(store: Store, writer: Store, keys: Keys, log: Logger) {
    this.#store = store;
    this.#writer = writer;
    this.#keys = keys;
    this.#log = log;
  }

  async load(): Promise<ClockRecord | undefined> {
    const fields = await this.#store.read((redis) => redis.hgetall(this.#keys.clock));
    if (Object.keys(fields).length === 0) return undefined;
    const { wallMs, steadyMs, addedMs = '0' } = fields;
    const record = { wallMs: Number(wallMs), steadyMs: Number(steadyMs), addedMs: Number(addedMs) };
    if (Object.values(record).every(Number.isFinite)) return record;
    this.#log.error({ fields }, 'failed to read the stored clock');
    return undefined;
  }

  async save({ wallMs, steadyMs, addedMs }: ClockRecord): Promise<void> {
    const fields = { wallMs, steadyMs, addedMs };
    const words = Object.entries(fields).flatMap(([name, value]) => [name, String(value)]);
    await this.#writer.write(['HSET', this.#keys.clock, ...words]);
  }
}
