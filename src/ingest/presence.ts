import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Forwarder } from '../delivery/forwarder.js';
import type { RetainedMessages } from '../delivery/retained-messages.js';
import { type DeviceContext, statusText } from '../domain/messages.js';
import type { Device } from '../domain/site.js';
import { forwardedTopic, parseForwardedTopic } from '../domain/topics.js';
import type { SiteModel } from '../site/site-model.js';
import { StatusRenewal } from './status-renewal.js';

/** Stores presence across restarts. */
export interface PresenceStore {
  load(): Promise<PresenceRecord[]>;
  save(record: PresenceRecord): Promise<void>;
}

export interface PresenceRecord {
  readonly deviceId: string;
  readonly online: boolean;
  readonly lastSeenAtMs: number;
}

/** A device's connection. */
export interface DeviceConnection {
  /** Milliseconds since the device was last heard. */
  readonly silentMs: number;
}

interface Seen {
  readonly connections: Set<DeviceConnection>;
  /** When the device was last heard before the present connections. */
  lastSeenAtMs: number;
  /** When the device was last announced online or offline. */
  sinceMs: number;
}

interface Status {
  readonly online: boolean;
  readonly sinceMs: number;
  readonly retain: boolean;
}

/** A part of the three seconds that the gateway has for all but the store (`gateway.ts`). */
const STOP_TIMEOUT_MS = 2_500;
const CLOSING_LOOK_EVERY_MS = 10;
const ALL_STATUSES = forwardedTopic('+', '+', 'status');

/** Tracks which devices are connected, and when each was last heard. */
export class Presence {
  readonly #model: SiteModel;
  readonly #forwarder: Forwarder;
  readonly #store: PresenceStore;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #steadyNow: () => number;
  readonly #seen = new Map<string, Seen>();
  readonly #announcing = new Set<Promise<unknown>>();
  /** Devices that were online when the gateway ended, and are not announced offline since. */
  readonly #leftOnline = new Set<string>();
  readonly #renewal: StatusRenewal;

  constructor(
    model: SiteModel,
    forwarder: Forwarder,
    store: PresenceStore,
    log: Logger,
    now: () => number,
    steadyNow: () => number,
  ) {
    this.#model = model;
    this.#forwarder = forwarder;
    this.#store = store;
    this.#log = log;
    this.#now = now;
    this.#steadyNow = steadyNow;
    this.#renewal = new StatusRenewal((deviceId) => this.#renew(deviceId), log);
  }

  /**
   * Loads presence; writes nothing, so that a full store does not hold up the start (CONTRACT 4.7).
   */
  async load(): Promise<void> {
    for (const { deviceId, online, lastSeenAtMs } of await this.#store.load()) {
      this.#seen.set(deviceId, { connections: new Set(), lastSeenAtMs, sinceMs: lastSeenAtMs });
      if (online) this.#leftOnline.add(deviceId);
    }
  }

  /** Resolves once announcements are stored, or after a timeout: the store may be away. */
  async stop(): Promise<void> {
    const untilMs = performance.now() + STOP_TIMEOUT_MS;
    const deadline = delay(STOP_TIMEOUT_MS, undefined, { ref: false });
    // Connections that the broker has closed end one after the other.
    do {
      const stored = Promise.allSettled([this.#renewal.done(), ...this.#announcing]);
      await Promise.race([stored, deadline]);
      await delay(CLOSING_LOOK_EVERY_MS);
    } while ((this.#announcing.size > 0 || this.#hasConnections()) && performance.now() < untilMs);
    this.#renewal.stop();
  }

  #hasConnections(): boolean {
    for (const { connections } of this.#seen.values()) if (connections.size > 0) return true;
    return false;
  }

  /** Announces offline the devices that were online when the gateway ended and are not back. */
  start(): void {
    for (const deviceId of this.#leftOnline) {
      if (!this.of(deviceId).online) this.#announce(deviceId, false);
    }
    this.#leftOnline.clear();
  }

  of(deviceId: string): { online: boolean; lastSeenAtMs: number | null } {
    const seen = this.#seen.get(deviceId);
    if (seen === undefined) return { online: false, lastSeenAtMs: null };
    return { online: seen.connections.size > 0, lastSeenAtMs: this.#lastSeenAtMs(seen) };
  }

  /**
   * Notes an authenticated connection of a device.
   *
   * Of two connections that overlap, as when a device comes back before its old one is found dead,
   * the end of the first changes nothing.
   */
  connected(deviceId: string, connection: DeviceConnection): void {
    this.#leftOnline.delete(deviceId);
    const seen = this.#seen.get(deviceId) ?? {
      ...{ connections: new Set(), lastSeenAtMs: 0, sinceMs: 0 },
    };
    this.#seen.set(deviceId, seen);
    seen.connections.add(connection);
    if (seen.connections.size === 1) this.#announce(deviceId, true);
  }

  /** Notes the end of a device's connection. */
  disconnected(deviceId: string, connection: DeviceConnection): void {
    const seen = this.#seen.get(deviceId);
    if (seen === undefined) return;
    seen.lastSeenAtMs = this.#lastSeenAtMs(seen);
    seen.connections.delete(connection);
    if (seen.connections.size === 0) this.#announce(deviceId, false);
  }

  /**
   * Publishes the device's retained status anew, in the background.
   *
   * To be called after a change to anything but presence. A device that never connected has no
   * status and gets none.
   */
  changed(deviceId: string): void {
    if (this.#seen.has(deviceId)) this.#renewal.request(deviceId);
  }

  /**
   * Publishes outdated statuses anew; to be called once, after `start`.
   *
   * A crash, or an earlier version, may have left statuses as they were before a change.
   */
  async renewOutdated(retained: RetainedMessages): Promise<void> {
    for await (const page of retained.matching([ALL_STATUSES])) {
      for (const { topic, payload } of page) this.#renewIfOutdated(topic, payload);
    }
  }

  /**
   * Announces the device offline at the place that it has left.
   *
   * After a move or a deletion, subscribers to that place must not go on taking the device for
   * online.
   */
  left(before: Device): void {
    const context = this.#model.contextOf(before);
    if (context === undefined || !this.of(before.id).online) return;
    const gone = { online: false, sinceMs: this.#now(), retain: false };
    this.#keepTrackOf(before.id, this.#forward(context, gone));
  }

  #renewIfOutdated(topic: string, payload: Buffer): void {
    const about = parseForwardedTopic(topic);
    const context = about && this.#model.context(about.deviceId);
    if (context === undefined || context.location.id !== about?.locationId) return;
    if (!payload.includes(context.text)) this.changed(context.device.id);
  }

  /** When the device was last heard; a keep-alive counts. */
  #lastSeenAtMs({ connections, lastSeenAtMs }: Seen): number {
    if (connections.size === 0) return lastSeenAtMs;
    const silentMs = Math.min(...Array.from(connections, (connection) => connection.silentMs));
    return Math.round(this.#now() - silentMs);
  }

  #announce(deviceId: string, online: boolean): void {
    const sinceMs = this.#now();
    const seen = this.#seen.get(deviceId);
    if (seen !== undefined) seen.sinceMs = sinceMs;
    this.#tell(deviceId, online, sinceMs);
  }

  #tell(deviceId: string, online: boolean, sinceMs: number): void {
    const context = this.#model.context(deviceId);
    if (context === undefined) {
      this.#seen.delete(deviceId);
      return;
    }
    const lastSeenAtMs = this.of(deviceId).lastSeenAtMs ?? sinceMs;
    const announced = this.#forward(context, { online, sinceMs, retain: true });
    const saved = this.#store.save({ deviceId, online, lastSeenAtMs });
    this.#keepTrackOf(deviceId, Promise.all([announced, saved]));
  }

  async #renew(deviceId: string): Promise<void> {
    const [seen, context] = [this.#seen.get(deviceId), this.#model.context(deviceId)];
    if (seen === undefined || context === undefined) return;
    const { connections, sinceMs } = seen;
    await this.#forward(context, { online: connections.size > 0, sinceMs, retain: true });
  }

  #forward(context: DeviceContext, { online, sinceMs, retain }: Status): Promise<void> {
    return this.#forwarder.forwardAndWait({
      topic: forwardedTopic(context.location.id, context.device.id, 'status'),
      payload: Buffer.from(statusText(online, sinceMs, context)),
      qos: 1,
      retain,
      receivedAtMs: this.#steadyNow(),
      locationId: context.location.id,
      groupId: context.group?.id ?? null,
    });
  }

  #keepTrackOf(deviceId: string, work: Promise<unknown>): void {
    const announcing = work.catch((error: unknown) => {
      this.#log.warn({ err: error, deviceId }, 'failed to announce presence');
    });
    this.#announcing.add(announcing);
    announcing.finally(() => this.#announcing.delete(announcing));
  }
}
