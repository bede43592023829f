import { z } from 'zod';
import { type Address, addressText } from '../domain/server-address.js';
import { type ClusterNode, parseClusterNodes } from './cluster-nodes.js';
import { Informant } from './informant.js';
import type { Claim, PrimarySource } from './primary-watch.js';
import type { StoreAccess } from './store-access.js';

const slotSchema = z.number();

export interface ClusterOptions {
  /** Some of the nodes; the others are learnt from them. */
  readonly nodes: readonly Address[];
  readonly access: StoreAccess;
  /** Any key of the site: all of them are in one slot. */
  readonly key: string;
}

/**
 * The nodes of a Redis Cluster, which know who serves the slot of the site.
 *
 * All keys of a site are in one slot, so that one connection to its primary is all that a gateway needs. ioredis'
 * `Cluster` would send commands without a key (INFO, WAIT) to any node, give up after 16 redirections, and
 * let a later command overtake one that is redirected.
 */
export class ClusterSource implements PrimarySource {
  readonly name = 'no node of the cluster names the primary of the site';
  readonly #options: ClusterOptions;
  readonly #informants = new Map<string, readonly [Address, Informant]>();

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#learn(options.nodes);
  }

  ask(): readonly Promise<Claim>[] {
    return [...this.#informants.values()].map((each) => this.#claimOf(...each));
  }

  stop(): void {
    for (const [, informant] of this.#informants.values()) informant.stop();
    this.#informants.clear();
  }

  async #claimOf(address: Address, informant: Informant): Promise<Claim> {
    const [slot, text] = await informant.ask(
      ['CLUSTER', 'KEYSLOT', this.#options.key],
      ['CLUSTER', 'NODES'],
    );
    const isNamed = this.#options.access.tls !== undefined;
    const nodes = parseClusterNodes(z.string().parse(text), address, isNamed);
    // An answer that came after `stop` teaches nothing.
    if (this.#informants.size > 0) this.#learn(nodes.map(({ primary }) => primary));
    const serving = nodes.find((node) => isServing(node, slotSchema.parse(slot)));
    if (serving === undefined)
      throw new Error(`${addressText(address)}: nobody serves slot ${slot}`);
    return serving;
  }

  /** Nodes are never forgotten: one that has left the cluster answers nothing, or names a lower epoch. */
  #learn(addresses: readonly Address[]): void {
    for (const address of addresses) {
      const key = addressText(address);
      if (this.#informants.has(key)) continue;
      this.#informants.set(key, [address, new Informant(address, this.#options.access)]);
    }
  }
}

function isServing({ isPrimary, slots }: ClusterNode, slot: number): boolean {
  return isPrimary && slots.some(([first, last]) => first <= slot && slot <= last);
}
