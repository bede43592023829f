import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Forwarder } from '../delivery/forwarder.js';
import type { RetainedMessages } from '../delivery/retained-messages.js';
import { type DeviceContext, statusText } from '../domain/messages.js';
import type { Device } from '../domain/site.js';
import { forwardedTopic, parseForwardedTopic } from '../domain/topics.js';
import type { SiteModel } from '../site/site-model.js';
import { StatusRenewal } from './status-renewal.js';

/** Where presence outlives the process. */
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
  /** For how long nothing has come over it, in milliseconds. */
  readonly silentMs: number;
}

interface Seen {
  readonly connections: Set<DeviceConnection>;
  /** Before the present connections. */
  lastSeenAtMs: number;
  /** When it was last announced to have come or gone. */
  sinceMs: number;
}

interface Status {
  readonly online: boolean;
  readonly sinceMs: number;
  readonly retain: boolean;
}

/** Of the three seconds that the gateway has for what is not the store (`gateway.ts`). */
const LAST_WORD_TIMEOUT_MS = 2_500;
const CLOSING_LOOK_EVERY_MS = 10;
const ALL_STATUSES = forwardedTopic('+', '+', 'status');

/** Which devices are connected, and when each was last heard of. */
export class Presence {
  readonly #model: SiteModel;
  readonly #forwarder: Forwarder;
  readonly #store: PresenceStore;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #steadyNow: () => number;
  readonly #seen = new Map<string, Seen>();
  readonly #announcing = new Set<Promise<unknown>>();
  /** Online when the gateway ended, and not announced offline since. */
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

  /** Only reads: a store that cannot take writes must not hold up the start (CONTRACT 4.7). */
  async load(): Promise<void> {
    for (const { deviceId, online, lastSeenAtMs } of await this.#store.load()) {
      this.#seen.set(deviceId, { connections: new Set(), lastSeenAtMs, sinceMs: lastSeenAtMs });
      if (online) this.#leftOnline.add(deviceId);
    }
  }

  /** Resolves when what was announced is stored, or soon anyway: the store may be away. */
  async stop(): Promise<void> {
    const untilMs = performance.now() + LAST_WORD_TIMEOUT_MS;
    const deadline = delay(LAST_WORD_TIMEOUT_MS, undefined, { ref: false });
    // The ends of the connections that the broker has closed come one after the other.
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
   * The device has shown its credentials on a connection. Of two connections that overlap, as when a
   * device comes back before its old one is found dead, the end of the first changes nothing.
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

  /** A connection of the device has ended. */
  disconnected(deviceId: string, connection: DeviceConnection): void {
    const seen = this.#seen.get(deviceId);
    if (seen === undefined) return;
    seen.lastSeenAtMs = this.#lastSeenAtMs(seen);
    seen.connections.delete(connection);
    if (seen.connections.size === 0) this.#announce(deviceId, false);
  }

  /**
   * Publishes the device's retained status anew, in the background: what it shows besides presence has
   * changed. A device that never connected has no status and gets none.
   */
  changed(deviceId: string): void {
    if (this.#seen.has(deviceId)) this.#renewal.request(deviceId);
  }

  /**
   * Publishes anew the statuses that a crash, or an earlier version, left as they were before a change.
   * To be called once, after `start`.
   */
  async renewOutdated(retained: RetainedMessages): Promise<void> {
    for (const { topic, payload } of await retained.matching([ALL_STATUSES])) {
      const about = parseForwardedTopic(topic);
      const context = about && this.#model.context(about.deviceId);
      if (context === undefined || context.location.id !== about?.locationId) continue;
      if (!payload.includes(context.text)) this.changed(context.device.id);
    }
  }

  /**
   * Announces the device offline at the place that it has left, by a move or for good: a subscriber to
   * that place must not go on taking it for online.
   */
  left(before: Device): void {
    const context = this.#model.contextOf(before);
    if (context === undefined || !this.of(before.id).online) return;
    const gone = { online: false, sinceMs: this.#now(), retain: false };
    this.#keepTrackOf(before.id, this.#forward(context, gone));
  }

  /** When something last came from the device; a keep-alive counts. */
  #lastSeenAtMs({ connections, lastSeenAtMs }: Seen): number {
    const nowMs = this.#now();
    const heardAtMs = Array.from(connections, ({ silentMs }) => Math.round(nowMs - silentMs));
    return Math.max(lastSeenAtMs, ...heardAtMs);
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
