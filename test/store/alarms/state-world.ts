import type { NewStateChange, StateOutcome } from '../../../src/delivery/log/log-item.js';
import type { GivenState } from '../../../src/domain/alarm-states.js';
import { newId } from '../../../src/domain/notation.js';
import { AlarmRetention } from '../../../src/store/alarms/alarm-retention.js';
import { Store } from '../../../src/store/store.js';
import { AlarmWorld, type Where } from './alarm-world.js';
export const START_MS = Date.UTC(2026, 0, 1);
export const NURSE = { id: newId(), name: 'Night "nurse" / Öst' };

export interface Asked {
  readonly deviceId?: string;
  readonly locationId?: string;
  readonly atMs?: number;
  readonly note?: string;
  readonly groupIds?: readonly string[];
}

export class StateWorld extends AlarmWorld {
  outcome: StateOutcome | undefined;

  change(alarmId: string, state: GivenState, asked: Asked = {}): NewStateChange {
    const { locationId = this.locationId, deviceId = this.deviceId, atMs = START_MS } = asked;
    const actor = { type: 'access-token', id: NURSE.id, address: null, requestId: null } as const;
    const { note, groupIds } = asked;
    return {
      topic: '',
      payload: Buffer.alloc(0),
      receivedAtMs: atMs,
      locationId,
      groupId: null,
      stateChange: {
        locationId,
        deviceId,
        alarmId,
        state,
        note,
        by: NURSE,
        atMs,
        groupIds,
        actor,
      },
      onOutcome: (outcome) => {
        this.outcome = outcome;
      },
    };
  }

  /** The outcome as one word; `changed` if an entry was appended. */
  async give(alarmId: string, state: GivenState, asked: Asked = {}): Promise<string> {
    const [appended] = await this.logs.append([this.change(alarmId, state, asked)]);
    if (this.outcome !== undefined && 'refused' in this.outcome) return this.outcome.refused;
    return appended?.isNew === true ? 'changed' : 'unchanged';
  }

  async raise(atMs: number, where: Where = {}): Promise<string> {
    const id = newId();
    await this.record({ kind: 'fall', id }, atMs, where);
    return id;
  }

  async auditCount(): Promise<number> {
    return this.redis.xlen(this.keys.auditChanges);
  }

  expire(nowMs: number, queuedFrom = Number.POSITIVE_INFINITY): Promise<number> {
    const { redis, keys } = this;
    const options = { store: new Store(redis), keys, maxAgeMs: 100, now: () => nowMs };
    const retention = new AlarmRetention({
      ...options,
      queuedFrom: () => Promise.resolve(queuedFrom),
    });
    return retention.removeOld(new AbortController().signal);
  }

  async counter(): Promise<number> {
    return Number(await this.redis.get(this.keys.logSequence('alarms')));
  }

  /** The keys left over from history and states. */
  async leftKeys(): Promise<string[]> {
    return (await this.historyKeys()).filter((key) => key !== 'audit:changes');
  }
}
