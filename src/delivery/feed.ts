/** A stream of messages without MQTT packets: a clean session whose alarms are read from the history after a position. */
import type { Logger } from 'pino';
import { within } from '../site/clock/pause.js';
import type { Consumer } from './consumer.js';
import type { RetainedSource } from './direct-queue.js';
import type { OutgoingPublish, Receiver } from './message.js';
import type { QueuePage } from './queue.js';
import type { Router } from './router.js';
import { CLEAN, type Session, type SessionOwner } from './sessions/session.js';
import type { Sessions } from './sessions/sessions.js';

/** A slower store does not keep clients from new alarms. */
const ANSWER_WITHIN_MS = 1_000;
/** Store and number. */
const POSITION = /^([0-9a-f]{0,8})-(\d{1,15})$/;
const STORE_LENGTH = 8;

/** A forwarded message on its way into an event stream. */
export interface StreamMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly retained: boolean;
  /** The position of an alarm in the log; undefined for anything else. */
  readonly position: string | undefined;
  /** What `EventSubscription.taken` acknowledges; 0: nothing. */
  readonly messageId: number;
}

/** The receiver of a subscription's messages: an event stream. */
export interface StreamOutlet {
  /** False while earlier messages still wait for the network. */
  readonly isWritable: boolean;
  /**
   * Called once, before all messages.
   *
   * @param hasMissed whether alarms after the requested position are not sent
   */
  opened(position: string, hasMissed: boolean): void;
  send(message: StreamMessage): void;
  /** Ends the stream: no message follows. */
  end(): void;
}

/** Reads the history from the store. */
export interface HistoryReader {
  /** The entries after a number, in order: at most `count`. */
  read(after: number, count: number): Promise<QueuePage>;
  /** The number of the oldest entry; 0 for none. */
  oldest(): Promise<number>;
}

export interface FeedOptions {
  readonly sessions: Sessions;
  readonly router: Router;
  readonly reader: HistoryReader;
  readonly retained: Pick<RetainedSource, 'matching' | 'later'>;
  /** Distinguishes the store from an emptied or replaced one, which starts its own numbers. */
  readonly storeIdentity: () => string;
  readonly owner: SessionOwner;
  /** The client id of its session, used by nobody else. */
  readonly clientId: string;
  readonly filters: readonly string[];
  readonly outlet: StreamOutlet;
  readonly log: Logger;
}

/** The outlet acknowledges messages that the network took (`taken`), and calls `wake` when it is writable again. */
export class Feed implements Receiver {
  readonly #options: FeedOptions;
  #session: Session | undefined;
  #isClosed = false;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  get isWritable(): boolean {
    return !this.#isClosed && this.#options.outlet.isWritable;
  }

  /** Undefined until it is live. */
  get consumer(): Consumer | undefined {
    return this.#session?.consumer;
  }

  /** @param position of the client's last alarm; undefined: it has none */
  async start(position: string | undefined): Promise<void> {
    const { outlet, router } = this.#options;
    const after = position === undefined ? undefined : await this.#numberOf(position);
    if (this.#isClosed) return;
    const isKnown = position !== undefined && after !== undefined;
    // The client keeps its own position until it has the alarms after it: it may be cut off before.
    const start = isKnown ? position : this.#positionOf(router.numbers.known);
    outlet.opened(start, position !== undefined && !isKnown);
    this.#goLive(after);
  }

  send({ topic, payload, retain: retained, messageId, entry }: OutgoingPublish): boolean {
    const position = entry?.log === 'alarms' ? this.#positionOf(entry.sequence) : undefined;
    this.#options.outlet.send({ topic, payload, retained, position, messageId });
    return true;
  }

  /** Acknowledges messages that the network has taken. */
  taken(messages: readonly StreamMessage[]): void {
    for (const { messageId } of messages) {
      if (messageId > 0) this.consumer?.acknowledge(messageId);
    }
  }

  /** Continues: the outlet is writable again. */
  wake(): void {
    this.consumer?.wake();
  }

  /** Stops sending. */
  close(): void {
    this.#isClosed = true;
    if (this.#session === undefined) return;
    this.consumer?.disconnect(this);
    this.#options.sessions.closed(this.#session);
    this.#session = undefined;
  }

  #goLive(after: number | undefined): void {
    const { sessions, retained, owner, clientId, filters, log, reader } = this.#options;
    const page = (from: number, count: number) => reader.read(from, count);
    const history = after === undefined ? undefined : { after, page };
    const session = sessions.open(clientId, owner, { ...CLEAN, history });
    this.#session = session;
    const requested = filters.map((filter) => ({ filter, qos: 1 as const }));
    sessions.subscribe(session.key, requested).catch((error: unknown) => {
      log.warn({ principal: owner.key, err: error }, 'failed to subscribe an event stream');
    });
    this.consumer?.connect(this);
    this.consumer?.offerRetained(filters, retained);
  }

  get #store(): string {
    return this.#options.storeIdentity().slice(0, STORE_LENGTH);
  }

  #positionOf(sequence: number): string {
    return `${this.#store}-${sequence}`;
  }

  /** Undefined when what followed is not all known: another store, lost or removed entries, or no answer in time. */
  async #numberOf(position: string): Promise<number | undefined> {
    const { router, reader } = this.#options;
    const [, store, digits] = POSITION.exec(position) ?? [];
    const number = Number(digits);
    if (digits === undefined || store !== this.#store || number > router.numbers.known)
      return undefined;
    if (number === router.numbers.known) return number;
    const [oldest] = await Promise.allSettled([within(reader.oldest(), ANSWER_WITHIN_MS)]);
    const first = oldest.status === 'fulfilled' ? oldest.value : undefined;
    return first === undefined || first === 0 || first > number + 1 ? undefined : number;
  }
}
