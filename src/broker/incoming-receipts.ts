import type { Client, PublishPacket } from 'aedes';
import type { RedisPersistence } from 'aedes-persistence-redis';

/** The packet identifiers of QoS 2 publishes that were received and not released yet. */
export class IncomingReceipts {
  readonly #stored: RedisPersistence;
  /** By client: when what it sent last is known to be repeated or not. */
  readonly #last = new WeakMap<Client, Promise<boolean>>();

  constructor(stored: RedisPersistence) {
    this.#stored = stored;
  }

  /**
   * Whether the packet was received before: it must not be taken for another [MQTT-4.3.3-2]. Waits
   * for the store, at QoS 2 only, and for what the client sent before: it is taken in its order.
   */
  isRepeated(client: Client, packet: PublishPacket): Promise<boolean> {
    const before = this.#last.get(client);
    const answer = bearsReceipt(packet) ? this.#isStored(client, packet) : Promise.resolve(false);
    if (before === undefined && !bearsReceipt(packet)) return answer;
    const inTurn = (before ?? answer).then(() => answer);
    this.#last.set(client, inTurn);
    inTurn.then(() => {
      if (this.#last.get(client) === inTurn) this.#last.delete(client);
    });
    return inTurn;
  }

  /** Where the store knows no answer, it is not. */
  async #isStored(client: Client, packet: PublishPacket): Promise<boolean> {
    try {
      await this.#stored.incomingGetPacket(client, packet);
      return true;
    } catch {
      // That is how it says that there is none.
      return false;
    }
  }

  /** The packet has been received; when this resolves that outlives the gateway. */
  async keep(client: Client, packet: PublishPacket): Promise<void> {
    if (bearsReceipt(packet)) await this.#stored.incomingStorePacket(client, packet);
  }
}

/** A will at QoS 2 has no packet identifier. */
function bearsReceipt({ qos, messageId }: PublishPacket): boolean {
  return qos === 2 && messageId !== undefined;
}
