/** Beyond this the network seen longest ago is forgotten. */
const MAX_NETWORKS = 10_000;

/**
 * The networks that have shown a valid credential since the start.
 *
 * When strangers use up connections and the like, clients from these networks come first.
 */
export class KnownNetworks {
  readonly #networks = new Set<string>();

  readonly has = (network: string): boolean => this.#networks.has(network);

  /** Counts a network as known: a client there has shown a valid credential. */
  readonly add = (network: string): void => {
    this.#networks.delete(network);
    this.#networks.add(network);
    const [oldest] = this.#networks;
    if (this.#networks.size > MAX_NETWORKS && oldest !== undefined) this.#networks.delete(oldest);
  };
}
