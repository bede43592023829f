import { isLoopbackAddress, networkOf } from '../domain/addresses.js';

/** Bounds how fast one address may open connections: of MQTT, and of TLS before its handshake. Loopback is exempt. */
export class ConnectionRate {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #now: () => number;
  readonly #isOfHome: (network: string) => boolean;
  /** When each network would have its whole burst again. */
  readonly #fullAtMs = new Map<string, number>();

  /** @param isOfHome whether a network (`networkOf`) is the gateway's own: there each address counts separately */
  constructor(
    perSecond: number,
    burst: number,
    now: () => number,
    isOfHome: (network: string) => boolean = () => false,
  ) {
    this.#isOfHome = isOfHome;
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#now = now;
  }

  /** Whether a connection from the address may be accepted now; counts it if so. */
  admits(address: string): boolean {
    if (isLoopbackAddress(address)) return true;
    const shared = networkOf(address);
    const network = this.#isOfHome(shared) ? address : shared;
    const nowMs = this.#now();
    const stepMs = 1000 / this.#perSecond;
    const fullAtMs = Math.max(nowMs, this.#fullAtMs.get(network) ?? 0) + stepMs;
    // Rounded: the last of a burst must not fail for a sum of fractions.
    if (Math.round(fullAtMs - nowMs) > this.#burst * stepMs) return false;
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
