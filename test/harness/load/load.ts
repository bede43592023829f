import { setTimeout as delay } from 'node:timers/promises';
import { each } from '../wait.js';
import type { Offer, Plan, Report } from './plan.js';
import { Publisher } from './publisher.js';
import { Reader } from './reader.js';

const TICK_MS = 5;

/** Devices that publish, and readers of their publishes. */
export class Load {
  /** By number. */
  readonly #publishers: ReadonlyMap<number, Publisher>;
  readonly #readers: readonly Reader[];

  private constructor(publishers: ReadonlyMap<number, Publisher>, readers: readonly Reader[]) {
    this.#publishers = publishers;
    this.#readers = readers;
  }

  static async open(plan: Plan): Promise<Load> {
    const publishers = plan.devices.map((device, index) => {
      const number = plan.firstNumber + index;
      return [number, new Publisher(plan, device, number)] as const;
    });
    const chunkTaken = () => {
      for (const [, publisher] of publishers) publisher.pump();
    };
    const readers = await each(plan.readers, (login) => Reader.open(plan, login, chunkTaken));
    await each(publishers, ([, publisher]) => publisher.open());
    return new Load(new Map(publishers), readers);
  }

  /** Resolves when the time is over, or each device has made its maximum of publishes. */
  offer(offer: Offer): Promise<void> {
    const { perSecond, window, underWayTo, durationMs, maxEach, tickMs = TICK_MS } = offer;
    for (const reader of this.#readers) reader.restart();
    for (const [number, publisher] of this.#publishers) {
      const received = () => this.#receivedOf(number);
      publisher.limit(window, underWayTo === 'readers' ? received : undefined);
    }
    const publishers = [...this.#publishers.values()];
    const before = publishers.map(({ sent }) => sent);
    const begunMs = performance.now();
    return new Promise((resolve) => {
      const tick = () => {
        const elapsedMs = performance.now() - begunMs;
        const due =
          perSecond === null
            ? Number.MAX_SAFE_INTEGER / 2
            : Math.floor((perSecond * elapsedMs) / 1000);
        for (const [index, publisher] of publishers.entries()) {
          // In turns: together they have published as many as are due.
          const dueOfIt = Math.floor((due + index) / publishers.length);
          publisher.allow((before[index] ?? 0) + Math.min(dueOfIt, maxEach ?? Infinity));
        }
        const isComplete = publishers.every(
          ({ sent }, index) => sent - (before[index] ?? 0) === maxEach,
        );
        if (!isComplete && (durationMs === null || elapsedMs < durationMs)) return;
        clearInterval(timer);
        for (const publisher of publishers) publisher.stop();
        resolve();
      };
      const timer = setInterval(tick, tickMs);
    });
  }

  /** Cuts the power of all devices: the load ends immediately, whatever their sockets hold. */
  powerOff(): void {
    for (const publisher of this.#publishers.values()) publisher.powerOff();
  }

  /** Connects all devices again, at once; they continue numbering after what the readers have. */
  async powerOn(): Promise<void> {
    const all = [...this.#publishers];
    await Promise.all(all.map(([number, one]) => one.powerOn(this.#receivedOf(number))));
  }

  /** Resolves when everything is acknowledged; fails if a connection is closed first. */
  async acknowledged(): Promise<void> {
    for (;;) {
      const { unacknowledged, closedDevices } = this.report();
      if (closedDevices > 0) throw new Error(`${closedDevices} devices were disconnected`);
      if (unacknowledged === 0) return;
      await delay(TICK_MS);
    }
  }

  report(): Report {
    const publishers = [...this.#publishers.values()];
    const total = (of: (publisher: Publisher) => number) =>
      publishers.reduce((sum, publisher) => sum + of(publisher), 0);
    const connected = [...this.#publishers].filter(([, { wasClosed }]) => !wasClosed);
    const newest = new Map(connected.map(([number, { expected }]) => [number, expected]));
    return {
      sent: total(({ sent }) => sent),
      acknowledged: total(({ acknowledged }) => acknowledged),
      unacknowledged: total(({ wasClosed, expected, acknowledged }) =>
        wasClosed ? 0 : expected - acknowledged,
      ),
      closedDevices: publishers.filter(({ wasClosed }) => wasClosed).length,
      readers: this.#readers.map((reader) => reader.report(newest)),
    };
  }

  async end(): Promise<void> {
    const all = [...this.#publishers.values(), ...this.#readers];
    await Promise.all(all.map((client) => client.end()));
  }

  #receivedOf(deviceNumber: number): number {
    // A load without readers: nobody knows, and nothing is compared.
    if (this.#readers.length === 0) return this.#publishers.get(deviceNumber)?.acknowledged ?? 0;
    return Math.min(...this.#readers.map((reader) => reader.newestOf(deviceNumber)));
  }
}
