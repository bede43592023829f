import { isLoopbackAddress, networkOf } from '../domain/addresses.js';

/** Bounds how fast one address may open connections; loopback is exempt (CONTRACT 5). */
export class ConnectionRate {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #now: () => number;
  /** When each network would have its whole burst again. */
  readonly #fullAtMs = new Map<string, number>();

  constructor(perSecond: number, burst: number, now: () => number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#now = now;
  }

  /** Whether a connection from the address may be accepted now; counts it if so. */
  admits(address: string): boolean {
    if (isLoopbackAddress(address)) return true;
    const network = networkOf(address);
    const nowMs = this.#now();
    const stepMs = 1000 / this.#perSecond;
    const fullAtMs = Math.max(nowMs, this.#fullAtMs.get(network) ?? 0) + stepMs;
    if (fullAtMs - nowMs > this.#burst * stepMs) return false;
    this.#forgetFull(nowMs);
    this.#fullAtMs.set(network, fullAtMs);
    return true;
  }

  #forgetFull(nowMs: number): void {
    if (this.#fullAtMs.size < 1_000) return;
    for (const [network, fullAtMs] of this.#fullAtMs) {
      if (fullAtMs <= nowMs) this.#fullAtMs.delete(network);
    }
  }
}
