/**
 * The last retained message of each topic.
 *
 * All are in memory, so a subscriber gets the newest even while the store is away; the store gets them afterwards. A
 * message beyond a quota is forwarded but not retained: its topic then has none instead of an outdated one.
 */
import type { Logger } from 'pino';
import { fault } from '../domain/fault.js';
import { TopicTree } from '../domain/filter-tree.js';
import type { RetainedQuotas } from '../domain/limits.js';
import { forwardedTopic, parseCommandTopic, parseForwardedTopic } from '../domain/topics.js';
import { hasExpired } from '../mqtt/message-properties.js';
import { oneAtATime } from '../releasers.js';
import type { QuotaWatch } from '../site/access/quota-watch.js';
import { within } from '../site/clock/pause.js';
import type { Health } from '../site/health/health.js';
import type { StoreHeadroom } from '../site/health/store-headroom.js';
import { bytesOfMessage, copyOf, type Message } from './message.js';

const FAULT = 'retained';
const MIB = 1024 * 1024;
const ALL = ['#'];
/** Memory of a message besides topic and payload, and of each level of its topic. */
const BYTES_BESIDE = 512;
const BYTES_A_LEVEL = 200;
/** Below this part of all bytes, there is room again. */
const ROOM_AGAIN = 0.9;

/** The retained messages of a device, or the commands to it. */
interface Account {
  topics: number;
  bytes: number;
}

export interface RetainedMessagesOptions {
  readonly store: RetainedStore;
  readonly headroom: StoreHeadroom;
  /** For the messages of a device, and for the commands to it. */
  readonly quotas: RetainedQuotas;
  /** For all messages together. */
  readonly maxBytes: number;
  readonly watch: Pick<QuotaWatch, 'exceeded'>;
  readonly health: Pick<Health, 'report'>;
  readonly log: Logger;
}

export class RetainedMessages {
  readonly writer: RetainedWriter;
  readonly #options: RetainedMessagesOptions;
  readonly #messages = new TopicTree<Message>();
  /** By the name of the holder. */
  readonly #accounts = new Map<string, Account>();
  /** The topics whose message expires. */
  readonly #expiring = new Set<string>();
  /** Readers waiting for their turn. */
  readonly #waiting: (() => void)[] = [];
  #bytes = 0;
  #isFull = false;

  constructor(options: RetainedMessagesOptions) {
    this.#options = options;
    this.writer = new RetainedWriter(this, options);
  }

  /** Takes over everything an earlier run has retained: a lowered limit only refuses new messages. */
  async load(stored: AsyncIterable<Message>): Promise<void> {
    for await (const message of stored) this.#keep(message);
  }

  get(topic: string): Message | undefined {
    return this.#messages.get(topic);
  }

  /**
   * The messages that match any of the filters, each once and as it is when its turn comes.
   *
   * Yields undefined now and then: a reader that is in no hurry then continues through `later`.
   */
  matching(filters: readonly string[]): Generator<Message | undefined> {
    return this.#messages.match(filters);
  }

  /** Calls back one reader per turn of the event loop: many subscribers must not delay alarms. */
  later(resume: () => void): void {
    this.#waiting.push(resume);
    if (this.#waiting.length === 1) setImmediate(this.#resumeNext);
  }

  readonly #resumeNext = (): void => {
    const [resume] = this.#waiting;
    resume?.();
    this.#waiting.shift();
    if (this.#waiting.length > 0) setImmediate(this.#resumeNext);
  };

  /**
   * Retains a message; an empty payload removes it [MQTT-3.3.1-10].
   *
   * @returns resolves once the store has this message, or a newer one of its topic
   */
  set(message: Message): Promise<void> {
    const { topic, payload } = message;
    this.#uncount(topic);
    if (payload.length > 0 && this.#hasRoom(message)) this.#keep(message);
    else this.#messages.delete(topic);
    return this.writer.write(topic);
  }

  /** Removes a message; subscribers are not told. */
  remove(topic: string): void {
    if (!this.#uncount(topic)) return;
    this.#messages.delete(topic);
    void this.writer.write(topic);
  }

  /** Removes the retained messages of a device at a location, and the commands given to it there. */
  forget(deviceId: string, locationId: string): void {
    const filters = [forwardedTopic(locationId, deviceId, '#'), `devices/${deviceId}/commands/#`];
    for (const message of this.matching(filters)) {
      if (message !== undefined && placeOf(message) === locationId) this.remove(message.topic);
    }
  }

  /** Removes expired messages, which would otherwise count towards the quotas. */
  removeExpired(nowMs: number): void {
    for (const topic of this.#expiring) {
      const properties = this.get(topic)?.properties;
      if (properties !== undefined && hasExpired(properties, nowMs)) this.remove(topic);
    }
  }

  /**
   * Removes messages of devices, and commands to them, left behind by an earlier run.
   *
   * @param isStray called with the device and its location at the time of the message
   */
  removeStray(isStray: (deviceId: string, locationId: string | undefined) => boolean): void {
    for (const message of this.matching(ALL)) {
      const { topic = '' } = message ?? {};
      const deviceId = parseForwardedTopic(topic)?.deviceId ?? parseCommandTopic(topic);
      if (deviceId !== undefined && message && isStray(deviceId, placeOf(message)))
        this.remove(topic);
    }
  }

  /**
   * Stores everything again in a store that went back to an earlier state.
   *
   * @param topics the topics in the store: messages removed since are removed again
   */
  storeAll(topics: readonly string[]): void {
    for (const topic of topics) void this.writer.write(topic);
    for (const message of this.matching(ALL)) if (message) void this.writer.write(message.topic);
  }

  #keep(message: Message): void {
    const { topic, properties } = message;
    // A copy: a slice of a network chunk would keep the whole chunk in memory.
    const own = properties && { ...properties, fields: copyOf(properties.fields) };
    const kept = { ...message, payload: copyOf(message.payload), properties: own, retain: true };
    this.#messages.set(topic, kept);
    if (own?.expiresAtMs !== undefined) this.#expiring.add(topic);
    this.#count(kept, 1);
  }

  /** Returns whether the topic has a message. */
  #uncount(topic: string): boolean {
    const former = this.#messages.get(topic);
    if (former === undefined) return false;
    this.#expiring.delete(topic);
    this.#count(former, -1);
    return true;
  }

  /** Whether the quotas have room; the gateway's own statuses always have room. */
  #hasRoom(message: Message): boolean {
    const { watch, maxBytes, quotas } = this.#options;
    const holder = holderOf(message.topic);
    if (holder === undefined) return true;
    const bytes = bytesOf(message);
    const { topics, bytes: held } = this.#accounts.get(holder) ?? { topics: 0, bytes: 0 };
    if (topics >= quotas.retainedTopics || held + bytes > quotas.retainedBytes) {
      watch.exceeded('retained', holder.replace(COMMANDS, ''));
      return false;
    }
    const total = this.#bytes + bytes + BYTES_BESIDE;
    if (total > maxBytes) this.#report(true);
    else if (total < ROOM_AGAIN * maxBytes) this.#report(false);
    return total <= maxBytes;
  }

  /** @param sign 1 for a message that is now retained, -1 for one that no longer is */
  #count(message: Message, sign: 1 | -1): void {
    const bytes = sign * bytesOf(message);
    this.#bytes += bytes + sign * BYTES_BESIDE;
    const holder = holderOf(message.topic);
    if (holder === undefined) return;
    const account = this.#accounts.get(holder) ?? { topics: 0, bytes: 0 };
    account.topics += sign;
    account.bytes += bytes;
    if (account.topics === 0) this.#accounts.delete(holder);
    else this.#accounts.set(holder, account);
  }

  #report(isFull: boolean): void {
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    const { health, maxBytes } = this.#options;
    const full = fault('retainedFull', { mebibytes: Math.floor(maxBytes / MIB) });
    health.report(FAULT, isFull ? full : undefined);
  }
}

/** Begins the holder of commands: a token has sent them, so they count apart from what their device sends. */
const COMMANDS = 'commands of ';

/** Whose quota a topic counts for. A device's status, which the gateway publishes, counts for none. */
function holderOf(topic: string): string | undefined {
  const commanded = parseCommandTopic(topic);
  if (commanded !== undefined) return `${COMMANDS}device:${commanded}`;
  const { locationId = '', deviceId } = parseForwardedTopic(topic) ?? {};
  if (deviceId === undefined || topic === forwardedTopic(locationId, deviceId, 'status'))
    return undefined;
  return `device:${deviceId}`;
}

/** The location where a device's message was retained, or its command given. */
function placeOf({ topic, givenIn }: Message): string | undefined {
  return parseForwardedTopic(topic)?.locationId ?? givenIn;
}

function bytesOf(message: Message): number {
  const { topic } = message;
  return topic.length + BYTES_A_LEVEL * topic.split('/').length + bytesOfMessage(message);
}

/** Bytes that the store keeps besides a message, and the factor by which its blocks exceed their content. */
const STORED_BESIDE_BYTES = 256;
const BLOCK_FACTOR = 1.25;
const TOPICS_A_WRITE = 250;
const STOP_TIMEOUT_MS = 1_000;
/** How often `retry` should be called. */
export const RETAINED_RETRY_MS = 1_000;

/** Where retained messages are kept across runs. */
export interface RetainedStore {
  /** The topics that have a message. */
  topics(): Promise<string[]>;
  /** The messages of the topics; those that cannot be read are reported instead. */
  load(topics: readonly string[], onUnreadable: (topic: string) => void): AsyncIterable<Message>;
  /** Stores the message of its topic. */
  put(message: Message): Promise<void>;
  /** Removes the message of a topic. */
  remove(topic: string): Promise<void>;
}

/** A topic whose newest message the store does not have. */
interface Unstored {
  readonly stored: Promise<void>;
  readonly resolve: () => void;
}

/**
 * Stores the newest message of each topic: a bed mat that publishes a weight every second costs one during an outage.
 *
 * A nearly full store is for alarms. A device's message then stays in memory, and its topic has none in the store.
 */
class RetainedWriter {
  readonly #messages: Pick<RetainedMessages, 'get'>;
  readonly #options: Pick<RetainedMessagesOptions, 'store' | 'headroom' | 'log'>;
  readonly #unstored = new Map<string, Unstored>();
  readonly #failed = new Map<string, Unstored>();
  readonly #withoutRoom = new Set<string>();
  readonly #store = oneAtATime(() => this.#writeAll());
  #hasFailed = false;
  #isStopped = false;

  constructor(
    messages: Pick<RetainedMessages, 'get'>,
    options: Pick<RetainedMessagesOptions, 'store' | 'headroom' | 'log'>,
  ) {
    this.#messages = messages;
    this.#options = options;
  }

  /** Resolves once the store has what the topic has now or later, or has no room for it. */
  write(topic: string): Promise<void> {
    const one = this.#unstored.get(topic) ?? this.#failed.get(topic) ?? promised();
    this.#failed.delete(topic);
    this.#unstored.set(topic, one);
    void this.#store();
    return one.stored;
  }

  /** Tries again what has failed, and what now has room. */
  retry(): void {
    for (const topic of this.#failed.keys()) void this.write(topic);
    for (const topic of this.#withoutRoom) {
      if (!this.#options.headroom.hasRoom(this.#expendableBytes(topic))) break;
      this.#withoutRoom.delete(topic);
      void this.write(topic);
    }
  }

  /** Stores what it can. The rest was never acknowledged, or the store had no room for it. */
  async stop(): Promise<void> {
    await within(this.#store(), STOP_TIMEOUT_MS);
    this.#isStopped = true;
  }

  async #writeAll(): Promise<void> {
    while (this.#unstored.size > 0 && !this.#isStopped) {
      const batch = [...this.#unstored].slice(0, TOPICS_A_WRITE);
      for (const [topic] of batch) this.#unstored.delete(topic);
      await Promise.all(batch.map(([topic, one]) => this.#put(topic, one)));
    }
  }

  async #put(topic: string, one: Unstored): Promise<void> {
    const { store, headroom } = this.#options;
    const bytes = this.#expendableBytes(topic);
    const isTaken = bytes === 0 || headroom.takes('retained', bytes);
    const message = isTaken ? this.#messages.get(topic) : undefined;
    if (isTaken) this.#withoutRoom.delete(topic);
    else this.#withoutRoom.add(topic);
    try {
      if (message === undefined) await store.remove(topic);
      else await store.put(message);
      this.#hasFailed = false;
      // Also without room: a device whose telemetry gets no PUBACK would soon stop sending alarms too.
      one.resolve();
    } catch (err) {
      this.#noteFailure(err);
      const newer = this.#unstored.get(topic);
      if (newer === undefined) this.#failed.set(topic, one);
      else void newer.stored.then(one.resolve);
    }
  }

  /** The memory in the store of what the topic has now; 0 for what is stored to the very end. */
  #expendableBytes(topic: string): number {
    const message = this.#messages.get(topic);
    const isExpendable = message !== undefined && parseForwardedTopic(topic) !== undefined;
    if (!isExpendable) return 0;
    return STORED_BESIDE_BYTES + BLOCK_FACTOR * (topic.length + bytesOfMessage(message));
  }

  /** One log line per outage, however often values are retried. */
  #noteFailure(err: unknown): void {
    if (!this.#hasFailed && !this.#isStopped) {
      this.#options.log.warn({ part: 'retained', err }, 'failed to store a retained message');
    }
    this.#hasFailed = true;
  }
}

function promised(): Unstored {
  let resolve: () => void = () => undefined;
  const stored = new Promise<void>((done) => {
    resolve = done;
  });
  return { stored, resolve };
}
