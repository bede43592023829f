import type { IPublishPacket, MqttClient } from 'mqtt';
import { generate } from 'mqtt-packet';

/** Lets mqtt.js read on without a PUBACK. */
const NOT_ACKNOWLEDGED = new Error('not acknowledged yet');
/** Beyond this mqtt.js stops reading: waiting commands are held in memory. */
export const MAX_WAITING = 100;

type Done = (error?: Error) => void;

/**
 * Acknowledges messages from the upstream in order, once they are handled [MQTT-4.6.0-2].
 *
 * Otherwise mqtt.js would read nothing while a message waits: neither acknowledgements nor PINGRESP.
 */
export class LateAcks {
  readonly #client: MqttClient;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(client: MqttClient) {
    this.#client = client;
  }

  /** Acknowledges after `dealing`. Rejects when that does; later packets then stay unacknowledged. */
  async after(
    dealing: Promise<void>,
    { qos, messageId = 0 }: IPublishPacket,
    done: Done,
  ): Promise<void> {
    this.#waiting++;
    const isRoom = this.#waiting <= MAX_WAITING;
    if (isRoom) done(NOT_ACKNOWLEDGED);
    const answered = Promise.all([dealing, this.#last]).then(() => {
      if (qos > 0) this.#acknowledge(messageId);
    });
    this.#last = answered;
    try {
      await answered;
    } finally {
      this.#waiting--;
      if (!isRoom) done(NOT_ACKNOWLEDGED);
    }
  }

  /** Leaves the packet to a later connection. */
  skip(done: Done): void {
    done(NOT_ACKNOWLEDGED);
  }

  #acknowledge(messageId: number): void {
    const { stream, options } = this.#client;
    if (!stream.writable) return;
    stream.write(generate({ cmd: 'puback', messageId, reasonCode: 0 }, options));
  }
}
