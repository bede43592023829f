import { setTimeout as delay } from 'node:timers/promises';
import type { Endpoint } from '../mqtt-socket.js';
import type { Arms, FieldPlan, Ports } from './plan.js';

const RECOVERY_MS = 100;
const TICK_MS = 10;

/** What an attack knows in its process, and how long it lasts. */
export class Field {
  readonly #plan: FieldPlan;
  readonly #counts = new Map<string, number>();
  #isOver = false;

  constructor(plan: FieldPlan) {
    this.#plan = plan;
  }

  get arms(): Arms {
    return this.#plan.arms;
  }

  get seconds(): number {
    return this.#plan.seconds;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get addresses(): readonly string[] {
    return this.#plan.addresses;
  }

  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  end(): void {
    this.#isOver = true;
  }

  count(name: string, number = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + number);
  }

  /** A listener of the target, from the attacker's address with this index. */
  endpoint(listener: keyof Ports, index = 0): Endpoint {
    const { host, ports, addresses } = this.#plan;
    const port = ports[listener];
    if (port === undefined) throw new Error(`the target has no ${listener}`);
    const localAddress = addresses[index % addresses.length];
    return { host, port, localAddress, isTls: listener === 'mqtts' || listener === 'https' };
  }

  has(listener: keyof Ports): boolean {
    return this.#plan.ports[listener] !== undefined;
  }

  text(name: string): string {
    const text = this.arms.texts[name];
    if (text === undefined) throw new Error(`the attack was not told its ${name}`);
    return text;
  }

  pause(ms: number): Promise<void> {
    return delay(ms);
  }

  /** Repeats something, this many at a time; counts failures and tries again. */
  async repeat(atATime: number, work: (index: number) => Promise<void>): Promise<void> {
    const worker = async (index: number) => {
      while (!this.#isOver) {
        try {
          await work(index);
        } catch (error) {
          this.count(`failed: ${error instanceof Error ? error.message : error}`);
          await delay(RECOVERY_MS);
        }
      }
    };
    await Promise.all(Array.from({ length: atATime }, (_, index) => worker(index)));
  }

  /** Does something this many times a second; catches up when it is late. */
  async atRate(perSecond: number, work: (number: number) => void): Promise<void> {
    const begunMs = performance.now();
    let done = 0;
    while (!this.#isOver) {
      const due = ((performance.now() - begunMs) / 1000) * perSecond;
      for (; done < due; done++) work(done);
      await delay(TICK_MS);
    }
  }
}
