import type { Logger } from 'pino';
import type { Deliveries } from '../delivery/deliveries.js';
import type { InvalidPublishReason } from '../domain/alarms.js';
import { type DeviceContext, type InvalidPublish, invalidPublishText } from '../domain/messages.js';
import { deviceTopic, forwardedTopic } from '../domain/topics.js';

/** The place of the publishing device, which decides who may see its invalid publishes. */
export interface InvalidPublishPlace {
  readonly locationId: string;
  readonly groupId: string | null;
}

/** Keeps the bounded list of invalid publishes. */
export interface InvalidPublishStore {
  add(place: InvalidPublishPlace, deviceId: string, invalidPublish: InvalidPublish): Promise<void>;
}

/**
 * Invalid publishes on their way to the list: while the store is away they must not fill the
 * memory.
 */
const MAX_UNSTORED = 256;

/** Reports invalid publishes: on their topics, in a count and in a list. */
export class InvalidPublishes {
  readonly #deliveries: Deliveries;
  readonly #store: InvalidPublishStore;
  readonly #log: Logger;
  readonly #counts = new Map<InvalidPublishReason, number>();
  #unstored = 0;

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
    const invalidPublish = { ...publish, reason };
    const [deviceId, locationId] = [context.device.id, context.location.id];
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    this.#log.warn({ deviceId, topic: publish.topic, reason }, 'invalid publish');
    this.#publish(forwardedTopic(locationId, deviceId, 'rejected'), invalidPublish, context);
    this.#publish(deviceTopic(deviceId, 'rejected'), invalidPublish, undefined);
    const place = { locationId, groupId: context.group?.id ?? null };
    this.#keep(place, deviceId, invalidPublish).catch((error: unknown) => {
      this.#log.warn({ err: error, deviceId }, 'failed to list an invalid publish');
    });
  }

  async #keep(
    place: InvalidPublishPlace,
    deviceId: string,
    invalidPublish: InvalidPublish,
  ): Promise<void> {
    if (this.#unstored >= MAX_UNSTORED) {
      this.#log.warn(
        { deviceId },
        'failed to list an invalid publish: too many are on their way to the store',
      );
      return;
    }
    this.#unstored++;
    try {
      await this.#store.add(place, deviceId, invalidPublish);
    } finally {
      this.#unstored--;
    }
  }

  #publish(
    topic: string,
    invalidPublish: InvalidPublish,
    context: DeviceContext | undefined,
  ): void {
    this.#deliveries.publishDirect({
      topic,
      payload: Buffer.from(invalidPublishText(invalidPublish, context)),
      qos: 1,
      retain: false,
      locationId: context?.location.id ?? null,
      groupId: context?.group?.id ?? null,
    });
  }
}
