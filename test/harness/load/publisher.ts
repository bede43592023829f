import { Connection, type Owner } from './connection.js';
import type { TakeFrame } from './frames.js';
import { NumberedPublish } from './numbered-publish.js';
import type { Login, Plan } from './plan.js';

const [PUBACK, PUBREC, PUBCOMP] = [4, 5, 7];
const PUBREL_HEADER = 0x62;
/** Bytes written at a time, so that a slow socket can signal it in between. */
const MAX_BATCH_BYTES = 16_384;

/** A device that publishes as many messages as allowed and as its socket accepts. */
export class Publisher {
  sent = 0;
  acknowledged = 0;
  readonly #publish: NumberedPublish;
  /** False at QoS 0: a message then counts as acknowledged when it is sent. */
  readonly #isAcknowledged: boolean;
  readonly #connect: () => Promise<Connection>;
  #connection: Connection | undefined;
  #isOff = false;
  #isBlocked = false;
  #mayHaveSent = 0;
  #window = 0;
  /** How many publishes every reader has; only if the window extends to the readers. */
  #received: (() => number) | undefined;
  /** Packet identifiers of PUBRECs to answer with the next write. */
  #toRelease: number[] = [];

  private constructor(plan: Plan, device: Login, number: number) {
    this.#publish = new NumberedPublish(plan, device.username, number);
    this.#isAcknowledged = plan.qos > 0;
    const owner: Owner = {
      take: this.#take,
      chunkTaken: () => {
        this.#release();
        this.pump();
      },
      drained: () => {
        this.#isBlocked = false;
        this.pump();
      },
    };
    this.#connect = () => Connection.open(plan.port, device, true, owner);
  }

  static async open(plan: Plan, device: Login, number: number): Promise<Publisher> {
    const publisher = new Publisher(plan, device, number);
    publisher.#connection = await publisher.#connect();
    return publisher;
  }

  get wasClosed(): boolean {
    return this.#connection?.wasClosed ?? false;
  }

  /**
   * Limits the publishes that await their acknowledgement.
   *
   * @param received given when the window extends to the readers: how many publishes every
   *   reader has
   */
  limit(window: number, received: (() => number) | undefined): void {
    this.#window = window;
    this.#received = received;
  }

  /** Raises the total number of publishes that may have been made. */
  allow(mayHaveSent: number): void {
    this.#mayHaveSent = mayHaveSent;
    this.pump();
  }

  /** How many publishes must reach the readers: all except those lost in a power cut. */
  get expected(): number {
    return this.#isOff ? this.acknowledged : this.sent;
  }

  /** Cuts the device's power. */
  powerOff(): void {
    this.stop();
    this.#isOff = true;
    this.#connection?.reset();
  }

  /** @param arrived how many publishes reached the gateway; the next gets the following number */
  async powerOn(arrived: number): Promise<void> {
    this.#connection = await this.#connect();
    this.sent = arrived;
    this.acknowledged = arrived;
    this.#isBlocked = false;
    this.#isOff = false;
    this.stop();
  }

  /** Stops publishing. */
  stop(): void {
    this.#mayHaveSent = this.sent;
  }

  async end(): Promise<void> {
    await this.#connection?.end();
  }

  /** Publishes as many as limit, window and socket allow. */
  pump(): void {
    const maxBatch = Math.ceil(MAX_BATCH_BYTES / this.#publish.length);
    while (!this.#isBlocked && !this.#isOff && !this.wasClosed && this.#connection !== undefined) {
      const arrived = Math.min(this.acknowledged, this.#received?.() ?? this.acknowledged);
      const room = arrived + this.#window - this.sent;
      const count = Math.min(this.#mayHaveSent - this.sent, room, maxBatch);
      if (count <= 0) return;
      const batch = this.#publish.batch(this.sent + 1, count);
      this.sent += count;
      if (!this.#isAcknowledged) this.acknowledged = this.sent;
      this.#isBlocked = !this.#connection.write(batch);
    }
  }

  readonly #take: TakeFrame = (header, bytes, start) => {
    const type = header >> 4;
    if (type === PUBACK || type === PUBCOMP) this.acknowledged++;
    if (type === PUBREC) this.#toRelease.push(bytes.readUInt16BE(start));
  };

  #release(): void {
    if (this.#toRelease.length === 0) return;
    this.#connection?.write(identified(PUBREL_HEADER, this.#toRelease));
    this.#toRelease = [];
  }
}

/** Consecutive packets with a packet identifier and nothing else. */
export function identified(header: number, identifiers: readonly number[]): Buffer {
  const packets = Buffer.allocUnsafe(identifiers.length * 4);
  for (const [index, identifier] of identifiers.entries()) {
    packets.writeUInt16BE((header << 8) | 2, index * 4);
    packets.writeUInt16BE(identifier, index * 4 + 2);
  }
  return packets;
}
