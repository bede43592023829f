import type { Logger } from 'pino';
import type { DirectMessage } from './direct-queue.js';
import type { RetainedMessages } from './retained-messages.js';
import type { QoS } from './subscriptions.js';

/** Values of one topic that may be on their way to the store; more wait only while it is away. */
const MAX_UNDER_WAY = 16;
/** Every topic is retried: a store that takes no writes has the alarms to refuse as well. */
const RETRY_AFTER_MS = 1_000;

interface Caller {
  readonly qos: QoS;
  readonly resolve: (isOfUse: boolean) => void;
}

interface Lane {
  underWay: number;
  /** The newest value, whether or not it has been sent to the store. */
  newest: DirectMessage;
  /** Callers whose value the store has refused; no newer one has been stored since. */
  refused: Caller[];
  /** Callers whose value has not been sent to the store. */
  waiting: Caller[];
}

/**
 * Keeps only the newest waiting value of each topic.
 *
 * A bed mat that publishes a weight every second must not fill the memory while the store is away. Nor must it
 * lose the connection, over which its alarms come, when the store refuses to write: any error is an outage, as
 * it is to `LogWriter`.
 */
export class NewestRetained implements RetainedMessages {
  readonly #retained: RetainedMessages;
  readonly #log: Logger;
  /** By topic. */
  readonly #lanes = new Map<string, Lane>();
  /** Values of all topics on their way to the store. */
  #underWay = 0;
  /** When the store last answered, or was last asked with no request pending. */
  #answeredAtMs = 0;
  /** Present after a refusal: nothing is sent until then. */
  #retry: NodeJS.Timeout | undefined;
  #hasFailed = false;
  #isStopped = false;

  constructor(retained: RetainedMessages, log: Logger) {
    this.#retained = retained;
    this.#log = log;
  }

  /**
   * Stores a value, or the newer one that takes its place, as soon as the store takes it.
   *
   * A QoS 0 value that is outdated before it is stored is of use to nobody. A QoS 1 value counts as
   * stored once the newer one is.
   */
  store(message: DirectMessage): Promise<boolean> {
    const { topic, qos } = message;
    const lane = this.#lanes.get(topic) ?? newLane(message);
    this.#lanes.set(topic, lane);
    lane.newest = message;
    lane.refused = ofUseWith(lane.refused);
    return new Promise((resolve) => {
      lane.waiting = [...ofUseWith(lane.waiting), { qos, resolve }];
      this.#sendNext(topic, lane);
    });
  }

  /** How long the store has not answered pending requests, in milliseconds. */
  get unansweredMs(): number {
    return this.#underWay > 0 ? performance.now() - this.#answeredAtMs : 0;
  }

  /** Notes an answer of the store. That a message is beyond a quota is none: the store was not asked. */
  answered(): void {
    this.#answeredAtMs = performance.now();
  }

  matching(filters: readonly string[]): AsyncIterableIterator<readonly DirectMessage[]> {
    return this.#retained.matching(filters);
  }

  /** Gives up values that are not stored, none of which was acknowledged. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#retry);
  }

  #sendNext(topic: string, lane: Lane): void {
    const { newest, refused, waiting, underWay } = lane;
    if (this.#isStopped || this.#retry !== undefined || underWay >= MAX_UNDER_WAY) return;
    // The values under way are newer than those refused, and are forwarded after them.
    if (refused.length > 0 ? underWay > 0 : waiting.length === 0) return;
    const callers = [...refused, ...waiting];
    [lane.refused, lane.waiting] = [[], []];
    lane.underWay++;
    if (this.#underWay === 0) this.#answeredAtMs = performance.now();
    this.#underWay++;
    this.#retained
      .store(newest)
      .then(
        () => {
          this.#hasFailed = false;
          for (const { resolve } of [...lane.refused.splice(0), ...callers]) resolve(true);
        },
        (error: unknown) => {
          lane.refused.push(...(newest === lane.newest ? callers : ofUseWith(callers)));
          this.#failed(error);
        },
      )
      .finally(() => {
        lane.underWay--;
        this.#underWay--;
        if (lane.underWay + lane.refused.length + lane.waiting.length === 0)
          this.#lanes.delete(topic);
        else this.#sendNext(topic, lane);
      });
  }

  /** One log line for an outage, however often values are retried. */
  #failed(error: unknown): void {
    if (this.#isStopped) return;
    if (!this.#hasFailed) {
      this.#log.warn({ part: 'retained', err: error }, 'failed to store a retained message');
    }
    this.#hasFailed = true;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      for (const [topic, lane] of this.#lanes) this.#sendNext(topic, lane);
    }, RETRY_AFTER_MS);
  }
}

function newLane(newest: DirectMessage): Lane {
  return { underWay: 0, newest, refused: [], waiting: [] };
}

/** The callers that go on waiting once there is a newer value. */
function ofUseWith(outdated: readonly Caller[]): Caller[] {
  for (const { qos, resolve } of outdated) if (qos === 0) resolve(false);
  return outdated.filter(({ qos }) => qos > 0);
}
