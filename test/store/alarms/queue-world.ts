import type { NewAlarm, NewStateChange } from '../../../src/delivery/log/log-item.js';
import { NO_ACCOUNTS } from '../../../src/delivery/queues/account.js';
import type { Outcome, QueuedItem } from '../../../src/delivery/queues/queue-store.js';
import { newId } from '../../../src/domain/notation.js';
import { SessionStoreRedis } from '../../../src/store/session-store-redis.js';
import { Store } from '../../../src/store/store.js';
import { numbered } from '../../delivery/running-delivery.js';
import { AlarmWorld } from './alarm-world.js';

export const START_MS = Date.UTC(2026, 0, 1);
export const NURSE = 'token:1/nurse';
export const WARD = 'token:1/ward';
export const RECORD = { owner: 'token:1', clientId: 'nurse', subscriptions: [], seenAtMs: 0 };

/** A history with the queues of two sessions. */
export class QueueWorld extends AlarmWorld {
  readonly sessions = new SessionStoreRedis(new Store(this.redis), this.keys);

  static async open(place: ConstructorParameters<typeof AlarmWorld>[0]): Promise<QueueWorld> {
    const world = new QueueWorld(place);
    for (const key of [NURSE, WARD]) await world.sessions.save({ ...RECORD, key });
    return world;
  }

  fall(atMs = START_MS, id = newId()): NewAlarm {
    return this.alarm({ kind: 'fall', id }, atMs);
  }

  resolve({ alarm }: NewAlarm): NewStateChange {
    const { locationId, deviceId } = this;
    return {
      topic: '',
      payload: Buffer.alloc(0),
      receivedAtMs: START_MS,
      locationId,
      groupId: null,
      onOutcome: () => undefined,
      stateChange: {
        locationId,
        deviceId,
        alarmId: alarm.id,
        state: 'resolved',
        note: undefined,
        by: { id: 't', name: 'Token' },
        atMs: START_MS,
        groupIds: undefined,
        actor: { type: 'access-token', id: 't', address: null, requestId: null },
      },
    };
  }

  async push(count: number, ...destinations: string[]): Promise<void> {
    await this.logs.append(
      Array.from({ length: count }, (_, index) => this.fall(START_MS + index)),
      ...destinations,
    );
  }

  async pushMessages(count: number, bytes: number, ...destinations: string[]): Promise<void> {
    const messages = Array.from({ length: count }, (_, n) => numbered(n, 't', START_MS + n, bytes));
    await this.logs.appendMessages(messages, ...destinations);
  }

  async items(key = NURSE): Promise<number[]> {
    return (await this.redis.lrange(this.keys.queue(key), 0, -1)).map(Number);
  }

  settle(items: readonly number[], outcome: Outcome = 'delivered') {
    const settled = items.map((item) => ({ item, payload: { length: 0 } }));
    return this.logs.queues.settle([
      { destination: NURSE, log: 'alarms', outcome, items: settled },
    ]);
  }

  async settleMessages(items: readonly QueuedItem[]): Promise<void> {
    const settlement = { destination: NURSE, outcome: 'delivered', items } as const;
    await this.logs.queues.settle([{ ...settlement, log: 'messages' }]);
  }

  async accounts(key = NURSE) {
    const [accounts = NO_ACCOUNTS] = await this.logs.queues.accounts([key]);
    return accounts;
  }
}
