import { z } from 'zod';
import { type Address, addressText } from '../../domain/server-address.js';
import type { StoreAccess } from '../server/store-access.js';
import { Informant } from './informant.js';
import type { Claim, PrimarySource } from './primary-watch.js';

const slotSchema = z.number();

/** A line of `CLUSTER NODES`. */
interface ClusterNode extends Claim {
  readonly isPrimary: boolean;
  readonly slots: readonly (readonly [first: number, last: number])[];
}

export interface ClusterOptions {
  /** Some of the nodes: each knows all of them. */
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
export function clusterSource({ nodes, access, key }: ClusterOptions): PrimarySource {
  const asked = nodes.map((address) => ({ address, informant: new Informant(address, access) }));
  return {
    name: 'no node of the cluster names the primary of the site',
    ask: () =>
      asked.map(async ({ address, informant }) => {
        const [slot, text] = await informant.ask(['CLUSTER', 'KEYSLOT', key], ['CLUSTER', 'NODES']);
        const all = parseClusterNodes(z.string().parse(text), address, access.tls !== undefined);
        const serving = all.find((node) => isServing(node, slotSchema.parse(slot)));
        if (serving !== undefined) return serving;
        throw new Error(`${addressText(address)}: nobody serves slot ${slot}`);
      }),
    stop: () => {
      for (const { informant } of asked) informant.stop();
    },
  };
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
