import { generate } from 'mqtt-packet';
import { Connection, type Owner } from './connection.js';
import type { TakeFrame } from './frames.js';
import { Latencies } from './latencies.js';
import { nowMicroseconds, numberedIn } from './numbered-publish.js';
import type { Plan, ReaderReport } from './plan.js';
import { identified } from './publisher.js';

const [PUBLISH, SUBACK] = [3, 9];
const PUBACK_HEADER = 0x40;

/** A subscriber that reads and counts everything, and acknowledges immediately. */
export class Reader {
  readonly #owner: Owner;
  readonly #qos: Plan['qos'];
  #connection: Connection | undefined;
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
  #latencies = new Latencies();

  private constructor(qos: Plan['qos'], chunkTaken: () => void) {
    this.#qos = qos;
    this.#owner = {
      take: this.#take,
      chunkTaken: () => {
        this.#acknowledge();
        chunkTaken();
      },
      drained: () => undefined,
    };
  }

  /** @param chunkTaken called after each chunk is counted */
  static async open(
    plan: Plan,
    login: Plan['readers'][number],
    chunkTaken: () => void,
  ): Promise<Reader> {
    const reader = new Reader(plan.qos, chunkTaken);
    const port = login.port ?? plan.port;
    reader.#connection = await Connection.open(port, login, login.isClean, reader.#owner);
    // A backlog may have come in the same chunk as the CONNACK.
    reader.#acknowledge();
    if (plan.filter !== '') await reader.#subscribe(reader.#connection, plan.filter);
    return reader;
  }

  /** Counts seconds and latencies from now on. */
  restart(): void {
    this.#startedAt = nowMicroseconds();
    this.#perSecond = [];
    this.#latencies = new Latencies();
  }

  /** The newest publish received from the device. */
  newestOf(deviceNumber: number): number {
    return this.#newest.get(deviceNumber) ?? 0;
  }

  /** @param newest the last expected publish of each device, by its number */
  report(newest: ReadonlyMap<number, number>): ReaderReport {
    return {
      received: this.#received,
      liveCopies: this.#liveCopies,
      missing: this.#missing,
      outOfOrder: this.#outOfOrder,
      perSecond: Array.from(this.#perSecond, (count) => count ?? 0),
      latencyMs: {
        p50: this.#latencies.quantileMs(0.5),
        p99: this.#latencies.quantileMs(0.99),
        max: this.#latencies.maxMs,
      },
      newestAfterMs: (this.#newestAt - this.#openedAt) / 1000,
      isLevel: [...newest].every(([device, count]) => this.newestOf(device) >= count),
      wasClosed: this.#connection?.wasClosed ?? false,
    };
  }

  async end(): Promise<void> {
    await this.#connection?.end();
  }

  async #subscribe(connection: Connection, filter: string): Promise<void> {
    const subscribed = new Promise<void>((resolve) => {
      this.#subscribed = resolve;
    });
    const subscriptions = [{ topic: filter, qos: 1 as const }];
    connection.write(generate({ cmd: 'subscribe', messageId: 1, subscriptions }));
    await subscribed;
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
    this.#latencies.add(now - numbered.sentAtMicroseconds);
    if (isLiveCopy) {
      this.#liveCopies++;
      return;
    }
    this.#received++;
    const second = Math.floor((now - this.#startedAt) / 1_000_000);
    this.#perSecond[second] = (this.#perSecond[second] ?? 0) + 1;
    this.#follow(numbered.deviceNumber, numbered.publish);
  }

  #follow(device: number, publish: number): void {
    const newest = this.newestOf(device);
    if (publish <= newest) {
      this.#outOfOrder++;
      return;
    }
    this.#missing += publish - newest - 1;
    this.#newest.set(device, publish);
  }

  #acknowledge(): void {
    if (this.#connection === undefined || this.#toAcknowledge.length === 0) return;
    this.#connection.write(identified(PUBACK_HEADER, this.#toAcknowledge));
    this.#toAcknowledge = [];
  }
}
