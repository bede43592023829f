import { fault } from '../domain/fault.js';
import { isUuid } from '../domain/ids.js';
import type { Health } from '../site/health/health.js';
import type { SiteModel } from '../site/site-model.js';

export const HUB_CHECK_MS = 1_000;
const AWAY_AFTER_MS = 60_000;
const UNKNOWN_FOR_MS = 3_600_000;
/** A hub may invent names without end. */
const MAX_UNKNOWN = 100;
const MAX_ID_LENGTH = 128;

interface Hub {
  readonly connections: Set<object>;
  /** The devices for which it has spoken while connected, and which do not connect themselves. */
  readonly deviceIds: Set<string>;
  /** Whether a device was ever heard through it: only then is it a hub. */
  isHeard: boolean;
  /** When it was last connected, by the running clock. */
  seenAtMs: number;
}

/** A device that does not exist, and the hub that publishes alarms for it. */
interface UnknownDevice {
  readonly deviceId: string;
  readonly tokenId: string;
  readonly lastAtMs: number;
}

export interface HubsOptions {
  readonly model: SiteModel;
  readonly health: Pick<Health, 'replace'>;
  /** `SteadyClock.runningNow`: a hub cannot connect while the gateway is off. */
  readonly runningNow: () => number;
}

/**
 * The hubs: clients with a token of the role *publisher*, which publish for devices that do not connect themselves
 * (contract 2).
 *
 * Knows which are connected and what is behind each, and reports two faults: a hub that is away, and a device that a
 * hub publishes alarms for and nobody has created.
 */
export class Hubs {
  readonly #options: HubsOptions;
  readonly #hubs = new Map<string, Hub>();
  readonly #unknown = new Map<string, UnknownDevice>();

  constructor(options: HubsOptions) {
    this.#options = options;
  }

  /** Notes a connection of an access token; which of them is a hub turns out with its first message. */
  connected(tokenId: string, connection: object): void {
    this.#hub(tokenId).connections.add(connection);
  }

  /** Returns the devices for which the hub has spoken, if this was its last connection. */
  disconnected(tokenId: string, connection: object): readonly string[] {
    const hub = this.#hub(tokenId);
    hub.connections.delete(connection);
    if (hub.connections.size > 0) return [];
    hub.seenAtMs = this.#options.runningNow();
    const deviceIds = [...hub.deviceIds];
    hub.deviceIds.clear();
    if (!hub.isHeard) this.#hubs.delete(tokenId);
    return deviceIds;
  }

  /** Notes a hub that was heard before this gateway started. */
  remembered(tokenId: string): void {
    this.#hub(tokenId).isHeard = true;
  }

  /** Notes a device that was heard. Returns whether it is online: a will is published after the last connection. */
  heard(tokenId: string, deviceId: string): boolean {
    const hub = this.#hub(tokenId);
    hub.isHeard = true;
    if (hub.connections.size === 0) return false;
    hub.deviceIds.add(deviceId);
    return true;
  }

  /** Notes that a device is no longer online through hubs. */
  left(deviceId: string): void {
    for (const { deviceIds } of this.#hubs.values()) deviceIds.delete(deviceId);
  }

  /** A connected hub that has spoken for the device; undefined: none. */
  hubOf(deviceId: string): string | undefined {
    const found = [...this.#hubs].find(([, { deviceIds }]) => deviceIds.has(deviceId));
    return found?.[0];
  }

  /** Notes an alarm for a device that does not exist. */
  unknownDevice(tokenId: string, id: string): void {
    const deviceId = isUuid(id) ? id.toLowerCase() : id.slice(0, MAX_ID_LENGTH);
    const key = JSON.stringify([tokenId, deviceId]);
    const isNew = !this.#unknown.has(key);
    if (isNew && this.#unknown.size >= MAX_UNKNOWN) return;
    this.#unknown.set(key, { deviceId, tokenId, lastAtMs: this.#options.runningNow() });
    if (isNew) this.#reportUnknown();
  }

  /** Reports the hubs that are away, and the unknown devices; call it every `HUB_CHECK_MS`. */
  check(): void {
    const { health, model, runningNow } = this.#options;
    const nowMs = runningNow();
    const away = [...this.#hubs].flatMap(([id, { connections, isHeard, seenAtMs }]) => {
      const isAway = isHeard && connections.size === 0 && nowMs - seenAtMs >= AWAY_AFTER_MS;
      const token = isAway ? model.accessToken(id) : undefined;
      if (token?.grants.some(({ role }) => role === 'publisher') !== true) return [];
      const subject = { type: 'access-token' as const, id, name: token.name };
      return [{ ...fault('hubAway'), subject }];
    });
    health.replace('hub-away', away);
    this.#reportUnknown();
  }

  #reportUnknown(): void {
    const { health, model, runningNow } = this.#options;
    for (const [key, { deviceId, tokenId, lastAtMs }] of this.#unknown) {
      const isOver = runningNow() - lastAtMs >= UNKNOWN_FOR_MS;
      const isSolved = model.device(deviceId) !== undefined;
      const isHubGone = model.accessToken(tokenId) === undefined;
      if (isOver || isSolved || isHubGone) this.#unknown.delete(key);
    }
    const faults = Array.from(this.#unknown.values(), ({ deviceId, tokenId }) => {
      const via = { id: tokenId, name: model.accessToken(tokenId)?.name ?? tokenId };
      const subject = { type: 'device' as const, id: deviceId, name: deviceId, via };
      return { ...fault('unknownDevice'), subject };
    });
    health.replace('unknown-device', faults);
  }

  #hub(tokenId: string): Hub {
    const hub = this.#hubs.get(tokenId) ?? {
      connections: new Set(),
      deviceIds: new Set(),
      isHeard: false,
      seenAtMs: this.#options.runningNow(),
    };
    this.#hubs.set(tokenId, hub);
    return hub;
  }
}
