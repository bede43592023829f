/**
 * The way to the primary of the site's slot in a Redis Cluster.
 *
 * All keys of a site are in one slot, so a gateway needs only connections to the slot's primary. A node that is not
 * it names it (`MOVED`). The `Cluster` of ioredis would send commands without a key (INFO, WAIT) to any node, and
 * repeat a command whose connection broke.
 */
import type { Address } from '../../domain/addresses.js';
import { askServer, type Finder, type StoreAccess } from '../server/connection.js';

/** Nodes that do not agree yet may name each other. */
const MAX_HOPS = 5;
const MOVED = /\bMOVED \d+ (.*):(\d+)$/;

export class ClusterRoute implements Finder {
  readonly #nodes: readonly Address[];
  readonly #access: StoreAccess;
  readonly #key: string;
  /** Where the primary was found last, by any connection. */
  #known: Address | undefined;

  /**
   * @param nodes some of the nodes: each knows all of them
   * @param key any key of the site
   */
  constructor(nodes: readonly Address[], access: StoreAccess, key: string) {
    this.#nodes = nodes;
    this.#access = access;
    this.#key = key;
  }

  /** @throws Error when no node names a primary that answers */
  async find(): Promise<Address> {
    const failures = new Set<string>();
    const first = this.#known === undefined ? [] : [this.#known];
    for (const node of [...first, ...this.#nodes]) {
      try {
        this.#known = await this.#primaryFrom(node);
        return this.#known;
      } catch (error) {
        failures.add(error instanceof Error ? error.message : String(error));
      }
    }
    this.#known = undefined;
    throw new Error(
      `no node of the cluster names the primary of the site: ${[...failures].join('; ')}`,
    );
  }

  async #primaryFrom(node: Address): Promise<Address> {
    let address = node;
    for (let hops = 0; hops < MAX_HOPS; hops++) {
      const named = await this.#namedBy(address);
      if (named === undefined) return address;
      address = named;
    }
    throw new Error('the nodes name each other');
  }

  /** The primary that a node names; undefined if it serves the slot itself. */
  async #namedBy(address: Address): Promise<Address | undefined> {
    try {
      await askServer(address, this.#access, 'GET', this.#key);
      return undefined;
    } catch (error) {
      const [, host, port] = MOVED.exec(error instanceof Error ? error.message : '') ?? [];
      if (host === undefined) throw error;
      // A node that does not know its own address yet names none.
      return { host: host === '' ? address.host : host, port: Number(port) };
    }
  }
}
