import { z } from 'zod';
import type {
  BatchIdentity,
  BatchStore,
  Destination,
  DestinationsOf,
  FrozenBatch,
  Written,
} from '../delivery/log/batch.js';
import type { NewMessage } from '../delivery/log/log-item.js';
import type { Backlog } from '../delivery/queues/queue-store.js';
import { packProperties } from '../mqtt/message-properties.js';
import type { StoreHeadroom } from '../site/health/store-headroom.js';
import { requireHeadroom } from './alarms/alarm-log.js';
import type { Keys } from './keys.js';
import { packDestinations, packRows, Script } from './scripts.js';
import type { ScriptArgument, Store } from './store.js';

const appendValues = new Script(
  'append-values',
  z.tuple([z.number(), z.array(z.number())]).rest(z.array(z.string())),
);

/** Writes messages other than alarms to the streams of their destinations. */
export class ValueBatches implements BatchStore<NewMessage> {
  readonly #store: Store;
  readonly #keys: Keys;
  readonly #headroom: Pick<StoreHeadroom, 'isFull'>;

  constructor(store: Store, keys: Keys, headroom: Pick<StoreHeadroom, 'isFull'>) {
    this.#store = store;
    this.#keys = keys;
    this.#headroom = headroom;
  }

  freeze<To extends Destination>(
    messages: readonly NewMessage[],
    destinationsOf: DestinationsOf<To>,
    { id, tag }: BatchIdentity,
  ): Promise<FrozenBatch<To>> {
    const destinations = messages.map(destinationsOf);
    const { names, packedNames, packedSets, setOfItems } = packDestinations(destinations);
    const { sessionPrefix, valuesPrefix, receivedPrefix } = this.#keys;
    const args = [
      sessionPrefix,
      valuesPrefix,
      receivedPrefix,
      id,
      tag,
      packedNames,
      packedSets,
      packRows(messages.map((message, index) => rowOf(message, setOfItems[index] ?? 0))),
    ];
    const write = () => this.#write(args, names, messages.length);
    return Promise.resolve({ destinations, write });
  }

  /** @throws Error with the reply code `OOM` when the store is full */
  async #write(
    args: readonly ScriptArgument[],
    names: readonly string[],
    count: number,
  ): Promise<Written> {
    requireHeadroom(this.#headroom);
    const keys = [this.#keys.logSequence('messages'), this.#keys.lastValues];
    const [first, lengths, unusable] = await this.#store.run(appendValues, keys, args);
    if (unusable !== undefined) return { unusable };
    const appended = Array.from({ length: count }, (_, index) => {
      return { sequence: first + index, isNew: true };
    });
    const backlogs = names.map((name, index): [string, Partial<Backlog>] => {
      const [messages = 0, messageBytes = 0] = lengths.slice(2 * index, 2 * index + 2);
      return [name, { messages, messageBytes }];
    });
    return { appended, backlogs: new Map(backlogs) };
  }
}

function rowOf(message: NewMessage, set: number) {
  const { topic, payload, receivedAtMs, received, locationId, groupId, properties } = message;
  return [
    topic,
    payload,
    Math.round(receivedAtMs),
    locationId ?? '',
    groupId ?? '',
    received?.session ?? '',
    String(received?.packetIdentifier ?? ''),
    set,
    properties === undefined ? '' : packProperties(properties),
  ];
}
