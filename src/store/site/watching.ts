/** What supervision has reported, and which escalations may become due: kept across restarts. */
import { z } from 'zod';
import { alarmMembers } from '../../domain/alarm-payload.js';
import { parseJson } from '../../domain/notation.js';
import type { DueAlarm, EscalatedAlarm, EscalationStore } from '../../watch/escalations.js';
import type { SilentDevice, SupervisionStore } from '../../watch/supervision.js';
import { unlessOfAnotherType } from '../failures.js';
import { findAlarm } from '../history/history-log.js';
import type { Keys } from '../keys.js';
import type { Store } from '../store.js';

const silenceSchema = z.object({
  state: z.enum(['silent', 'heard']),
  sinceMs: z.number(),
  lastSeenAtMs: z.number(),
});

/** One hash, written with each event of supervision (history/entries.ts). */
export class SupervisionStoreRedis implements SupervisionStore {
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
export class EscalationStoreRedis implements EscalationStore {
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
