import { fault } from '../../domain/faults/faults.js';
import { FilterTree } from '../../domain/filter-tree.js';
import type { RetainedQuotas } from '../../domain/limits.js';
import { forwardedTopic, parseCommandTopic, parseForwardedTopic } from '../../domain/topics.js';
import { hasExpired } from '../../mqtt/message-properties.js';
import type { QuotaWatch } from '../../site/access/quota-watch.js';
import type { Health } from '../../site/health/health.js';
import type { DirectMessage } from '../direct-queue.js';
import { bytesOfMessage } from '../message.js';
import type { RetainedWriter } from './retained-writer.js';

const FAULT = 'retained';
const MIB = 1024 * 1024;
const WILDCARD = /\/?[+#].*$/;
/** Topics matched in a row, which takes a millisecond or two. */
const LOOKS_A_TURN = 2_000;
/** The cost of a topic that its beginning already rules out. */
const COST_OF_PREFIX = 0.05;
/** Memory of a message besides topic and payload. */
const BYTES_BESIDE = 512;
/** Below this part of all bytes, there is room again. */
const ROOM_AGAIN = 0.9;

/** The retained messages of one holder: a device, its commands, or a location. */
interface Account {
  topics: number;
  bytes: number;
}

interface Holder {
  /** As `QuotaWatch` names it. */
  readonly name: string;
  readonly quotas: RetainedQuotas;
}

export interface RetainedMessagesOptions {
  readonly writer: RetainedWriter;
  readonly quotasOfDevice: (deviceId: string) => RetainedQuotas;
  readonly quotasOfLocation: RetainedQuotas;
  /** For all messages together. */
  readonly maxBytes: number;
  readonly watch: Pick<QuotaWatch, 'exceeded'>;
  readonly health: Pick<Health, 'report'>;
}

/**
 * The last retained message of each topic.
 *
 * All are in memory, so the newest is available even while the store is away; `RetainedWriter` stores them afterwards.
 * A message beyond a quota is forwarded but not retained. Its topic then has no retained message instead of an
 * outdated one.
 */
export class RetainedMessages {
  readonly #options: RetainedMessagesOptions;
  /** By topic. */
  readonly #messages = new Map<string, DirectMessage>();
  /** By device, including the gateway's own statuses. */
  readonly #topicsOf = new Map<string, Set<string>>();
  /** By the holder's name. */
  readonly #accounts = new Map<string, Account>();
  /** Readers waiting for their turn. */
  readonly #waiting: (() => void)[] = [];
  #bytes = 0;
  #isFull = false;

  constructor(options: RetainedMessagesOptions) {
    this.#options = options;
  }

  /** Takes over everything an earlier run has retained: a lowered limit only refuses new messages. */
  async load(stored: AsyncIterable<DirectMessage>): Promise<void> {
    for await (const message of stored) this.#keep(message);
  }

  get(topic: string): DirectMessage | undefined {
    return this.#messages.get(topic);
  }

  /**
   * Retains a message; an empty payload removes it [MQTT-3.3.1-10].
   *
   * @returns resolves once the store has this message, or a newer one of its topic
   */
  set(message: DirectMessage): Promise<void> {
    this.#replace(message);
    return this.#options.writer.write(message.topic, this.#messages.get(message.topic));
  }

  /** Removes the retained messages of a device at a location, and the commands given to it there. */
  forget(deviceId: string, locationId: string): void {
    for (const topic of this.#topicsOf.get(deviceId) ?? []) {
      if (this.#placeOf(topic) === locationId) this.remove(topic);
    }
  }

  /** Removes a message; subscribers are not told. */
  remove(topic: string): void {
    const message = this.#messages.get(topic);
    if (message === undefined) return;
    this.#count(message, -1);
    this.#forgetTopic(topic);
    void this.#options.writer.write(topic, undefined);
  }

  /** Removes expired messages, which would otherwise count towards the quotas. */
  removeExpired(nowMs: number): void {
    for (const [topic, { properties }] of this.#messages) {
      if (properties !== undefined && hasExpired(properties, nowMs)) this.remove(topic);
    }
  }

  /**
   * Stores everything again in a store that went back to an earlier state.
   *
   * @param topics the topics in the store: messages removed since are removed again
   */
  storeAll(topics: readonly string[]): void {
    const { writer } = this.#options;
    for (const topic of topics) if (!this.#messages.has(topic)) void writer.write(topic, undefined);
    for (const [topic, message] of this.#messages) void writer.write(topic, message);
  }

  /**
   * Removes messages of devices, and commands to them, left behind by an earlier run.
   *
   * @param isStray called with the device and its location at the time of the message
   */
  removeStray(isStray: (deviceId: string, locationId: string | undefined) => boolean): void {
    for (const [deviceId, topics] of this.#topicsOf) {
      for (const topic of topics) if (isStray(deviceId, this.#placeOf(topic))) this.remove(topic);
    }
  }

  /**
   * The messages that match any of the filters, each once and as it is when its turn comes.
   *
   * Yields undefined now and then: the reader must then continue through `later`.
   */
  *matching(filters: readonly string[]): Generator<DirectMessage | undefined> {
    const tree = new FilterTree<string>();
    for (const filter of filters) tree.add(filter, filter);
    const topics = filters.some((filter) => WILDCARD.test(filter))
      ? this.#messages.keys()
      : filters;
    const prefix = commonPrefix(filters);
    let looks = 0;
    for (const topic of topics) {
      const isNear = topic.startsWith(prefix);
      looks += isNear ? 1 : COST_OF_PREFIX;
      if (looks >= LOOKS_A_TURN) {
        looks = 0;
        yield undefined;
      }
      if (!isNear || tree.match(topic).size === 0) continue;
      const message = this.#messages.get(topic);
      if (message !== undefined) yield message;
    }
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

  #replace(message: DirectMessage): void {
    const { topic, payload } = message;
    const former = this.#messages.get(topic);
    if (former !== undefined) this.#count(former, -1);
    if (payload.length > 0 && this.#hasRoom(message)) this.#keep(message);
    else this.#forgetTopic(topic);
  }

  #keep(message: DirectMessage): void {
    const { topic, payload } = message;
    // A copy: a slice of a network chunk would keep the whole chunk in memory.
    const { properties } = message;
    const own = properties && { ...properties, fields: copyOf(properties.fields) };
    const kept = { ...message, payload: copyOf(payload), properties: own, retain: true };
    // `set` keeps its place in the order: a feed that has passed it does not reach it again.
    this.#messages.set(topic, kept);
    this.#count(kept, 1);
    const deviceId = deviceOf(topic);
    if (deviceId === undefined) return;
    const topics = this.#topicsOf.get(deviceId);
    if (topics === undefined) this.#topicsOf.set(deviceId, new Set([topic]));
    else topics.add(topic);
  }

  #forgetTopic(topic: string): void {
    this.#messages.delete(topic);
    const deviceId = deviceOf(topic) ?? '';
    const topics = this.#topicsOf.get(deviceId);
    topics?.delete(topic);
    if (topics?.size === 0) this.#topicsOf.delete(deviceId);
  }

  /** Whether the quotas have room; the gateway's own statuses always have room. */
  #hasRoom(message: DirectMessage): boolean {
    const { watch, maxBytes } = this.#options;
    const bytes = bytesOf(message);
    const holders = this.#holdersOf(message.topic);
    if (holders.length === 0) return true;
    const full = holders.find(({ name, quotas }) => {
      const account = this.#accountOf(name);
      return (
        account.topics >= quotas.retainedTopics || account.bytes + bytes > quotas.retainedBytes
      );
    });
    if (full !== undefined) watch.exceeded('retained', full.name);
    else if (this.#bytes + bytes + BYTES_BESIDE > maxBytes) this.#report(true);
    else if (this.#bytes + bytes + BYTES_BESIDE < ROOM_AGAIN * maxBytes) this.#report(false);
    return full === undefined && this.#bytes + bytes + BYTES_BESIDE <= maxBytes;
  }

  /** @param sign 1 for a message that is now retained, -1 for one that no longer is */
  #count(message: DirectMessage, sign: 1 | -1): void {
    const bytes = sign * bytesOf(message);
    this.#bytes += bytes + sign * BYTES_BESIDE;
    for (const { name } of this.#holdersOf(message.topic)) {
      const account = this.#accountOf(name);
      account.topics += sign;
      account.bytes += bytes;
      if (account.topics === 0) this.#accounts.delete(name);
      else this.#accounts.set(name, account);
    }
  }

  #accountOf(name: string): Account {
    return this.#accounts.get(name) ?? { topics: 0, bytes: 0 };
  }

  #report(isFull: boolean): void {
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    const { health, maxBytes } = this.#options;
    const full = fault('retainedFull', { mebibytes: Math.floor(maxBytes / MIB) });
    health.report(FAULT, isFull ? full : undefined);
  }

  /** The location where a device's message was retained, or its command given. */
  #placeOf(topic: string): string | undefined {
    return parseForwardedTopic(topic)?.locationId ?? this.#messages.get(topic)?.givenIn;
  }

  /** The holders a topic counts for: its device and location. A command counts separately: a token sent it. */
  #holdersOf(topic: string): readonly Holder[] {
    const { quotasOfDevice, quotasOfLocation } = this.#options;
    const commanded = parseCommandTopic(topic);
    if (commanded !== undefined) {
      return [{ name: `commands of device:${commanded}`, quotas: quotasOfDevice(commanded) }];
    }
    const { locationId, deviceId } = parseForwardedTopic(topic) ?? {};
    if (locationId === undefined || deviceId === undefined) return [];
    if (topic === forwardedTopic(locationId, deviceId, 'status')) return [];
    return [
      { name: `device:${deviceId}`, quotas: quotasOfDevice(deviceId) },
      { name: `location:${locationId}`, quotas: quotasOfLocation },
    ];
  }
}

function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function bytesOf(message: DirectMessage): number {
  return message.topic.length + bytesOfMessage(message);
}

function deviceOf(topic: string): string | undefined {
  return parseForwardedTopic(topic)?.deviceId ?? parseCommandTopic(topic);
}

/** The text that begins every topic matched by one of the filters. */
function commonPrefix(filters: readonly string[]): string {
  // `a/#` matches `a` as well [MQTT-4.7.1-2].
  const fixed = filters.map((filter) => filter.replace(WILDCARD, '')).toSorted();
  const [first = '', last = ''] = [fixed[0], fixed.at(-1)];
  let length = 0;
  while (length < first.length && first[length] === last[length]) length++;
  return first.slice(0, length);
}
