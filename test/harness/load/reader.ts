import { generate } from 'mqtt-packet';
import { Connection, identified, type TakeFrame } from './connection.js';
import { nowMicroseconds, numberedIn } from './numbered-publish.js';
import type { Plan, ReaderReport } from './plan.js';

const [PUBLISH, SUBACK] = [3, 9];
const PUBACK_HEADER = 0x40;
const BUCKETS_PER_DOUBLING = 16;
const BUCKETS = 32 * BUCKETS_PER_DOUBLING;

/** A subscriber that reads and counts everything, and acknowledges immediately. */
export class Reader {
  readonly #connection: Connection;
  readonly #qos: Plan['qos'];
  readonly #chunkTaken: () => void;
  #subscribed: (() => void) | undefined;
  #toAcknowledge: number[] = [];
  #received = 0;
  #liveCopies = 0;
  #missing = 0;
  #outOfOrder = 0;
  /** The newest publish of each device by its number. */
  readonly #newest = new Map<number, number>();
  readonly #openedAt = nowMicroseconds();
  #newestAt = this.#openedAt;
  #startedAt = this.#openedAt;
  #perSecond: number[] = [];
  /** In buckets 4 % wide: a run has a million latencies, too many to keep. */
  #latencies = new Uint32Array(BUCKETS);
  #maxMicroseconds = 0;

  private constructor(plan: Plan, chunkTaken: () => void) {
    this.#connection = new Connection(plan);
    this.#connection.take = this.#take;
    this.#qos = plan.qos;
    this.#chunkTaken = chunkTaken;
  }

  /** @param chunkTaken called after each chunk is counted */
  static async open(
    plan: Plan,
    login: Plan['readers'][number],
    chunkTaken: () => void,
  ): Promise<Reader> {
    const reader = new Reader(plan, chunkTaken);
    const connection = reader.#connection;
    const admitted = connection.logIn(login, { clean: login.isClean });
    // After the connection's own listener: a backlog may come in one chunk with the CONNACK.
    connection.socket.on('data', () => reader.#acknowledge());
    const code = await admitted;
    if (code !== 0) throw new Error(`${login.clientId} was not admitted: ${code}`);
    if (plan.filter === '') return reader;
    const subscribed = new Promise<void>((resolve) => {
      reader.#subscribed = resolve;
    });
    const subscriptions = [{ topic: plan.filter, qos: 1 as const }];
    connection.socket.write(generate({ cmd: 'subscribe', messageId: 1, subscriptions }));
    await subscribed;
    return reader;
  }

  /** Counts seconds and latencies from now on. */
  restart(): void {
    this.#startedAt = nowMicroseconds();
    this.#perSecond = [];
    this.#latencies = new Uint32Array(BUCKETS);
    this.#maxMicroseconds = 0;
  }

  /** The newest publish received from the device. */
  newestOf(deviceNumber: number): number {
    return this.#newest.get(deviceNumber) ?? 0;
  }

  /** @param newest the last expected publish of each device, by its number */
  report(newest: ReadonlyMap<number, number>): ReaderReport {
    const max = this.#maxMicroseconds / 1000;
    return {
      received: this.#received,
      liveCopies: this.#liveCopies,
      missing: this.#missing,
      outOfOrder: this.#outOfOrder,
      perSecond: Array.from(this.#perSecond, (count) => count ?? 0),
      latencyMs: { p50: this.#quantileMs(0.5), p99: this.#quantileMs(0.99), max },
      newestAfterMs: (this.#newestAt - this.#openedAt) / 1000,
      isLevel: [...newest].every(([device, count]) => this.newestOf(device) >= count),
      wasClosed: this.#connection.wasClosed,
    };
  }

  end(): Promise<void> {
    return this.#connection.end();
  }

  readonly #take: TakeFrame = (header, bytes, start, end) => {
    const type = header >> 4;
    if (type === SUBACK) this.#subscribed?.();
    if (type !== PUBLISH) return;
    const topicEnd = start + 2 + bytes.readUInt16BE(start);
    const isQos0 = (header & 0x06) === 0;
    if (!isQos0) this.#toAcknowledge.push(bytes.readUInt16BE(topicEnd));
    this.#count(bytes, topicEnd, end, isQos0 && this.#qos > 0);
  };

  #count(bytes: Buffer, start: number, end: number, isLiveCopy: boolean): void {
    const numbered = numberedIn(bytes, start, end);
    if (numbered === undefined) return;
    const now = nowMicroseconds();
    this.#newestAt = now;
    this.#addLatency(now - numbered.sentAtMicroseconds);
    if (isLiveCopy) {
      this.#liveCopies++;
      return;
    }
    this.#received++;
    const second = Math.floor((now - this.#startedAt) / 1_000_000);
    this.#perSecond[second] = (this.#perSecond[second] ?? 0) + 1;
    const { deviceNumber, publish } = numbered;
    const newest = this.newestOf(deviceNumber);
    if (publish <= newest) this.#outOfOrder++;
    else {
      this.#missing += publish - newest - 1;
      this.#newest.set(deviceNumber, publish);
    }
  }

  #addLatency(microseconds: number): void {
    const bucket = Math.floor(Math.log2(Math.max(microseconds, 1)) * BUCKETS_PER_DOUBLING);
    const at = Math.min(bucket, BUCKETS - 1);
    this.#latencies[at] = (this.#latencies[at] ?? 0) + 1;
    this.#maxMicroseconds = Math.max(this.#maxMicroseconds, microseconds);
  }

  /** The latency below which this fraction (0 to 1) of the values lies; 0 without values. */
  #quantileMs(part: number): number {
    let left = part * this.#latencies.reduce((sum, count) => sum + count, 0);
    for (const [bucket, count] of this.#latencies.entries()) {
      left -= count;
      if (left <= 0 && count > 0) return 2 ** ((bucket + 1) / BUCKETS_PER_DOUBLING) / 1000;
    }
    return 0;
  }

  #acknowledge(): void {
    if (this.#toAcknowledge.length > 0) {
      this.#connection.socket.write(identified(PUBACK_HEADER, this.#toAcknowledge));
    }
    this.#toAcknowledge = [];
    this.#chunkTaken();
  }
}
