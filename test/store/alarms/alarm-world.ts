import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import type { Appended } from '../../../src/delivery/log/batch.js';
import type { NewAlarm } from '../../../src/delivery/log/log-item.js';
import { parseAlarm } from '../../../src/domain/alarm-payload.js';
import { ALARM_KINDS } from '../../../src/domain/alarms.js';
import { deviceContext } from '../../../src/domain/messages.js';
import { newId } from '../../../src/domain/notation.js';
import type { AlarmQuery, AlarmScope } from '../../../src/site/alarms/alarm-history.js';
import { AlarmHistoryRedis } from '../../../src/store/alarms/alarm-history-redis.js';
import { type Keys, keysOf } from '../../../src/store/keys.js';
import { Store } from '../../../src/store/store.js';
import { newAlarm } from '../../former/clients/new-alarm.js';
import { StoredLogs } from '../../former/stored/stored-logs.js';

const location = { id: newId(), name: 'Haus', order: 1 };
const noSecret = { name: 'Bett 1', order: 2, createdAtMs: 0, secretHash: '', limits: {} };

export interface Where {
  readonly deviceId?: string;
  readonly roomId?: string | null;
  readonly groupId?: string | null;
  readonly customData?: string;
}

/** The history of a separate site in a real Redis, below the HTTP interface. */
export class AlarmWorld {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly logs: StoredLogs;
  readonly history: AlarmHistoryRedis;
  readonly locationId = location.id;
  readonly deviceId = newId();

  constructor({ socketPath }: { socketPath: string }) {
    this.redis = new Redis({ path: socketPath });
    onTestFinished(() => this.redis.disconnect());
    this.keys = keysOf(newId());
    this.logs = new StoredLogs(this.redis, this.keys);
    this.history = new AlarmHistoryRedis(new Store(this.redis), this.keys);
  }

  /** Records an alarm of a device in the location, placed as given. */
  async record(sent: object, receivedAtMs: number, where: Where = {}): Promise<Appended> {
    const [appended] = await this.logs.append([this.alarm(sent, receivedAtMs, where)]);
    if (appended === undefined) throw new Error('Nothing was appended');
    return appended;
  }

  /** An alarm of a device in the location, ready to append. */
  alarm(sent: object, receivedAtMs: number, where: Where = {}): NewAlarm {
    const { deviceId = this.deviceId, roomId = null, groupId = null, customData = '{}' } = where;
    const placed = { id: deviceId, locationId: location.id, roomId, customData };
    const inLocation = { locationId: location.id, name: 'x', order: 3 };
    const room = roomId === null ? null : { id: roomId, groupId, ...inLocation };
    const group = groupId === null ? null : { id: groupId, ...inLocation };
    const result = parseAlarm(Buffer.from(JSON.stringify(sent)), {
      deviceId,
      kind: undefined,
      receivedAtMs,
    });
    if ('reason' in result) throw new Error(result.reason);
    const context = deviceContext({ ...noSecret, ...placed }, location, room, group);
    return newAlarm(result.alarm, context, receivedAtMs);
  }

  page({ locationId = location.id, groupIds, ...query }: Partial<AlarmQuery & AlarmScope> = {}) {
    return this.history.page({
      scopes: [{ locationId, groupIds }],
      deviceIds: undefined,
      roomIds: undefined,
      kinds: ALARM_KINDS,
      beforeMs: undefined,
      afterMs: undefined,
      order: 'asc',
      limit: 100,
      upToSequence: undefined,
      position: undefined,
      ...query,
    });
  }

  /** Sets the steady times of the stored alarms, in the order of recording. */
  async stampSteadily(steadyMsOf: (index: number) => number): Promise<void> {
    const entries = await this.redis.xrangeBuffer(this.keys.history, '-', '+');
    await this.redis.del(this.keys.history);
    for (const [index, [id, fields]] of entries.entries()) {
      const others = fields.flatMap((name, at) =>
        at % 2 === 0 && name.toString() !== 't' ? [name, fields[at + 1] ?? ''] : [],
      );
      await this.redis.xadd(this.keys.history, id, ...others, 't', steadyMsOf(index));
    }
  }

  /** Every key of the history except the counter and an empty stream. */
  async historyKeys(): Promise<string[]> {
    const prefix = this.keys.sitePrefix;
    const all = (await this.redis.keys(`${prefix}*`)).map((key) => key.slice(prefix.length));
    const isEmpty = (await this.redis.xlen(this.keys.history)) === 0;
    const others = isEmpty ? /^(?:sequence:|history$)/ : /^sequence:/;
    return all.filter((key) => !others.test(key)).sort();
  }

  /** Counts the alarm ids that the history remembers, to detect repeated alarms. */
  async keptIds(): Promise<number> {
    const pieces = await this.redis.keys(`${this.keys.alarmIdsPrefix}*`);
    const counts = await Promise.all(pieces.map((piece) => this.redis.hlen(piece)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Counts the scripts that run during the work. */
  async scriptsDuring(work: () => Promise<unknown>): Promise<number> {
    await this.redis.config('RESETSTAT');
    await work();
    const stats = await this.redis.info('commandstats');
    return [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].reduce(
      (sum, [, calls]) => sum + Number(calls),
      0,
    );
  }
}
