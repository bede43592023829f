import type { Logger } from 'pino';
import type { Router } from '../delivery/router.js';
import type { RejectionReason } from '../domain/alarms.js';
import type { DeviceContext, Rejection } from '../domain/messages.js';
import { rejectedText } from '../domain/messages.js';
import { deviceTopic, forwardedTopic } from '../domain/topics.js';

/** Where the device is that sent it: what decides who may see it. */
export interface RejectionPlace {
  readonly locationId: string;
  readonly groupId: string | null;
}

/** Where the bounded list of rejected publishes is kept. */
export interface RejectionStore {
  add(place: RejectionPlace, deviceId: string, rejection: Rejection): Promise<void>;
}

/** How many may be on their way to the list: while the store is away they must not fill the memory. */
const MAX_UNSTORED = 256;

/** What becomes of a publish that cannot be used: told, counted and kept, never lost silently. */
export class Rejections {
  readonly #router: Router;
  readonly #store: RejectionStore;
  readonly #log: Logger;
  readonly #counts = new Map<RejectionReason, number>();
  #unstored = 0;

  constructor(router: Router, store: RejectionStore, log: Logger) {
    this.#router = router;
    this.#store = store;
    this.#log = log;
  }

  /** How many there were since the start, by reason. */
  get counts(): ReadonlyMap<RejectionReason, number> {
    return this.#counts;
  }

  /** Does not wait for the list: a publish that is useless must never make a device wait or loop. */
  reject(
    context: DeviceContext,
    reason: RejectionReason,
    publish: Omit<Rejection, 'reason'>,
  ): void {
    const rejection = { ...publish, reason };
    const [deviceId, locationId] = [context.device.id, context.location.id];
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    this.#log.warn({ deviceId, topic: publish.topic, reason }, 'publish rejected');
    this.#publish(forwardedTopic(locationId, deviceId, 'rejected'), rejection, context);
    this.#publish(deviceTopic(deviceId, 'rejected'), rejection, undefined);
    const place = { locationId, groupId: context.group?.id ?? null };
    this.#keep(place, deviceId, rejection).catch((error: unknown) => {
      this.#log.warn({ err: error, deviceId }, 'rejected publish not kept in the list');
    });
  }

  async #keep(place: RejectionPlace, deviceId: string, rejection: Rejection): Promise<void> {
    if (this.#unstored >= MAX_UNSTORED) {
      this.#log.warn({ deviceId }, 'rejected publish not kept in the list: too many wait');
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
    this.#router.publishDirect({
      topic,
      payload: Buffer.from(rejectedText(rejection, context)),
      qos: 1,
      retain: false,
      locationId: context?.location.id ?? null,
      groupId: context?.group?.id ?? null,
    });
  }
}
