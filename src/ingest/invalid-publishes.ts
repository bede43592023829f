import type { Logger } from 'pino';
import type { Forwarder } from '../delivery/forwarder.js';
import type { Router } from '../delivery/router.js';
import type { InvalidPublishReason } from '../domain/alarm.js';
import { type DeviceContext, type InvalidPublish, invalidPublishText } from '../domain/messages.js';
import { deviceTopic, forwardedTopic } from '../domain/topics.js';
import { oneAtATime } from '../releasers.js';

import type { InvalidPublishStoreRedis } from '../store/lists.js';

type Done = (isStored: boolean) => void;

/** An invalid publish to list, with its device and the group that decides who may see it. */
export interface ListedInvalidPublish {
  readonly deviceId: string;
  readonly groupId: string | null;
  readonly invalidPublish: InvalidPublish;
}

/**
 * A location's invalid publishes on their way to the list; beyond that, the oldest are dropped.
 *
 * While the store is away they must not fill the memory.
 */
const MAX_UNSTORED = 1_000;
const MAX_UNSTORED_BYTES = 1024 * 1024;

export interface InvalidPublishesOptions {
  readonly router: Pick<Router, 'isWanted' | 'publishDirect'>;
  readonly forwarder: Pick<Forwarder, 'forward'>;
  readonly store: Pick<InvalidPublishStoreRedis, 'add'>;
  readonly log: Logger;
  /** The steady clock. */
  readonly steadyNow: () => number;
}

interface Unstored {
  readonly listed: ListedInvalidPublish[];
  bytes: number;
}

/** Reports invalid publishes: on their topics, in a count and in a list. */
export class InvalidPublishes {
  readonly #options: InvalidPublishesOptions;
  readonly #counts = new Map<InvalidPublishReason, number>();
  /** By location. */
  #unstored = new Map<string, Unstored>();
  /** Stores what arrived during the last write: in a flood, many with one write. */
  readonly #store = oneAtATime(() => this.#storeAll());

  constructor(options: InvalidPublishesOptions) {
    this.#options = options;
  }

  /** Invalid publishes since the start, by reason. */
  get counts(): ReadonlyMap<InvalidPublishReason, number> {
    return this.#counts;
  }

  /**
   * Reports a device's invalid publish.
   *
   * @param done called once it is stored for the subscribers that are away, and may be acknowledged; it does
   *   not wait for the list
   */
  report(context: DeviceContext, publish: InvalidPublish, done: Done): void {
    const topic = deviceTopic(context.device.id, 'rejected');
    const own = { topic, locationId: null, groupId: null };
    const { router, steadyNow } = this.#options;
    if (router.isWanted(own)) {
      const payload = Buffer.from(invalidPublishText(publish, undefined));
      router.publishDirect({ ...own, payload, receivedAtMs: steadyNow() });
    }
    this.#reportToLocation(context, publish, done);
  }

  /**
   * Reports an invalid publish of an access token about a device; the device is not told.
   *
   * @param context undefined when the location has no such device: the publish is then only counted
   */
  reportOfToken(
    deviceId: string,
    context: DeviceContext | undefined,
    publish: InvalidPublish,
    done: Done,
  ): void {
    if (context !== undefined) {
      this.#reportToLocation(context, publish, done);
      return;
    }
    this.#count(deviceId, publish);
    done(true);
  }

  #reportToLocation(context: DeviceContext, invalidPublish: InvalidPublish, done: Done): void {
    const [deviceId, locationId] = [context.device.id, context.location.id];
    const groupId = context.group?.id ?? null;
    this.#count(deviceId, invalidPublish);
    this.#list(locationId, { deviceId, groupId, invalidPublish });
    const topic = forwardedTopic(locationId, deviceId, 'rejected');
    const { router, forwarder, steadyNow } = this.#options;
    // In a flood, rendering what nobody receives would cost more than everything else.
    if (!router.isWanted({ topic, locationId, groupId })) {
      done(true);
      return;
    }
    const payload = Buffer.from(invalidPublishText(invalidPublish, context));
    const receivedAtMs = steadyNow();
    forwarder.forward(
      { topic, payload, qos: 1, retain: false, receivedAtMs, locationId, groupId },
      done,
    );
  }

  #count(deviceId: string, { reason, topic }: InvalidPublish): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    this.#options.log.warn({ deviceId, topic, reason }, 'invalid publish');
  }

  #list(locationId: string, listed: ListedInvalidPublish): void {
    const unstored = this.#unstored.get(locationId) ?? { listed: [], bytes: 0 };
    this.#unstored.set(locationId, unstored);
    unstored.listed.push(listed);
    unstored.bytes += listed.invalidPublish.payload.length;
    while (unstored.listed.length > MAX_UNSTORED || unstored.bytes > MAX_UNSTORED_BYTES) {
      unstored.bytes -= unstored.listed.shift()?.invalidPublish.payload.length ?? 0;
    }
    void this.#store();
  }

  async #storeAll(): Promise<void> {
    const unstored = this.#unstored;
    this.#unstored = new Map();
    const writes = Array.from(unstored, async ([locationId, { listed }]) => {
      try {
        await this.#options.store.add(locationId, listed);
      } catch (err) {
        const count = listed.length;
        this.#options.log.warn({ err, locationId, count }, 'failed to list invalid publishes');
      }
    });
    await Promise.all(writes);
  }
}
