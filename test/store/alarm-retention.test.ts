import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { ALARM_KINDS, parseAlarm } from '../../src/domain/alarms.js';
import { newId } from '../../src/domain/identifiers.js';
import { deviceContext } from '../../src/domain/messages.js';
import { AlarmHistoryRedis } from '../../src/store/alarm-history-redis.js';
import { AlarmRetention } from '../../src/store/alarm-retention.js';
import { Keys } from '../../src/store/keys.js';
import { LogStore } from '../../src/store/log-store.js';
import { useRedis } from '../http/harness.js';

const place = useRedis();
const location = { id: newId(), name: 'Haus', order: 1 };
const device = {
  id: newId(),
  locationId: location.id,
  roomId: null,
  name: 'Bett 1',
  order: 2,
  createdAtMs: 0,
  secretHash: '',
  customData: '{"ref":1}',
};
const context = deviceContext(device, location, null, null);
const noLog = pino({ level: 'silent' });

async function record(logs: LogStore, receivedAtMs: number): Promise<void> {
  const result = parseAlarm(Buffer.from('{"kind":"fall"}'), device.id, receivedAtMs);
  if (!('alarm' in result)) throw new Error(result.reason);
  const { alarm } = result;
  const payload = Buffer.from('{}');
  const times = { receivedAtMs, steadyAtMs: receivedAtMs };
  await logs.recordAlarm({ alarm, context, ...times, topic: 't', payload, receipt: undefined });
}

it('an alarm leaves the history when its time is over, with everything that led to it', async () => {
  const redis = new Redis({ path: place.socketPath });
  onTestFinished(() => redis.disconnect());
  const keys = new Keys('retention');
  const logs = new LogStore(redis, redis, keys);
  for (let at = 1; at <= 450; at++) await record(logs, 1_000_000_000_000 + at);

  const retention = (now: number) =>
    new AlarmRetention({ redis, keys, maxAgeMs: 100, log: noLog, now: () => now });
  expect(await retention(1_000_000_000_000 + 549).run()).toBe(448);
  const { alarms } = await new AlarmHistoryRedis(redis, keys).page({
    locationId: location.id,
    deviceId: device.id,
    kinds: ALARM_KINDS,
    groupIds: undefined,
    beforeMs: undefined,
    afterMs: undefined,
    order: 'asc',
    limit: 100,
    upToSequence: undefined,
    position: undefined,
  });
  expect(alarms.map(({ receivedAtMs }) => receivedAtMs - 1_000_000_000_000)).toEqual([449, 450]);

  expect(await retention(Number.MAX_SAFE_INTEGER).run()).toBe(2);
  const left = (await redis.keys('{retention}:*')).filter((key) => !key.includes(':log:'));
  expect(left).toEqual(['{retention}:sequence:alarms']);
});
