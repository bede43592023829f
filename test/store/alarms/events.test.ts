import { expect, it } from 'vitest';
import type { EventSubject, NewEvent } from '../../../src/delivery/log/log-item.js';
import { newId } from '../../../src/domain/notation.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { newIdentity } from '../../former/stored/stored-logs.js';
import { AlarmWorld } from './alarm-world.js';

const place = useRedis();
const START_MS = Date.UTC(2026, 0, 1);

class EventWorld extends AlarmWorld {
  supervision(state: 'silent' | 'heard'): NewEvent {
    const { deviceId } = this;
    return this.#event({ type: 'supervision', deviceId, state, id: newId(), lastSeenAtMs: 0 });
  }

  escalation(alarmId: string, alarmSequence: number): NewEvent {
    const member = `${alarmSequence}:manager`;
    return this.#event({ type: 'escalation', member, alarmSequence, alarmId });
  }

  /** Resolves to the number of each event; 0 for an event that is not due. */
  async append(...events: readonly NewEvent[]): Promise<number[]> {
    const batch = await this.logs.alarms.freeze(events, () => [], newIdentity());
    const written = await batch.write();
    if ('unusable' in written) throw new Error('no destination was given');
    return written.appended.map(({ sequence }) => sequence);
  }

  #event(subject: EventSubject): NewEvent {
    const { locationId } = this;
    const about = { topic: 'x', payload: Buffer.from('{}'), locationId, groupId: null };
    const event = { level: 'x', members: '', placeText: '{}', atMs: START_MS, subject };
    return { ...about, receivedAtMs: START_MS, isNeverLate: true, event };
  }
}

it('appends an event of a device once, however often it is written', async () => {
  const world = new EventWorld(place);
  const [silent, heard] = [world.supervision('silent'), world.supervision('heard')];
  for (const _ of [1, 2]) expect(await world.append(silent)).toEqual([1]);
  for (const _ of [1, 2]) expect(await world.append(heard)).toEqual([2]);
  // It is already heard.
  expect(await world.append(world.supervision('heard'))).toEqual([0]);
});

it('does not escalate a lost alarm whose number another one has taken', async () => {
  const world = new EventWorld(place);
  const [lost, other] = [newId(), newId()];
  const due = [{ name: 'manager', dueAtMs: START_MS }];
  const alarm = { ...world.alarm({ kind: 'fall', id: other }, START_MS), escalations: due };
  await world.logs.append([alarm]);
  expect(await world.append(world.escalation(lost, 1))).toEqual([0]);
  expect(await world.append(world.escalation(other, 1))).toEqual([2]);
});
