import type { NewEvent } from '../delivery/new-entry.js';
import type { Writer } from '../delivery/writer.js';
import { fault } from '../domain/fault.js';
import { newId, uuidBytes } from '../domain/ids.js';
import type { DeviceContext } from '../domain/messages.js';
import { SUPERVISION_LEVEL, type SupervisionEvent, supervisionMembers } from '../domain/rules.js';
import type { Device } from '../domain/site.js';
import { forwardedTopic } from '../domain/topics.js';
import type { Health } from '../site/health/health.js';
import type { SiteModel } from '../site/site-model.js';
import type { SupervisionStoreRedis } from '../store/site/kept.js';

export const SUPERVISION_CHECK_MS = 1_000;
const FAULT_SOURCE = 'device-silent';
/** Two times of one packet differ by less. */
const MIN_DIFFERENCE_MS = 1_000;

/** A device that sends nothing. */
export interface SilentDevice {
  readonly deviceId: string;
  readonly sinceMs: number;
  readonly lastSeenAtMs: number;
}

/** Tells when devices were last heard. */
export interface Hearing {
  /** How long nothing has come while the gateway ran; undefined for a device that was never heard. */
  silentMs(deviceId: string): number | undefined;
  of(deviceId: string): { readonly lastSeenAtMs: number | null };
  /** Called when a device has fallen silent. */
  fellSilent(deviceId: string): void;
}

export interface SupervisionOptions {
  readonly model: Pick<SiteModel, 'devices' | 'device' | 'context'>;
  readonly hearing: Hearing;
  readonly writer: Pick<Writer, 'append'>;
  readonly store: Pick<SupervisionStoreRedis, 'silent'>;
  readonly health: Pick<Health, 'replace'>;
  /** For devices without a time of their own; null: they are not supervised. */
  readonly silentAfterSeconds: number | null;
  readonly now: () => number;
  readonly steadyNow: () => number;
}

/**
 * Notices devices that fall silent, and those that are heard again: events in the log of alarms.
 *
 * A device that was never heard is not supervised. A silent device stays silent until it is heard or deleted, even
 * if its time is changed.
 */
export class Supervision {
  readonly #options: SupervisionOptions;
  readonly #silent = new Map<string, SilentDevice>();
  /** Devices whose event is on its way to the store. */
  readonly #unstored = new Set<string>();

  constructor(options: SupervisionOptions) {
    this.#options = options;
  }

  /** @throws GatewayError `store-unavailable` */
  async load(): Promise<void> {
    const { model, store } = this.#options;
    for (const silent of await store.silent()) {
      if (model.device(silent.deviceId) !== undefined) this.#silent.set(silent.deviceId, silent);
    }
  }

  /** The silent devices, the longest silent first. */
  list(): SilentDevice[] {
    return [...this.#silent.values()].sort((one, other) => one.sinceMs - other.sinceMs);
  }

  /** Forgets a deleted device. */
  removed(deviceId: string): void {
    this.#silent.delete(deviceId);
  }

  /** Checks every device; call it every `SUPERVISION_CHECK_MS`. */
  check(): void {
    for (const device of this.#options.model.devices()) this.#look(device);
    this.#report();
  }

  #look({ id, silentAfterSeconds: own }: Device): void {
    const silentAfterSeconds = own ?? this.#options.silentAfterSeconds;
    const silentMs = this.#options.hearing.silentMs(id);
    if (silentMs === undefined || this.#unstored.has(id)) return;
    const silent = this.#silent.get(id);
    if (silent === undefined) {
      if (silentAfterSeconds !== null && silentMs >= silentAfterSeconds * 1000) {
        this.#options.hearing.fellSilent(id);
        this.#tell(id, 'silent');
      }
      return;
    }
    const { lastSeenAtMs } = this.#options.hearing.of(id);
    const limitMs = (silentAfterSeconds ?? Number.POSITIVE_INFINITY) * 1000;
    // Both are rounded, and go by the machine's clock, which drifts.
    const isLater = Math.abs((lastSeenAtMs ?? 0) - silent.lastSeenAtMs) > MIN_DIFFERENCE_MS;
    if (isLater && silentMs < limitMs) this.#tell(id, 'heard');
  }

  #tell(deviceId: string, state: 'silent' | 'heard'): void {
    const { model, hearing, writer, now } = this.#options;
    const context = model.context(deviceId);
    const { lastSeenAtMs } = hearing.of(deviceId);
    if (context === undefined || lastSeenAtMs === null) return;
    const event = { id: newId(), state, sinceMs: now(), lastSeenAtMs };
    this.#unstored.add(deviceId);
    writer.append(this.#eventOf(event, context), (isStored) => {
      this.#unstored.delete(deviceId);
      // A device that was deleted meanwhile is not supervised.
      if (!isStored || model.device(deviceId) === undefined) return;
      if (state === 'heard') this.#silent.delete(deviceId);
      else this.#silent.set(deviceId, { deviceId, sinceMs: event.sinceMs, lastSeenAtMs });
    });
  }

  #eventOf(event: SupervisionEvent, { device, location, group, text }: DeviceContext): NewEvent {
    const { id, state, sinceMs, lastSeenAtMs } = event;
    const members = supervisionMembers(event);
    return {
      topic: forwardedTopic(location.id, device.id, SUPERVISION_LEVEL),
      payload: Buffer.from(`{${members},${text}}`),
      receivedAtMs: this.#options.steadyNow(),
      locationId: location.id,
      groupId: group?.id ?? null,
      isNeverLate: true,
      event: {
        id: uuidBytes(id),
        deviceId: device.id,
        level: SUPERVISION_LEVEL,
        members,
        placeText: `{${text}}`,
        atMs: sinceMs,
        subject: { type: 'supervision', state, lastSeenAtMs },
      },
    };
  }

  #report(): void {
    const { model, health } = this.#options;
    const faults = this.list().map(({ deviceId: id }) => {
      const name = model.device(id)?.name ?? id;
      return { ...fault('deviceSilent'), subject: { type: 'device' as const, id, name } };
    });
    health.replace(FAULT_SOURCE, faults);
  }
}
