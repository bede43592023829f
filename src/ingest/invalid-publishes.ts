import type { Logger } from 'pino';
import type { Deliveries } from '../delivery/deliveries.js';
import type { InvalidPublishReason } from '../domain/alarms.js';
import { type DeviceContext, type InvalidPublish, invalidPublishText } from '../domain/messages.js';
import { deviceTopic, forwardedTopic } from '../domain/topics.js';

/** An invalid publish to list, with its device and the group that decides who may see it. */
export interface ListedInvalidPublish {
  readonly deviceId: string;
  readonly groupId: string | null;
  readonly invalidPublish: InvalidPublish;
}

/** Keeps the bounded list of invalid publishes. */
export interface InvalidPublishStore {
  /** @param listed in the order in which they came */
  add(locationId: string, listed: readonly ListedInvalidPublish[]): Promise<void>;
}

/**
 * A location's invalid publishes on their way to the list; beyond that, the oldest are dropped.
 *
 * While the store is away they must not fill the memory.
 */
const MAX_UNSTORED = 1_000;
const MAX_UNSTORED_BYTES = 1024 * 1024;

interface Unstored {
  readonly listed: ListedInvalidPublish[];
  bytes: number;
}

/** Reports invalid publishes: on their topics, in a count and in a list. */
export class InvalidPublishes {
  readonly #deliveries: Deliveries;
  readonly #store: InvalidPublishStore;
  readonly #log: Logger;
  readonly #counts = new Map<InvalidPublishReason, number>();
  /** By location. */
  #unstored = new Map<string, Unstored>();
  #isStoring = false;

  constructor(deliveries: Deliveries, store: InvalidPublishStore, log: Logger) {
    this.#deliveries = deliveries;
    this.#store = store;
    this.#log = log;
  }

  /** Invalid publishes since the start, by reason. */
  get counts(): ReadonlyMap<InvalidPublishReason, number> {
    return this.#counts;
  }

  /**
   * Reports an invalid publish without waiting for the list.
   *
   * An invalid publish must never make its device wait or loop.
   */
  report(
    context: DeviceContext,
    reason: InvalidPublishReason,
    publish: Omit<InvalidPublish, 'reason'>,
  ): void {
    const { id } = context.device;
    this.#reportToLocation(context, reason, publish);
    this.#publish(deviceTopic(id, 'rejected'), { ...publish, reason }, undefined);
  }

  /**
   * Reports an invalid publish of an access token about a device, which is not told.
   *
   * @param context undefined when there is no such device in the location: then it is only counted
   */
  reportOfToken(
    deviceId: string,
    context: DeviceContext | undefined,
    reason: InvalidPublishReason,
    publish: Omit<InvalidPublish, 'reason'>,
  ): void {
    if (context === undefined) this.#count(reason, deviceId, publish.topic);
    else this.#reportToLocation(context, reason, publish);
  }

  #reportToLocation(
    context: DeviceContext,
    reason: InvalidPublishReason,
    publish: Omit<InvalidPublish, 'reason'>,
  ): void {
    const invalidPublish = { ...publish, reason };
    const [deviceId, locationId] = [context.device.id, context.location.id];
    this.#count(reason, deviceId, publish.topic);
    this.#publish(forwardedTopic(locationId, deviceId, 'rejected'), invalidPublish, context);
    this.#list(locationId, { deviceId, groupId: context.group?.id ?? null, invalidPublish });
  }

  #count(reason: InvalidPublishReason, deviceId: string, topic: string): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    this.#log.warn({ deviceId, topic, reason }, 'invalid publish');
  }

  #list(locationId: string, listed: ListedInvalidPublish): void {
    const unstored = this.#unstored.get(locationId) ?? { listed: [], bytes: 0 };
    this.#unstored.set(locationId, unstored);
    unstored.listed.push(listed);
    unstored.bytes += listed.invalidPublish.payload.length;
    while (unstored.listed.length > MAX_UNSTORED || unstored.bytes > MAX_UNSTORED_BYTES) {
      unstored.bytes -= unstored.listed.shift()?.invalidPublish.payload.length ?? 0;
    }
    if (!this.#isStoring) void this.#storeAll();
  }

  /** Stores what has come while the last ones were stored: in a flood, many with one write. */
  async #storeAll(): Promise<void> {
    this.#isStoring = true;
    while (this.#unstored.size > 0) {
      const unstored = this.#unstored;
      this.#unstored = new Map();
      const writes = Array.from(unstored, async ([locationId, { listed }]) => {
        try {
          await this.#store.add(locationId, listed);
        } catch (error) {
          const count = listed.length;
          this.#log.warn({ err: error, locationId, count }, 'failed to list invalid publishes');
        }
      });
      await Promise.all(writes);
    }
    this.#isStoring = false;
  }

  #publish(
    topic: string,
    invalidPublish: InvalidPublish,
    context: DeviceContext | undefined,
  ): void {
    const locationId = context?.location.id ?? null;
    const groupId = context?.group?.id ?? null;
    // In a flood, rendering what nobody gets would cost more than all else.
    if (!this.#deliveries.hasReceivers({ topic, locationId, groupId })) return;
    const payload = Buffer.from(invalidPublishText(invalidPublish, context));
    this.#deliveries.publishDirect({ topic, payload, qos: 1, retain: false, locationId, groupId });
  }
}
