import type { Logger } from 'pino';
import type { Deliveries } from '../delivery/deliveries.js';
import type { RejectionReason } from '../domain/alarms.js';
import { type DeviceContext, type Rejection, rejectedText } from '../domain/messages.js';
import { deviceTopic, forwardedTopic } from '../domain/topics.js';

/** Where the publishing device is: decides who may see its invalid publishes. */
export interface RejectionPlace {
  readonly locationId: string;
  readonly groupId: string | null;
}

/** Keeps the bounded list of invalid publishes. */
export interface RejectionStore {
  add(place: RejectionPlace, deviceId: string, rejection: Rejection): Promise<void>;
}

/** How many may be on their way to the list: while the store is away they must not fill the memory. */
const MAX_UNSTORED = 256;

/** Reports publishes that cannot be used: on their topics, in a count and in a list. */
export class InvalidPublishes {
  readonly #deliveries: Deliveries;
  readonly #store: RejectionStore;
  readonly #log: Logger;
  readonly #counts = new Map<RejectionReason, number>();
  #unstored = 0;

  constructor(deliveries: Deliveries, store: RejectionStore, log: Logger) {
    this.#deliveries = deliveries;
    this.#store = store;
    this.#log = log;
  }

  /** Invalid publishes since the start, by reason. */
  get counts(): ReadonlyMap<RejectionReason, number> {
    return this.#counts;
  }

  /** Does not wait for the list: an invalid publish must never make its device wait or loop. */
  report(
    context: DeviceContext,
    reason: RejectionReason,
    publish: Omit<Rejection, 'reason'>,
  ): void {
    const rejection = { ...publish, reason };
    const [deviceId, locationId] = [context.device.id, context.location.id];
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    this.#log.warn({ deviceId, topic: publish.topic, reason }, 'invalid publish');
    this.#publish(forwardedTopic(locationId, deviceId, 'rejected'), rejection, context);
    this.#publish(deviceTopic(deviceId, 'rejected'), rejection, undefined);
    const place = { locationId, groupId: context.group?.id ?? null };
    this.#keep(place, deviceId, rejection).catch((error: unknown) => {
      this.#log.warn({ err: error, deviceId }, 'failed to list an invalid publish');
    });
  }

  async #keep(place: RejectionPlace, deviceId: string, rejection: Rejection): Promise<void> {
    if (this.#unstored >= MAX_UNSTORED) {
      this.#log.warn(
        { deviceId },
        'invalid publish not listed: too many are on their way to the store',
      );
      return;
    }
    this.#unstored++;
    try {
      await this.#store.add(place, deviceId, rejection);
    } finally {
      this.#unstored--;
    }
  }

  #publish(topic: string, rejection: Rejection, context: DeviceContext | undefined): void {
    this.#deliveries.publishDirect({
      topic,
      payload: Buffer.from(rejectedText(rejection, context)),
      qos: 1,
      retain: false,
      locationId: context?.location.id ?? null,
      groupId: context?.group?.id ?? null,
    });
  }
}
