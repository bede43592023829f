const MAX_MESSAGE_ID = 65_535;

/** A message on its way. */
export interface Numbered {
  readonly messageId: number;
  /** Whether it was on its way before, on a connection that broke. */
  readonly isRepeated: boolean;
}

/** The messages that await their acknowledgement, by packet identifier. */
export class InFlight<Message> {
  readonly #messages = new Map<number, Message>();
  readonly #nameOf: (message: Message) => string | undefined;
  /** Packet identifiers of what was on its way when the connection broke, by name. */
  readonly #interrupted = new Map<string, number>();
  /** The same packet identifiers: nothing else gets one of them. */
  readonly #reserved = new Set<number>();
  /**
   * Not from 1 on each time the gateway has started: a client may send an acknowledgement that it had
   * put off on its next connection (mqtt.js does), and it must not settle what has the same number there.
   */
  #lastMessageId = Math.floor(Math.random() * MAX_MESSAGE_ID);

  /** @param nameOf the same for a message that is sent again; undefined for one that never is */
  constructor(nameOf: (message: Message) => string | undefined) {
    this.#nameOf = nameOf;
  }

  get size(): number {
    return this.#messages.size;
  }

  /**
   * Gives the message the packet identifier that it had before [MQTT-4.4.0-1], else one that is not in
   * use [MQTT-2.3.1-4].
   */
  add(message: Message): Numbered {
    const name = this.#nameOf(message);
    const before = name === undefined ? undefined : this.#interrupted.get(name);
    const messageId = before ?? this.#unused();
    if (name !== undefined && this.#interrupted.delete(name)) this.#reserved.delete(messageId);
    this.#messages.set(messageId, message);
    return { messageId, isRepeated: before !== undefined };
  }

  get(messageId: number): Message | undefined {
    return this.#messages.get(messageId);
  }

  /** The message of this packet identifier, which awaits nothing any more. */
  take(messageId: number): Message | undefined {
    const message = this.#messages.get(messageId);
    this.#messages.delete(messageId);
    return message;
  }

  all(): Iterable<Message> {
    return this.#messages.values();
  }

  /** The connection broke: whatever has a name is to be sent again, unless it falls out before. */
  interrupt(): void {
    for (const [messageId, message] of this.#messages) {
      const name = this.#nameOf(message);
      if (name === undefined) continue;
      this.#interrupted.set(name, messageId);
      this.#reserved.add(messageId);
    }
    this.#messages.clear();
  }

  /** What was on its way before the connection broke is not sent again. */
  forgetInterrupted(): void {
    this.#interrupted.clear();
    this.#reserved.clear();
  }

  #unused(): number {
    // What has fallen out is never sent again: it must not keep its packet identifiers for ever.
    if (this.#messages.size + this.#reserved.size >= MAX_MESSAGE_ID) this.forgetInterrupted();
    do {
      this.#lastMessageId = (this.#lastMessageId % MAX_MESSAGE_ID) + 1;
    } while (this.#messages.has(this.#lastMessageId) || this.#reserved.has(this.#lastMessageId));
    return this.#lastMessageId;
  }
}
