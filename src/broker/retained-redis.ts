import type { RedisPersistence } from 'aedes-persistence-redis';
import { z } from 'zod';
import type { DirectMessage } from '../delivery/direct-queue.js';
import type {
  RetainedMessages,
  RetainedTopic,
  RetainedTopics,
} from '../delivery/retained-messages.js';
import { FilterTree } from '../domain/filter-tree.js';
import { parseForwardedTopic } from '../domain/topics.js';
import { type StoreHeadroom, storedBytesOf } from '../site/store-headroom.js';

const packetSchema = z.object({
  topic: z.string(),
  payload: z.instanceof(Buffer),
  qos: z.number(),
  groupId: z.string().nullable().default(null),
  givenIn: z.string().optional(),
});

const BYTES_PER_PAGE = 64 * 1024;
/** The guess for a message whose topic was given and not looked up. */
const BYTES_OF_ANY = 8 * 1024;
const WILDCARD = /[+#]/;
const NOTHING = Buffer.alloc(0);

/**
 * Stores retained messages in aedes-persistence-redis, each with its group, a command with its location.
 *
 * The group is the one that the device was in when the message was published: grants on other
 * groups do not show it.
 */
export class RetainedRedis implements RetainedMessages {
  readonly #persistence: RedisPersistence;
  readonly #topics: RetainedTopics;
  readonly #headroom: StoreHeadroom;
  /** Messages whose predecessor's size is being asked for. */
  #looking = 0;
  /** The last page that was asked for: of all subscribers, one is read at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(persistence: RedisPersistence, topics: RetainedTopics, headroom: StoreHeadroom) {
    this.#persistence = persistence;
    this.#topics = topics;
    this.#headroom = headroom;
  }

  /** Resolves to whether the message is retained: an expendable one is not when the store runs short. */
  async store(message: DirectMessage): Promise<boolean> {
    const isLooking =
      message.isExpendable === true && !this.#headroom.isAmpleForRetained(storedBytesOf(message));
    // What comes after one that is being looked at must not overtake it.
    if (isLooking || this.#looking > 0) return this.#putIfRoom(message);
    await this.#put(message);
    return true;
  }

  async #putIfRoom(message: DirectMessage): Promise<boolean> {
    const { topic, payload, isExpendable } = message;
    this.#looking++;
    const bytes = await this.#topics.bytesOf(topic).finally(() => this.#looking--);
    const isAmple = this.#headroom.isAmpleForRetained(storedBytesOf(message));
    const isRoom = isAmple || bytes >= payload.length;
    if (isExpendable !== true || isRoom) {
      await this.#put(message);
      return true;
    }
    this.#headroom.notTaken('retained');
    await this.#put({ ...message, payload: NOTHING });
    return false;
  }

  async #put(message: DirectMessage): Promise<void> {
    const { topic, payload, qos, groupId, givenIn } = message;
    const packet = { cmd: 'publish', topic, payload, qos, retain: true, dup: false } as const;
    const bytes = storedBytesOf(message);
    this.#headroom.reserve(bytes);
    await this.#persistence
      .storeRetained({ ...packet, groupId, ...(givenIn !== undefined && { givenIn }) })
      .finally(() => this.#headroom.stored(bytes));
  }

  /**
   * Returns each message once under overlapping filters; twice, perhaps, while Redis' hash grows.
   *
   * The library would send all values of all topics for a wildcard (DEPENDENCY-FAULTS 12). So topics are
   * listed first, and values read of those that match.
   */
  async *matching(filters: readonly string[]): AsyncGenerator<readonly DirectMessage[]> {
    const tree = new FilterTree<string>();
    for (const filter of filters) tree.add(filter, filter);
    for await (const topics of this.#listed(filters)) {
      const matching = topics.filter(({ topic }) => tree.match(topic).size > 0);
      for (const page of pagesOf(matching)) {
        yield await this.#inTurn(() => this.#read(page));
      }
    }
  }

  async *#listed(filters: readonly string[]): AsyncGenerator<readonly RetainedTopic[]> {
    if (!filters.some((filter) => WILDCARD.test(filter))) {
      yield filters.map((topic) => ({ topic, bytes: BYTES_OF_ANY }));
      return;
    }
    const lists = this.#topics.startingWith(commonPrefix(filters))[Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await this.#inTurn(() => lists.next());
      if (done === true) return;
      yield value;
    }
  }

  async #read(topics: readonly RetainedTopic[]): Promise<DirectMessage[]> {
    const found = await Promise.all(topics.map(({ topic }) => this.#messageOf(topic)));
    return found.filter((message) => message !== undefined);
  }

  async #messageOf(topic: string): Promise<DirectMessage | undefined> {
    for await (const packet of this.#persistence.createRetainedStreamCombi([topic])) {
      const { payload, qos, groupId, givenIn } = packetSchema.parse(packet);
      const locationId = parseForwardedTopic(topic)?.locationId ?? null;
      return {
        topic,
        payload,
        qos: qos === 0 ? 0 : 1,
        retain: true,
        locationId,
        groupId,
        givenIn,
      };
    }
    return undefined;
  }

  /** Does the work after what was asked for before: many subscribers must not delay alarms. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work);
    // The caller gets the error; the next read goes ahead all the same.
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

/** Divides topics into pages of bounded size, of one message at least. */
function* pagesOf(topics: readonly RetainedTopic[]): Generator<readonly RetainedTopic[]> {
  let page: RetainedTopic[] = [];
  let pageBytes = 0;
  for (const topic of topics) {
    if (page.length > 0 && pageBytes + topic.bytes > BYTES_PER_PAGE) {
      yield page;
      [page, pageBytes] = [[], 0];
    }
    page.push(topic);
    pageBytes += topic.bytes;
  }
  if (page.length > 0) yield page;
}

/** The text with which every topic begins that one of the filters matches. */
function commonPrefix(filters: readonly string[]): string {
  // `a/#` matches `a` as well [MQTT-4.7.1-2].
  const fixed = filters.map((filter) => filter.replace(/\/?[+#].*$/, ''));
  const [first = '', last = ''] = [fixed.toSorted()[0], fixed.toSorted().at(-1)];
  let length = 0;
  while (length < first.length && first[length] === last[length]) length++;
  return first.slice(0, length);
}
