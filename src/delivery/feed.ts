import type { Logger } from 'pino';
import type { StreamMessage, StreamOutlet } from '../site/alarms/event-streams.js';
import type { AlarmPositions } from './alarm-positions.js';
import { CatchUp } from './catch-up.js';
import type { Consumer } from './consumer.js';
import type { Deliveries } from './deliveries.js';
import type { HistoryReader } from './log/log-entry.js';
import type { OutgoingPublish, Receiver } from './receiver.js';
import type { RetainedMessages } from './retained/retained-messages.js';
import { CLEAN, type Session, type SessionOwner } from './sessions/session.js';
import type { Sessions } from './sessions/sessions.js';

export interface FeedOptions {
  readonly sessions: Sessions;
  readonly deliveries: Deliveries;
  readonly reader: HistoryReader;
  readonly retained: Pick<RetainedMessages, 'matching' | 'later'>;
  readonly positions: AlarmPositions;
  readonly owner: SessionOwner;
  /** The client id of its session, used by nobody else. */
  readonly clientId: string;
  readonly filters: readonly string[];
  readonly outlet: StreamOutlet;
  readonly log: Logger;
}

/**
 * Sends matching messages to an outlet without MQTT packets: the alarms after a position, then a clean session.
 *
 * The outlet acknowledges messages that the network took (`taken`), and calls `wake` when it is writable again.
 */
export class Feed implements Receiver {
  readonly #options: FeedOptions;
  #catchUp: CatchUp | undefined;
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

  /** @param after the position of the client's last alarm; undefined: it has none */
  async start(after: string | undefined): Promise<void> {
    const { outlet, positions, log, owner } = this.#options;
    const sequence = after === undefined ? undefined : await positions.sequenceOf(after);
    if (this.#isClosed) return;
    try {
      if (after === undefined || sequence === undefined) {
        outlet.opened(positions.newest, after !== undefined);
        this.#goLive();
      } else {
        // The client keeps its own position until it has the alarms after it: it may be cut off before.
        outlet.opened(after, false);
        await this.#sendAfter(sequence);
      }
    } catch (error) {
      // The client asks again from its position.
      log.warn({ principal: owner.key, err: error }, 'failed to read alarms for an event stream');
      if (!this.#isClosed) outlet.end();
    }
  }

  send({ topic, payload, retain: retained, messageId, entry }: OutgoingPublish): boolean {
    const { outlet, positions } = this.#options;
    const position = entry?.log === 'alarms' ? positions.of(entry) : undefined;
    outlet.send({ topic, payload, retained, position, messageId });
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
    this.#catchUp?.wake();
    this.consumer?.wake();
  }

  /** Stops sending. */
  close(): void {
    this.#isClosed = true;
    this.#catchUp?.stop();
    if (this.#session === undefined) return;
    this.consumer?.disconnect(this);
    this.#options.sessions.closed(this.#session);
    this.#session = undefined;
  }

  async #sendAfter(sequence: number): Promise<void> {
    const { deliveries, reader, positions, owner, filters, outlet } = this.#options;
    const { services, tail } = deliveries;
    this.#catchUp = new CatchUp({
      tail,
      reader,
      services,
      filters,
      mayReceive: owner.mayReceive,
      isWritable: () => outlet.isWritable,
      send: (entry, payload) => {
        const { topic } = entry;
        const position = positions.of(entry);
        outlet.send({ topic, payload, retained: false, position, messageId: 0 });
      },
    });
    await this.#catchUp.run(sequence, () => this.#goLive());
  }

  #goLive(): void {
    this.#catchUp = undefined;
    const { sessions, retained, owner, clientId, filters, log } = this.#options;
    const session = sessions.open(clientId, owner, CLEAN);
    this.#session = session;
    const requested = filters.map((filter) => ({ filter, qos: 1 as const }));
    sessions.subscribe(session.key, requested).catch((error: unknown) => {
      log.warn({ principal: owner.key, err: error }, 'failed to subscribe an event stream');
    });
    this.consumer?.connect(this);
    this.consumer?.offerRetained(filters, retained);
  }
}
