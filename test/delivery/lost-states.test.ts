import { pino } from 'pino';
import { expect, it } from 'vitest';
import { Deliveries, type DurableConsumer } from '../../src/delivery/deliveries.js';
import { isAlarm, isStateChange } from '../../src/delivery/log/log-entry.js';
import type { AlarmLogItem, NewStateChange } from '../../src/delivery/log/log-item.js';
import { LogWriter } from '../../src/delivery/log/log-writer.js';
import type { GivenState } from '../../src/domain/alarm-states.js';
import { newId } from '../../src/domain/notation.js';
import { useRedis } from '../former/servers/shared-redis.js';
import { QueuesInMemory } from '../former/stored/queues-in-memory.js';
import { AlarmWorld } from '../store/alarms/alarm-world.js';

const place = useRedis();
const log = pino({ level: 'silent' });
const START_MS = Date.UTC(2026, 0, 1);
const NURSE = { id: newId(), name: 'Nurse' };
const ACTOR = { type: 'access-token', id: NURSE.id, address: null, requestId: null } as const;

/** A history with the writer of the alarm log, as the gateway has it. */
class LogWorld extends AlarmWorld {
  readonly #writer: LogWriter<AlarmLogItem, DurableConsumer>;

  constructor(at: { socketPath: string }) {
    super(at);
    const nothing = () => undefined;
    const deliveries = new Deliveries({
      newestAlarm: 0,
      queues: new QueuesInMemory(),
      mend: () => Promise.resolve(false),
      onLost: () => undefined,
      onBehind: () => undefined,
      onWentBack: nothing,
      log,
      now: Date.now,
      elapsedSinceMs: (timeMs) => Date.now() - timeMs,
    });
    const store = this.logs.alarms;
    this.#writer = new LogWriter({
      log: 'alarms',
      store,
      deliveries,
      onWentBack: (last) =>
        deliveries.wentBack(last).flatMap(({ source }) => {
          if (source === undefined) return [];
          return isAlarm(source) || isStateChange(source) ? [source] : [];
        }),
      onOutage: nothing,
      onHeldBack: nothing,
      logger: log,
    });
  }

  write(item: AlarmLogItem): Promise<boolean> {
    return new Promise((resolve) => this.#writer.append(item, resolve));
  }

  async raise(): Promise<string> {
    const id = newId();
    await this.write(this.alarm({ kind: 'fall', id }, START_MS));
    return id;
  }

  give(alarmId: string, state: GivenState): Promise<boolean> {
    const { locationId, deviceId } = this;
    const asked = { locationId, deviceId, alarmId, state, note: 'x', groupIds: undefined };
    const change: NewStateChange = {
      topic: '',
      payload: Buffer.alloc(0),
      receivedAtMs: START_MS,
      locationId,
      groupId: null,
      stateChange: { ...asked, by: NURSE, atMs: START_MS, actor: ACTOR },
      onOutcome: () => undefined,
    };
    return this.write(change);
  }

  /** The contents of the store. */
  async backUp(): Promise<Map<string, Buffer>> {
    const keys = await this.redis.keys(`${this.keys.sitePrefix}*`);
    const dumps = await Promise.all(keys.map((key) => this.redis.dumpBuffer(key)));
    return new Map(keys.map((key, at) => [key, dumps[at] ?? Buffer.alloc(0)]));
  }

  async restoreBackUp(backup: ReadonlyMap<string, Buffer>): Promise<void> {
    await this.redis.del(await this.redis.keys(`${this.keys.sitePrefix}*`));
    for (const [key, dump] of backup) await this.redis.restore(key, 0, dump);
  }

  async states(): Promise<Record<string, string>> {
    const { alarms } = await this.page();
    return Object.fromEntries(alarms.map(({ id, states: { state } }) => [id, state]));
  }
}

it('records alarms and states that a restored store has lost again, in order, before new ones', async () => {
  const world = new LogWorld(place);
  const first = await world.raise();
  const backup = await world.backUp();
  const second = await world.raise();
  await world.give(first, 'acknowledged');
  await world.give(second, 'resolved');
  await world.restoreBackUp(backup);
  expect(await world.states()).toEqual({ [first]: 'raised' });
  const third = await world.raise();
  const expected = { [first]: 'acknowledged', [second]: 'resolved', [third]: 'raised' };
  await expect.poll(() => world.states()).toEqual(expected);
  expect(await world.redis.xlen(world.keys.auditChanges)).toBe(2);
  const entries = await world.logs.read(0, 10);
  const heads = entries.map(({ topic, payload }) => {
    const { id } = JSON.parse(payload.toString());
    return [topic.split('/').at(-2), id];
  });
  expect(heads).toEqual([
    ['alarms', first],
    ['alarms', second],
    ['alarm-states', first],
    ['alarm-states', second],
    ['alarms', third],
  ]);
});
