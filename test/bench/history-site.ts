import { randomUUID } from 'node:crypto';
import { ALARM_KINDS } from '../../src/domain/alarms.js';
import { newId } from '../../src/domain/identifiers.js';
import { alarmText, type DeviceContext, deviceContext } from '../../src/domain/messages.js';
import { forwardedTopic } from '../../src/domain/topics.js';
import type { LogStore } from '../../src/store/log-store.js';
import type { Api } from '../harness/api.js';

const LOCATIONS = 5;
const GROUPS_PER_LOCATION = 4;
const DEVICES_PER_LOCATION = 40;
const DEVICES = LOCATIONS * DEVICES_PER_LOCATION;
/** A million alarms are then those of a year: one every 30 s. */
const INTERVAL_MS = 30_000;
/** From the detection to the receipt, and what one in fifty alarms is late by. */
const DELAY_MS = 250;
const LATE_MS = 3_600_000;
const IN_FLIGHT = 200;
/** As the gateway's own keeper does every few seconds. */
const TRIM_EVERY = 5_000;

/** Some care homes with devices in rooms and groups and what a customer keeps of each. */
export class HistorySite {
  readonly contexts: readonly DeviceContext[];
  readonly #logs: LogStore;
  readonly #startMs: number;
  #count = 0;

  private constructor(contexts: readonly DeviceContext[], logs: LogStore, alarms: number) {
    this.contexts = contexts;
    this.#logs = logs;
    this.#startMs = Date.now() - alarms * INTERVAL_MS;
  }

  /** @param alarms how many will be recorded in the end, the last of them now */
  static async create(api: Api, logs: LogStore, alarms: number): Promise<HistorySite> {
    const contexts: DeviceContext[] = [];
    for (let number = 0; number < LOCATIONS; number++) {
      contexts.push(...(await createLocation(api, number)));
    }
    return new HistorySite(contexts, logs, alarms);
  }

  /** When the alarms that there are now are half over. */
  get middle(): string {
    return new Date(this.#startMs + (this.#count / 2) * INTERVAL_MS).toISOString();
  }

  /** Records alarms until there are so many; resolves to how many a second that were. */
  async fillUpTo(total: number): Promise<number> {
    const [begunMs, first] = [performance.now(), this.#count];
    const worker = async () => {
      while (this.#count < total) {
        const sequence = await this.#record(this.#count++);
        if (sequence % TRIM_EVERY === 0) await this.#logs.trim('alarms', sequence);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
    await this.#logs.trim('alarms', await this.#logs.lastSequence('alarms'));
    return (total - first) / ((performance.now() - begunMs) / 1000);
  }

  async #record(number: number): Promise<number> {
    // Two different steps, so that every device has every kind.
    const context = this.contexts[number % DEVICES];
    const kind = ALARM_KINDS[Math.floor(number / DEVICES) % ALARM_KINDS.length];
    if (context === undefined || kind === undefined) throw new Error('there are no devices');
    const receivedAtMs = this.#startMs + number * INTERVAL_MS;
    const alarm = {
      id: randomUUID(),
      kind,
      detectedAtMs: receivedAtMs - (number % 50 === 0 ? LATE_MS : DELAY_MS),
      reportedAt: undefined,
      footage: {},
      data: `{"confidence":0.${100 + (number % 900)},"zone":${number % 4}}`,
      idIsStable: true,
    };
    const { device, location } = context;
    const { entry } = await this.#logs.recordAlarm({
      alarm,
      context,
      receivedAtMs,
      steadyAtMs: receivedAtMs,
      topic: forwardedTopic(location.id, device.id, `alarms/${kind}`),
      payload: Buffer.from(alarmText(alarm, context, receivedAtMs)),
      receipt: undefined,
    });
    return entry.sequence;
  }
}

/** A location over HTTP, because the pages are read over it; what is in it is for the records only. */
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
      const secrets = { createdAtMs: 0, secretHash: '' };
      const device = { id, name, locationId, roomId: room.id, customData, order, ...secrets };
      return deviceContext(device, location, room, group);
    }),
  );
}
