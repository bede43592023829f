import type { DirectMessage } from './direct-queue.js';
import type { RetainedMessages } from './retained-messages.js';

/** Values of one topic that may be on their way to the store; more wait only while it is away. */
const MAX_UNDER_WAY = 16;

interface Caller {
  readonly resolve: (isOfUse: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** The newest value of a topic that has not been sent to the store. */
interface Waiting {
  readonly message: DirectMessage;
  readonly callers: readonly Caller[];
}

interface Lane {
  underWay: number;
  next: Waiting | undefined;
}

/**
 * Keeps only the newest waiting value of each topic.
 *
 * A bed mat that publishes a weight every second must not fill the memory while the store is away.
 */
export class NewestRetained implements RetainedMessages {
  readonly #retained: RetainedMessages;
  /** By topic. */
  readonly #lanes = new Map<string, Lane>();
  /** Values of all topics on their way to the store. */
  #underWay = 0;
  /** When the store last answered, or was last asked with no request pending. */
  #answeredAtMs = 0;

  constructor(retained: RetainedMessages) {
    this.#retained = retained;
  }

  /**
   * Stores a value, or the newer one that takes its place.
   *
   * A QoS 0 value that is outdated before it is stored is of use to nobody. A QoS 1 value counts as
   * stored once the newer one is.
   */
  store(message: DirectMessage): Promise<boolean> {
    const lane = this.#lanes.get(message.topic) ?? { underWay: 0, next: undefined };
    this.#lanes.set(message.topic, lane);
    return new Promise((resolve, reject) => {
      const callers = [...this.#supersede(lane), { resolve, reject }];
      lane.next = { message, callers };
      this.#sendNext(message.topic, lane);
    });
  }

  /** How long the store has not answered pending requests, in milliseconds. */
  get unansweredMs(): number {
    return this.#underWay > 0 ? performance.now() - this.#answeredAtMs : 0;
  }

  matching(filters: readonly string[]): AsyncIterableIterator<readonly DirectMessage[]> {
    return this.#retained.matching(filters);
  }

  /** Callers that go on waiting for the newer value. */
  #supersede({ next }: Lane): readonly Caller[] {
    if (next === undefined || next.message.qos > 0) return next?.callers ?? [];
    const [own, ...others] = next.callers.toReversed();
    own?.resolve(false);
    return others.toReversed();
  }

  #sendNext(topic: string, lane: Lane): void {
    const { next } = lane;
    if (next === undefined || lane.underWay >= MAX_UNDER_WAY) return;
    lane.next = undefined;
    lane.underWay++;
    if (this.#underWay === 0) this.#answeredAtMs = performance.now();
    this.#underWay++;
    this.#retained
      .store(next.message)
      .then(
        () => {
          for (const { resolve } of next.callers) resolve(true);
        },
        (error: unknown) => {
          for (const { reject } of next.callers) reject(error);
        },
      )
      .finally(() => {
        lane.underWay--;
        this.#underWay--;
        this.#answeredAtMs = performance.now();
        if (lane.underWay === 0 && lane.next === undefined) this.#lanes.delete(topic);
        else this.#sendNext(topic, lane);
      });
  }
}
