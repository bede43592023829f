import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Forwarder } from '../delivery/forwarder.js';
import type { Message } from '../delivery/message.js';
import type { RetainedMessages } from '../delivery/retained.js';
import { type DeviceContext, type Named, statusRest, statusText } from '../domain/messages.js';
import type { Device } from '../domain/site.js';
import { forwardedTopic, parseForwardedTopic } from '../domain/topics.js';
import { RETAINED_ONLY } from '../mqtt/message-properties.js';
import { oneAtATime } from '../releasers.js';
import { pause } from '../site/clock/pause.js';
import type { SiteModel } from '../site/site-model.js';
import type { PresenceStoreRedis } from '../store/site/kept.js';
import type { Hubs } from './hubs.js';

/** Whether a device is online, and when it was last heard. */
export interface DevicePresence {
  readonly online: boolean;
  /** Null for a device that has never been connected. */
  readonly lastSeenAtMs: number | null;
  /** The access token of the hub through which it was last heard; undefined: it connects itself. */
  readonly via: Named | undefined;
}

export interface PresenceRecord {
  readonly deviceId: string;
  readonly online: boolean;
  readonly lastSeenAtMs: number;
  /** `lastSeenAtMs` by `SteadyClock.runningNow`; undefined if an earlier version saved the record. */
  readonly heardAtMs: number | undefined;
  /** The token of the hub through which it was last heard; undefined: it has connected itself. */
  readonly hubId: string | undefined;
}

/** A part of the three seconds that the gateway has for everything except the store (`gateway.ts`). */
const STOP_TIMEOUT_MS = 2_500;
const CLOSING_LOOK_EVERY_MS = 10;
const ALL_STATUSES = forwardedTopic('+', '+', 'status');

export interface PresenceOptions {
  readonly model: SiteModel;
  readonly forwarder: Forwarder;
  readonly retained: Pick<RetainedMessages, 'get' | 'set' | 'matching'>;
  readonly store: PresenceStoreRedis;
  readonly hubs: Hubs;
  readonly log: Logger;
  /** The wall clock. */
  readonly now: () => number;
  readonly steadyNow: () => number;
  /** `SteadyClock.runningNow`: a device cannot be heard while the gateway is off. */
  readonly runningNow: () => number;
}

/** Tracks which devices are online, by themselves or through a hub, and when each was last heard. */
export class Presence {
  readonly #options: PresenceOptions;
  readonly #seen = new Map<string, Seen>();
  /** Forwarded statuses that are not stored yet. */
  #unstored = 0;
  /** Devices that were online when the gateway ended, and have not been announced offline since. */
  readonly #leftOnline = new Set<string>();
  readonly #renewal: StatusRenewal;
  /** Devices that were heard through hubs. */
  readonly #unsavedHeard = new Set<string>();

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#renewal = new StatusRenewal((deviceIds) => this.#publish(deviceIds), options.log);
  }

  /**
   * Loads presence; writes nothing, so that a full store does not hold up the start (contract 4.7).
   */
  async load(): Promise<void> {
    const nowMs = this.#options.runningNow();
    for (const record of await this.#options.store.load()) {
      const { deviceId, online, lastSeenAtMs, hubId } = record;
      if (hubId !== undefined) this.#options.hubs.remembered(hubId);
      // A connected device may have been heard up to the end of the last run.
      const heardAtMs = online ? nowMs : Math.min(record.heardAtMs ?? nowMs, nowMs);
      const seen = { ...newSeen(), lastSeenAtMs, heardAtMs, hubId, sinceMs: lastSeenAtMs };
      this.#seen.set(deviceId, seen);
      if (online) this.#leftOnline.add(deviceId);
    }
  }

  /** Resolves once all statuses are stored, or after a timeout: the store may be away. */
  async stop(): Promise<void> {
    const untilMs = performance.now() + STOP_TIMEOUT_MS;
    // Connections that the broker has closed end one after the other.
    do await delay(CLOSING_LOOK_EVERY_MS);
    while (!this.#isSettled && performance.now() < untilMs);
    this.#renewal.stop();
    await this.saveHeard();
  }

  /** How many devices are online. */
  get onlineCount(): number {
    let count = 0;
    for (const seen of this.#seen.values()) if (isOnline(seen)) count++;
    return count;
  }

  /** Announces offline the devices that were online when the gateway ended and are not back. */
  start(): void {
    for (const deviceId of this.#leftOnline) {
      if (!this.of(deviceId).online) this.#announce(deviceId);
    }
    this.#leftOnline.clear();
  }

  /** Notes that a device was heard through a hub: it is online now, if the hub is connected. */
  heard(deviceId: string, tokenId: string): void {
    const { hubs, now, runningNow } = this.#options;
    const seen = this.#seen.get(deviceId) ?? newSeen();
    seen.lastSeenAtMs = now();
    seen.heardAtMs = runningNow();
    this.#seen.set(deviceId, seen);
    this.#unsavedHeard.add(deviceId);
    if (seen.connections.size > 0) {
      hubs.remembered(tokenId);
      return;
    }
    const isOnlineThrough = hubs.heard(tokenId, deviceId);
    if (seen.isThroughHub) return;
    seen.hubId = tokenId;
    seen.isThroughHub = isOnlineThrough;
    if (isOnlineThrough) this.#announce(deviceId);
  }

  /** Notes the end of a connection of an access token: what was online only through it is offline. */
  hubDisconnected(tokenId: string, connection: object): void {
    for (const deviceId of this.#options.hubs.disconnected(tokenId, connection)) {
      if (this.#seen.get(deviceId)?.hubId === tokenId) this.#endThroughHub(deviceId);
    }
  }

  /** Notes that a device has been silent for too long: a hub may be connected while its sensor is dead. */
  fellSilent(deviceId: string): void {
    const seen = this.#seen.get(deviceId);
    if (seen?.isThroughHub !== true) return;
    this.#leaveHub(deviceId, seen);
    this.#endThroughHub(deviceId);
  }

  /** Publishes the statuses that name the access token again: its name has changed, or it is gone. */
  hubChanged(tokenId: string): void {
    for (const [deviceId, { hubId }] of this.#seen) {
      if (hubId === tokenId) this.changed(deviceId);
    }
  }

  /** Saves when devices were last heard through hubs. Never throws: the next time is soon enough. */
  async saveHeard(): Promise<void> {
    const deviceIds = [...this.#unsavedHeard];
    this.#unsavedHeard.clear();
    const records = deviceIds.flatMap((deviceId) => this.#recordOf(deviceId) ?? []);
    await this.#options.store.save(records).catch((err: unknown) => {
      for (const deviceId of deviceIds) this.#unsavedHeard.add(deviceId);
      this.#options.log.warn({ part: 'presence', err }, 'failed to save when devices were heard');
    });
  }

  /**
   * How long the device has been silent while the gateway ran, in milliseconds.
   *
   * @returns undefined for a device that was never heard
   */
  silentMs(deviceId: string): number | undefined {
    const seen = this.#seen.get(deviceId);
    if (seen === undefined) return undefined;
    return Math.min(this.#options.runningNow() - seen.heardAtMs, leastSilentMs(seen.connections));
  }

  of(deviceId: string): DevicePresence {
    const seen = this.#seen.get(deviceId);
    if (seen === undefined) return { online: false, lastSeenAtMs: null, via: undefined };
    const lastSeenAtMs = this.#lastSeenAtMs(seen);
    return { online: isOnline(seen), lastSeenAtMs, via: this.#viaOf(seen) };
  }

  /**
   * Notes an authenticated connection of a device.
   *
   * Two connections overlap when a device comes back before its old one is found dead. The end of the
   * first then changes nothing.
   */
  connected(deviceId: string, connection: DeviceConnection): void {
    this.#leftOnline.delete(deviceId);
    const seen = this.#seen.get(deviceId) ?? newSeen();
    this.#seen.set(deviceId, seen);
    seen.connections.add(connection);
    this.#leaveHub(deviceId, seen);
    seen.isThroughHub = false;
    seen.hubId = undefined;
    if (seen.connections.size === 1) this.#announce(deviceId);
  }

  /** Notes the end of a device's connection. */
  disconnected(deviceId: string, connection: DeviceConnection): void {
    const seen = this.#seen.get(deviceId);
    if (seen === undefined) return;
    seen.lastSeenAtMs = this.#lastSeenAtMs(seen);
    seen.heardAtMs = Math.max(seen.heardAtMs, this.#options.runningNow() - connection.silentMs);
    seen.connections.delete(connection);
    if (seen.connections.size === 0) this.#announce(deviceId);
  }

  /**
   * Publishes the device's retained status again, in the background.
   *
   * Call it after a change to anything except presence. A device that never connected has no
   * status and gets none.
   */
  changed(deviceId: string): void {
    const { sinceMs = 0 } = this.#seen.get(deviceId) ?? {};
    if (sinceMs > 0) this.#renewal.request(deviceId);
  }

  /**
   * Publishes outdated statuses again; call it once, after `start`.
   *
   * A crash may have left statuses as they were before a change.
   */
  renewOutdated(): void {
    const { model, retained, now } = this.#options;
    for (const message of retained.matching([ALL_STATUSES])) {
      const deviceId = message && parseForwardedTopic(message.topic)?.deviceId;
      // Its presence was not saved: it connected for the first time just before the crash.
      if (deviceId === undefined || this.#seen.has(deviceId)) continue;
      const sinceMs = now();
      const heardAtMs = this.#options.runningNow();
      this.#seen.set(deviceId, { ...newSeen(), lastSeenAtMs: sinceMs, heardAtMs, sinceMs });
    }
    for (const deviceId of this.#seen.keys()) {
      const context = model.context(deviceId);
      if (context === undefined) continue;
      const topic = forwardedTopic(context.location.id, deviceId, 'status');
      const status = retained.get(topic)?.payload;
      const { online, via } = this.of(deviceId);
      const isRight =
        status?.includes('{"online":true') === online && status.includes(statusRest(via, context));
      if (!isRight) this.changed(deviceId);
    }
  }

  /** Announces a deleted device offline and forgets it: another may get its id. */
  removed(device: Device): void {
    this.left(device);
    this.#forget(device.id);
    this.#leftOnline.delete(device.id);
  }

  /**
   * Announces the device offline at the place that it has left.
   *
   * Subscribers to that place must not keep seeing the device as online.
   */
  left(before: Device): void {
    const context = this.#options.model.contextOf(before);
    if (context === undefined || !this.of(before.id).online) return;
    const status = { online: false, via: this.of(before.id).via };
    this.#forward(before.id, this.#statusOf(context, status, this.#options.now()));
  }

  /** When the device was last heard; a keep-alive counts. */
  #lastSeenAtMs({ connections, lastSeenAtMs, heardAtMs }: Seen): number {
    const silentMs = leastSilentMs(connections);
    if (this.#options.runningNow() - heardAtMs <= silentMs) return lastSeenAtMs;
    return Math.round(this.#options.now() - silentMs);
  }

  get #isSettled(): boolean {
    return this.#renewal.isIdle && this.#unstored === 0 && this.onlineCount === 0;
  }

  /** Requests the announcement that the device has come or gone. */
  #announce(deviceId: string): void {
    const seen = this.#seen.get(deviceId);
    if (seen === undefined) return;
    if (this.#options.model.device(deviceId) === undefined) {
      this.#forget(deviceId);
      return;
    }
    seen.sinceMs = this.#options.now();
    this.#renewal.request(deviceId);
  }

  /** Saves presence and retains statuses, each at the place where its device is now; then forwards. */
  async #publish(deviceIds: readonly string[]): Promise<void> {
    const { model, store, retained } = this.#options;
    const announcements = deviceIds.flatMap((deviceId) => {
      const [record, context] = [this.#recordOf(deviceId), model.context(deviceId)];
      if (record === undefined || context === undefined) return [];
      const { sinceMs = 0 } = this.#seen.get(deviceId) ?? {};
      return [{ ...record, status: this.#statusOf(context, this.of(deviceId), sinceMs) }];
    });
    const statuses = announcements.map(({ status }) => retained.set({ ...status, retain: true }));
    await store.save(announcements);
    await Promise.all(statuses);
    for (const { deviceId, status } of announcements) {
      // A device that has left in the meantime was announced offline there.
      if (model.device(deviceId)?.locationId === status.locationId) this.#forward(deviceId, status);
    }
  }

  #recordOf(deviceId: string): PresenceRecord | undefined {
    const seen = this.#seen.get(deviceId);
    if (seen === undefined) return undefined;
    const lastSeenAtMs = this.#lastSeenAtMs(seen);
    const heardAtMs = this.#options.runningNow() - (this.silentMs(deviceId) ?? 0);
    return { deviceId, online: isOnline(seen), lastSeenAtMs, heardAtMs, hubId: seen.hubId };
  }

  /** The hub, while its token exists. */
  #viaOf({ hubId }: Seen): Named | undefined {
    const token = hubId === undefined ? undefined : this.#options.model.accessToken(hubId);
    return token && { id: token.id, name: token.name };
  }

  #leaveHub(deviceId: string, { isThroughHub }: Seen): void {
    if (isThroughHub) this.#options.hubs.left(deviceId);
  }

  /** Announces the device offline, or online through another hub that has spoken for it. */
  #endThroughHub(deviceId: string): void {
    const seen = this.#seen.get(deviceId);
    if (seen === undefined) return;
    const nextId = this.#options.hubs.hubOf(deviceId);
    seen.isThroughHub = nextId !== undefined;
    seen.hubId = nextId ?? seen.hubId;
    this.#announce(deviceId);
  }

  #forget(deviceId: string): void {
    const seen = this.#seen.get(deviceId);
    if (seen !== undefined) this.#leaveHub(deviceId, seen);
    this.#seen.delete(deviceId);
  }

  #statusOf(
    context: DeviceContext,
    { online, via }: Pick<DevicePresence, 'online' | 'via'>,
    sinceMs: number,
  ): Message {
    return {
      topic: forwardedTopic(context.location.id, context.device.id, 'status'),
      payload: Buffer.from(statusText(online, sinceMs, statusRest(via, context))),
      receivedAtMs: this.#options.steadyNow(),
      locationId: context.location.id,
      groupId: context.group?.id ?? null,
      properties: RETAINED_ONLY,
    };
  }

  #forward(deviceId: string, status: Message): void {
    this.#unstored++;
    this.#options.forwarder.forward(status, (isStored) => {
      this.#unstored--;
      if (!isStored) this.#options.log.warn({ deviceId }, 'failed to announce presence');
    });
  }
}

/** A device's connection. */
export interface DeviceConnection {
  /** Milliseconds since the device was last heard. */
  readonly silentMs: number;
}

/** What is known about a device that was heard. */
export interface Seen {
  readonly connections: Set<DeviceConnection>;
  /** When the device was last heard through a hub, or over a connection that has ended. */
  lastSeenAtMs: number;
  /** The same by `SteadyClock.runningNow`, or when this gateway began to listen. */
  heardAtMs: number;
  /** The token of the hub through which it was last heard; undefined: it has connected itself. */
  hubId: string | undefined;
  /** Whether it is online through that hub. */
  isThroughHub: boolean;
  /** When the device was last announced online or offline; 0: never. */
  sinceMs: number;
}

export function newSeen(): Seen {
  const times = { lastSeenAtMs: 0, heardAtMs: 0, sinceMs: 0 };
  return { connections: new Set(), hubId: undefined, isThroughHub: false, ...times };
}

/** Whether the device is connected, itself or through its hub. */
export function isOnline({ connections, isThroughHub }: Seen): boolean {
  return isThroughHub || connections.size > 0;
}

/** Milliseconds since the last packet on any of the connections; infinite without a connection. */
export function leastSilentMs(connections: ReadonlySet<DeviceConnection>): number {
  let leastMs = Number.POSITIVE_INFINITY;
  for (const { silentMs } of connections) leastMs = Math.min(leastMs, silentMs);
  return leastMs;
}

/**
 * After a restart thousands of devices come back together, and renaming a care home affects all of its
 * devices. One write has as many statuses as a batch has messages, and alarms get in between.
 */
const SLICE_LENGTH = 250;
const RETRY_AFTER_MS = 500;

/**
 * Publishes statuses that have changed, a slice at a time.
 *
 * Each status is rendered when its turn comes, so of several changes only the newest state goes out. A
 * slice that fails is retried: a device that has gone must not be shown as online for ever.
 */
export class StatusRenewal {
  readonly #publish: (deviceIds: readonly string[]) => Promise<void>;
  readonly #log: Logger;
  readonly #waiting = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #publishWaiting = oneAtATime(() => this.#publishAll());
  /** How many statuses are on their way to the store. */
  #publishing = 0;

  /** @param publish resolves once the devices' statuses are stored */
  constructor(publish: (deviceIds: readonly string[]) => Promise<void>, log: Logger) {
    this.#publish = publish;
    this.#log = log;
  }

  request(deviceId: string): void {
    this.#waiting.add(deviceId);
    void this.#publishWaiting();
  }

  /** Whether all requested statuses are stored. */
  get isIdle(): boolean {
    return this.#waiting.size + this.#publishing === 0;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #publishAll(): Promise<void> {
    const { signal } = this.#stopping;
    // Requests of one turn of the event loop go out together.
    if (this.#waiting.size > 0) await delay(0);
    let isFailing = false;
    while (this.#waiting.size > 0 && !signal.aborted) {
      const slice = [...take(this.#waiting, SLICE_LENGTH)];
      this.#publishing = slice.length;
      try {
        await this.#publish(slice);
        isFailing = false;
      } catch (err) {
        const fields = { err, devices: slice.length };
        if (!isFailing) this.#log.warn(fields, 'failed to publish statuses, retrying');
        isFailing = true;
        for (const deviceId of slice) this.#waiting.add(deviceId);
        await pause(RETRY_AFTER_MS, signal);
      }
      this.#publishing = 0;
    }
  }
}

/** Takes the first few out of the set. */
function* take(waiting: Set<string>, count: number): Generator<string> {
  for (const value of waiting) {
    if (count-- === 0) return;
    waiting.delete(value);
    yield value;
  }
}
