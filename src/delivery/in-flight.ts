const MAX_MESSAGE_ID = 65_535;

/** The messages that await their acknowledgement, by packet identifier. */
export class InFlight<Message> {
  readonly #messages = new Map<number, Message>();
  /**
   * Not from 1 on each time the gateway has started: a client may send an acknowledgement that it had
   * put off on its next connection (mqtt.js does), and it must not settle what has the same number there.
   */
  #lastMessageId = Math.floor(Math.random() * MAX_MESSAGE_ID);

  get size(): number {
    return this.#messages.size;
  }

  /** Gives the message a packet identifier that is not in use [MQTT-2.3.1-4]. */
  add(message: Message): number {
    do {
      this.#lastMessageId = (this.#lastMessageId % MAX_MESSAGE_ID) + 1;
    } while (this.#messages.has(this.#lastMessageId));
    this.#messages.set(this.#lastMessageId, message);
    return this.#lastMessageId;
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

  clear(): void {
    this.#messages.clear();
  }
}
