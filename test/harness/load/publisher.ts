import { Connection, identified, type TakeFrame } from './connection.js';
import { NumberedPublish } from './numbered-publish.js';
import type { Login, Plan } from './plan.js';

const [PUBACK, PUBREC, PUBCOMP] = [4, 5, 7];
const PUBREL_HEADER = 0x62;
/** Bytes written at a time, so that a slow socket can signal it in between. */
const MAX_BATCH_BYTES = 16_384;
/** The same as mqtt.js. */
const [RETRY_AFTER_MS, GIVES_UP_AFTER_MS] = [1_000, 10_000];

/** A device that publishes as many messages as allowed and as its socket accepts. */
export class Publisher {
  sent = 0;
  acknowledged = 0;
  readonly #plan: Plan;
  readonly #device: Login;
  readonly #publish: NumberedPublish;
  #connection: Connection | undefined;
  #isOff = false;
  #isBlocked = false;
  #mayHaveSent = 0;
  #window = 0;
  /** How many publishes every reader has; only if the window extends to the readers. */
  #received: (() => number) | undefined;
  /** Packet identifiers of PUBRECs to answer with the next write. */
  #toRelease: number[] = [];

  constructor(plan: Plan, device: Login, number: number) {
    this.#plan = plan;
    this.#device = device;
    this.#publish = new NumberedPublish(plan, device.username, number);
  }

  /** @throws Error unless it is admitted */
  async open(): Promise<void> {
    const connection = new Connection(this.#plan);
    connection.take = this.#take;
    const tired = setTimeout(() => connection.reset(), GIVES_UP_AFTER_MS);
    const code = await connection.logIn(this.#device);
    clearTimeout(tired);
    if (code !== 0) throw new Error(`${this.#device.clientId} was not admitted: ${code}`);
    this.#connection = connection;
    // After each chunk, once all its packets are taken.
    connection.socket.on('data', () => {
      this.#release();
      this.pump();
    });
    connection.socket.on('drain', () => {
      this.#isBlocked = false;
      this.pump();
    });
  }

  get wasClosed(): boolean {
    return this.#connection?.wasClosed ?? false;
  }

  /** How many publishes must reach the readers: all except those lost in a power cut. */
  get expected(): number {
    return this.#isOff ? this.acknowledged : this.sent;
  }

  /** Limits the publishes that are under way: unacknowledged, or not with every reader. */
  limit(window: number, received: (() => number) | undefined): void {
    this.#window = window;
    this.#received = received;
  }

  /** Raises the total number of publishes that may have been made. */
  allow(mayHaveSent: number): void {
    this.#mayHaveSent = mayHaveSent;
    this.pump();
  }

  stop(): void {
    this.#mayHaveSent = this.sent;
  }

  powerOff(): void {
    this.stop();
    this.#isOff = true;
    this.#connection?.reset();
  }

  /** Connects until it is admitted. @param arrived how many publishes reached the gateway; the next follows them */
  async powerOn(arrived: number): Promise<void> {
    for (;;) {
      const isIn = await this.open().then(
        () => true,
        () => false,
      );
      if (isIn) break;
      await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER_MS));
    }
    [this.sent, this.acknowledged, this.#mayHaveSent] = [arrived, arrived, arrived];
    [this.#isBlocked, this.#isOff] = [false, false];
  }

  async end(): Promise<void> {
    await this.#connection?.end();
  }

  /** Publishes as many as limit, window and socket allow. */
  pump(): void {
    const connection = this.#connection;
    const maxBatch = Math.ceil(MAX_BATCH_BYTES / this.#publish.length);
    while (!this.#isBlocked && !this.#isOff && connection?.isOpen === true) {
      const arrived = Math.min(this.acknowledged, this.#received?.() ?? this.acknowledged);
      const room = arrived + this.#window - this.sent;
      const count = Math.min(this.#mayHaveSent - this.sent, room, maxBatch);
      if (count <= 0) return;
      const batch = this.#publish.batch(this.sent + 1, count);
      this.sent += count;
      // At QoS 0 a message counts as acknowledged when it is sent.
      if (this.#plan.qos === 0) this.acknowledged = this.sent;
      this.#isBlocked = !connection.socket.write(batch);
    }
  }

  readonly #take: TakeFrame = (header, bytes, start) => {
    const type = header >> 4;
    if (type === PUBACK || type === PUBCOMP) this.acknowledged++;
    if (type === PUBREC) this.#toRelease.push(bytes.readUInt16BE(start));
  };

  #release(): void {
    if (this.#toRelease.length > 0) {
      this.#connection?.socket.write(identified(PUBREL_HEADER, this.#toRelease));
    }
    this.#toRelease = [];
  }
}
