import { z } from 'zod';
import { type Address, addressText, isSameAddress } from '../../domain/server-address.js';
import type { StoreAccess } from '../server/store-access.js';
import { Informant } from './informant.js';
import type { Claim, PrimarySource } from './primary-watch.js';

const slotSchema = z.number();

/** A few suffice, and thousands of gateways may ask. */
const ASKED_AT_ONCE = 3;
/** Each node is asked for about a minute, then another takes its place. */
const ROUNDS_OF_ONE = 60;

/** A line of `CLUSTER NODES`. */
interface ClusterNode extends Claim {
  readonly isPrimary: boolean;
  readonly slots: readonly (readonly [first: number, last: number])[];
}

export interface ClusterOptions {
  /** Some of the nodes. The others are learnt from these. */
  readonly nodes: readonly Address[];
  readonly access: StoreAccess;
  /** Any key of the site: all are in one slot. */
  readonly key: string;
}

/**
 * The nodes of a Redis Cluster, which know the server of the site's slot.
 *
 * All keys of a site are in one slot, so a gateway needs only one connection, to its primary. The `Cluster` of
 * ioredis would send commands without a key (INFO, WAIT) to any node, give up after 16 redirections, and let
 * a later command overtake a redirected one.
 */
export class ClusterSource implements PrimarySource {
  readonly name = 'no node of the cluster names the primary of the site';
  readonly #options: ClusterOptions;
  /** Every node ever heard of, in asking order. */
  readonly #known: Address[] = [];
  /** The nodes being asked, the longest asked first. */
  readonly #asked = new Map<string, readonly [Address, Informant]>();
  #rounds = 0;
  #isStopped = false;

  constructor(options: ClusterOptions) {
    this.#options = options;
    // Gateways with the same configuration start with different nodes.
    const start = Math.floor(Math.random() * options.nodes.length);
    this.#learn([...options.nodes.slice(start), ...options.nodes.slice(0, start)]);
  }

  ask(): readonly Promise<Claim>[] {
    if (this.#isStopped) return [];
    const [longest] = this.#asked.keys();
    if (++this.#rounds % ROUNDS_OF_ONE === 0 && longest !== undefined) this.#drop(longest);
    this.#askMore();
    return [...this.#asked].map(([key, [address, informant]]) =>
      this.#claimOf(address, informant).catch((error: unknown) => {
        this.#drop(key);
        throw error;
      }),
    );
  }

  stop(): void {
    this.#isStopped = true;
    for (const key of [...this.#asked.keys()]) this.#drop(key);
  }

  async #claimOf(address: Address, informant: Informant): Promise<Claim> {
    const [slot, text] = await informant.ask(
      ['CLUSTER', 'KEYSLOT', this.#options.key],
      ['CLUSTER', 'NODES'],
    );
    const isNamed = this.#options.access.tls !== undefined;
    const nodes = parseClusterNodes(z.string().parse(text), address, isNamed);
    this.#learn(nodes.map(({ primary }) => primary));
    const serving = nodes.find((node) => isServing(node, slotSchema.parse(slot)));
    if (serving === undefined)
      throw new Error(`${addressText(address)}: nobody serves slot ${slot}`);
    return serving;
  }

  /** Nodes are never forgotten: a node that has left the cluster does not answer, or names a lower epoch. */
  #learn(addresses: readonly Address[]): void {
    const isNew = (address: Address) => !this.#known.some((one) => isSameAddress(one, address));
    this.#known.push(...addresses.filter(isNew));
  }

  #askMore(): void {
    for (let tried = 0; tried < this.#known.length; tried++) {
      if (this.#asked.size >= ASKED_AT_ONCE) return;
      const next = this.#known.shift();
      if (next === undefined) return;
      this.#known.push(next);
      const key = addressText(next);
      if (this.#asked.has(key)) continue;
      this.#asked.set(key, [next, new Informant(next, this.#options.access)]);
    }
  }

  #drop(key: string): void {
    this.#asked.get(key)?.[1].stop();
    this.#asked.delete(key);
  }
}

function isServing({ isPrimary, slots }: ClusterNode, slot: number): boolean {
  return isPrimary && slots.some(([first, last]) => first <= slot && slot <= last);
}

/**
 * Parses the answer to `CLUSTER NODES`, without nodes that have no address.
 *
 * @param asked the node that answered: it may not know its own address yet
 * @param isNamed whether to prefer a node's host name, as in its certificate, to its IP address
 */
export function parseClusterNodes(text: string, asked: Address, isNamed: boolean): ClusterNode[] {
  return text.split('\n').flatMap((line) => {
    const [, place = '', flags = '', , , , epoch, , ...slots] = line.trim().split(' ');
    const names = flags.split(',');
    if (epoch === undefined || names.includes('noaddr') || names.includes('handshake')) return [];
    const address = addressOf(place, asked, isNamed);
    if (address === undefined) return [];
    return [
      {
        primary: address,
        epoch: Number(epoch),
        isPrimary: names.includes('master'),
        slots: slots.flatMap(slotsOf),
      },
    ];
  });
}

/** Reads `ip:port@busPort[,hostname[,field=value…]]`. */
function addressOf(place: string, asked: Address, isNamed: boolean): Address | undefined {
  const [numbers = '', hostName = ''] = place.split(',');
  const match = /^(.*):(\d+)(?:@\d+)?$/.exec(numbers);
  if (match === null) return undefined;
  const isName = hostName !== '' && hostName !== '?' && !hostName.includes('=');
  const host = isNamed && isName ? hostName : match[1] || asked.host;
  return { host, port: Number(match[2]) };
}

/** Reads `first-last` or one number. Moving slots are in brackets, and their current node also lists them as usual. */
function slotsOf(text: string): [number, number][] {
  const match = /^(\d+)(?:-(\d+))?$/.exec(text);
  return match === null ? [] : [[Number(match[1]), Number(match[2] ?? match[1])]];
}
