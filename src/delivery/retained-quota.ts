import type { RetainedQuotas } from '../domain/limits.js';
import { parseForwardedTopic } from '../domain/topics.js';
import type { QuotaWatch } from '../site/quota-watch.js';
import type { DirectMessage } from './direct-queue.js';
import type { RetainedMessages, RetainedTopics } from './retained-messages.js';

const NOTHING = Buffer.alloc(0);

/** What is retained for one holder. */
interface Account {
  topics: number;
  bytes: number;
}

/** A holder of retained messages, as `QuotaWatch` names it, and its quotas. */
interface Holder {
  readonly name: string;
  readonly quotas: RetainedQuotas;
}

export interface RetainedQuotaOptions {
  /** Its `store` resolves to whether the message is retained. */
  readonly retained: Pick<RetainedMessages, 'store'>;
  readonly quotasOfDevice: (deviceId: string) => RetainedQuotas;
  readonly quotasOfLocation: RetainedQuotas;
  readonly watch: QuotaWatch;
}

/**
 * Bounds what is retained for each device and each location (FINDINGS S1).
 *
 * A message beyond that is forwarded all the same. The older one of its topic is removed: a new subscriber
 * had better see no value than an outdated one. The status that the gateway retains of each device counts
 * for nobody.
 */
export class RetainedQuota {
  readonly #options: RetainedQuotaOptions;
  /** Bytes by topic. */
  readonly #topics = new Map<string, number>();
  /** By the holder's name. */
  readonly #accounts = new Map<string, Account>();
  #isLoaded = false;

  constructor(options: RetainedQuotaOptions) {
    this.#options = options;
  }

  /** Counts what an earlier run has retained. */
  async load(stored: RetainedTopics): Promise<void> {
    for await (const page of stored.startingWith('')) {
      for (const { topic, bytes } of page) {
        const holders = this.#holdersOf(topic);
        if (!this.#topics.has(topic)) this.#count(topic, bytes, holders);
      }
    }
    this.#isLoaded = true;
  }

  /** Stores a message within the quotas; resolves to whether it is retained. */
  async store(message: DirectMessage): Promise<boolean> {
    const { topic, payload } = message;
    const { retained, watch } = this.#options;
    const holders = this.#holdersOf(topic);
    if (holders.length === 0) return retained.store(message);
    const bytes = payload.length === 0 ? 0 : topic.length + payload.length;
    const full = holders.find((holder) => !this.#hasRoom(holder, topic, bytes));
    if (full === undefined || bytes === 0) {
      this.#count(topic, bytes, holders);
      const isKept = await retained.store(message);
      // A newer one of the topic may have been counted since.
      if (!isKept && this.#topics.get(topic) === bytes) this.#count(topic, 0, holders);
      return isKept;
    }
    watch.exceeded('retained', full.name);
    const isStored = this.#topics.has(topic) || !this.#isLoaded;
    this.#count(topic, 0, holders);
    if (isStored) await retained.store({ ...message, payload: NOTHING });
    return false;
  }

  #hasRoom({ name, quotas }: Holder, topic: string, bytes: number): boolean {
    const account = this.#accounts.get(name) ?? { topics: 0, bytes: 0 };
    const before = this.#topics.get(topic);
    const topics = account.topics + (before === undefined ? 1 : 0);
    const total = account.bytes - (before ?? 0) + bytes;
    return topics <= quotas.retainedTopics && total <= quotas.retainedBytes;
  }

  #count(topic: string, bytes: number, holders: readonly Holder[]): void {
    if (holders.length === 0) return;
    const before = this.#topics.get(topic);
    if (bytes === 0) this.#topics.delete(topic);
    else this.#topics.set(topic, bytes);
    for (const { name } of holders) {
      const account = this.#accounts.get(name) ?? { topics: 0, bytes: 0 };
      account.topics += (bytes === 0 ? 0 : 1) - (before === undefined ? 0 : 1);
      account.bytes += bytes - (before ?? 0);
      if (account.topics === 0) this.#accounts.delete(name);
      else this.#accounts.set(name, account);
    }
  }

  /** Finds for whom a topic counts: its device and location. A command counts apart, for it is a token's. */
  #holdersOf(topic: string): readonly Holder[] {
    const { quotasOfDevice, quotasOfLocation } = this.#options;
    const [first, id = ''] = topic.split('/', 2);
    if (first === 'devices')
      return [{ name: `commands of device:${id}`, quotas: quotasOfDevice(id) }];
    const { locationId, deviceId } = parseForwardedTopic(topic) ?? {};
    if (
      locationId === undefined ||
      deviceId === undefined ||
      topic.endsWith(`${deviceId}/status`)
    ) {
      return [];
    }
    return [
      { name: `device:${deviceId}`, quotas: quotasOfDevice(deviceId) },
      { name: `location:${locationId}`, quotas: quotasOfLocation },
    ];
  }
}
