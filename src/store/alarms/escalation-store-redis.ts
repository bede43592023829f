import { z } from 'zod';
import { alarmMembers } from '../../domain/alarm-payload.js';
import type { DueAlarm, EscalatedAlarm, EscalationStore } from '../../watch/escalations.js';
import type { Keys } from '../keys.js';
import type { Store } from '../store.js';
import { readStream } from '../streams.js';
import { readAlarm, readPlace } from './alarm-records.js';

const memberSchema = z
  .string()
  .regex(/^\d+:[a-z0-9-]+$/)
  .transform((member) => {
    const [sequence = '', name = ''] = member.split(':');
    return { member, sequence: Number(sequence), name };
  });

/** Escalations that may become due, in Redis: append-alarms.lua adds them, append-events.lua makes them. */
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
    return members.map((member) => memberSchema.safeParse(member).data ?? unreadable(member));
  }

  async alarm(sequence: number): Promise<EscalatedAlarm | undefined> {
    const at = `${sequence}-0`;
    const [row] = await readStream(this.#store, this.#keys.history, at, at, 1);
    const alarm = row && readAlarm(row.fields);
    const place = alarm && readPlace(alarm.placeText);
    if (alarm === undefined || place === undefined) return undefined;
    const { id, receivedAtMs } = alarm;
    return {
      id,
      members: alarmMembers(alarm, receivedAtMs),
      contextText: place.contextText,
      place,
    };
  }

  async forget(members: readonly string[]): Promise<void> {
    if (members.length === 0) return;
    await this.#store.write(['ZREM', this.#keys.escalationsDue, ...members]);
  }
}

/** Which of these escalations were made for these alarms, by the sequence of the alarm. */
export async function escalationsMade(
  store: Store,
  { escalationsMade: key }: Keys,
  names: readonly string[],
  sequences: readonly number[],
): Promise<ReadonlyMap<number, readonly string[]>> {
  const members = sequences.flatMap((sequence) => names.map((name) => ({ sequence, name })));
  if (members.length === 0) return new Map();
  const scores = await store.read((redis) =>
    redis.zmscore(key, ...members.map(({ sequence, name }) => `${sequence}:${name}`)),
  );
  const made = new Map<number, string[]>();
  for (const [index, { sequence, name }] of members.entries()) {
    if (scores[index] !== null) made.set(sequence, [...(made.get(sequence) ?? []), name]);
  }
  return made;
}

/** An escalation of no alarm: it is forgotten when due. */
function unreadable(member: string): DueAlarm {
  return { member, sequence: 0, name: '' };
}
