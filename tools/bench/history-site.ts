import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { ALARM_KINDS } from '../../src/domain/alarms.js';
import { type DeviceContext, deviceContext } from '../../src/domain/messages.js';
import { newId } from '../../src/domain/notation.js';
import { keysOf } from '../../src/store/keys.js';
import { Api } from '../../test/former/clients/api.js';
import { newAlarm } from '../../test/former/clients/new-alarm.js';
import type { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import { type StartTimes, timedStart } from '../../test/former/gateway/start-times.js';
import { StoredLogs } from '../../test/former/stored/stored-logs.js';

const LOCATIONS = 5;
const GROUPS_PER_LOCATION = 4;
const DEVICES_PER_LOCATION = 40;
const DEVICES = LOCATIONS * DEVICES_PER_LOCATION;
/** A million alarms then span a year, the maximum age of the history. */
const INTERVAL_MS = 30_000;
/** Times from detection to receipt: the usual one, and that of every fiftieth alarm. */
const DELAY_MS = 250;
const LATE_MS = 3_600_000;
const IN_FLIGHT = 200;

/** The moment at which half of this many alarms had been detected. */
export function middleOf(count: number): string {
  return new Date(Date.now() - (count / 2) * INTERVAL_MS).toISOString();
}

/** A gateway with a full history: some care homes, with devices in rooms and groups. */
export class HistorySite {
  readonly api: Api;
  readonly contexts: readonly DeviceContext[];
  readonly #gateway: GatewayProcess;
  readonly #redis: Redis;
  readonly #logs: StoredLogs;

  private constructor(
    gateway: GatewayProcess,
    api: Api,
    redis: Redis,
    contexts: readonly DeviceContext[],
  ) {
    this.api = api;
    this.contexts = contexts;
    this.#gateway = gateway;
    this.#redis = redis;
    this.#logs = new StoredLogs(redis, keysOf('site'));
  }

  /** @param gateway a running gateway, which is removed with the site */
  static async open(gateway: GatewayProcess): Promise<HistorySite> {
    const api = new Api(gateway);
    const redis = new Redis(join(gateway.dataDir, 'redis', 'redis.sock'));
    const contexts: DeviceContext[] = [];
    for (let number = 0; number < LOCATIONS; number++) {
      contexts.push(...(await createLocation(api, number)));
    }
    return new HistorySite(gateway, api, redis, contexts);
  }

  get httpUrl(): string {
    return this.#gateway.httpUrl;
  }

  /** Restarts the gateway as an operator does; after that the site can only be read. */
  async restart(): Promise<StartTimes> {
    this.disconnect();
    await this.#gateway.stop();
    return timedStart(this.#gateway);
  }

  apiWith(token: string): Api {
    return new Api(this.#gateway, token);
  }

  /** Records alarms with the gateway's own code, the last one as of now; returns the rate per second. */
  async fill(count: number): Promise<number> {
    const [begunMs, startMs] = [performance.now(), Date.now() - count * INTERVAL_MS];
    let number = 0;
    const worker = async () => {
      while (number < count) {
        await this.#record(number, startMs + number++ * INTERVAL_MS);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
    return count / ((performance.now() - begunMs) / 1000);
  }

  /** Measures memory once no rewrite of the append-only file is running: a rewrite takes memory too. */
  async usedBytes(): Promise<number> {
    for (;;) {
      const persistence = await this.#redis.info('persistence');
      if (/^aof_rewrite_in_progress:0/m.test(persistence)) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return Number(/^used_memory:(\d+)/m.exec(await this.#redis.info('memory'))?.[1]);
  }

  /**
   * How often scripts ran, not counting those that wrote a record to the audit trail, and how much of
   * the store's time all of them took.
   */
  async scripts(): Promise<{ readonly calls: number; readonly ms: number }> {
    const stats = await this.#redis.info('commandstats');
    const ran = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+),usec=(\d+)/gm)];
    const [calls, microseconds] = [1, 2].map((group) =>
      ran.reduce((sum, match) => sum + Number(match[group]), 0),
    );
    const written = await this.#redis.get(keysOf('site').auditSequence);
    return { calls: (calls ?? 0) - Number(written), ms: (microseconds ?? 0) / 1000 };
  }

  /** Disconnects from the gateway's store. */
  disconnect(): void {
    this.#redis.disconnect();
  }

  async close(): Promise<void> {
    this.disconnect();
    await this.#gateway.remove();
  }

  async #record(number: number, receivedAtMs: number): Promise<void> {
    const context = this.contexts[number % DEVICES];
    // Kinds change in a different step than devices, so that each device has alarms of every kind.
    const kind = ALARM_KINDS[Math.floor(number / DEVICES) % ALARM_KINDS.length];
    if (context === undefined || kind === undefined) throw new Error('there are no devices');
    const { device } = context;
    const video = `devices/${device.id}/${randomUUID()}.mp4`;
    const alarm = {
      id: randomUUID(),
      kind,
      detectedAtMs: receivedAtMs - (number % 50 === 0 ? LATE_MS : DELAY_MS),
      reportedAt: undefined,
      footage: kind === 'fall' ? { video } : {},
      data: `{"confidence":0.${100 + (number % 900)},"zone":${number % 4}}`,
      idIsStable: true,
    };
    await this.#logs.append([newAlarm(alarm, context, receivedAtMs)]);
  }
}

/** Creates over HTTP only what pages need; rooms and groups exist only in the records. */
async function createLocation(api: Api, number: number): Promise<DeviceContext[]> {
  const location = { ...(await api.createLocation(`Haus ${number}`)), order: number };
  const locationId = location.id;
  const groups = Array.from({ length: GROUPS_PER_LOCATION }, (_, order) => {
    return { id: newId(), locationId, name: `Station ${order}`, order };
  });
  return Promise.all(
    Array.from({ length: DEVICES_PER_LOCATION }, async (_, order) => {
      const group = groups[order % GROUPS_PER_LOCATION] ?? null;
      const room = { id: newId(), locationId, groupId: group?.id ?? null, name: 'Zimmer', order };
      const { id, name } = await api.createDevice(locationId, `Bett ${order}`);
      const customData = `{"nurseCallId":"${number}${order}a","phone":${4700 + order}}`;
      const secrets = { createdAtMs: 0, secretHash: '', limits: {} };
      const device = { id, name, locationId, roomId: room.id, customData, order, ...secrets };
      return deviceContext(device, location, room, group);
    }),
  );
}
