import type { Address } from '../domain/server-address.js';
import type { Claim } from './primary-watch.js';

/** A line of `CLUSTER NODES`. */
export interface ClusterNode extends Claim {
  readonly isPrimary: boolean;
  readonly slots: readonly (readonly [first: number, last: number])[];
}

/**
 * Parses the answer to `CLUSTER NODES`; nodes without an address are left out.
 *
 * @param asked the node that answered: it may not know its own address yet
 * @param isNamed whether a node's host name counts more than its IP address, as a certificate has it
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

/** Reads `first-last` or one number; slots on their way are in brackets, and named by their present node too. */
function slotsOf(text: string): [number, number][] {
  const match = /^(\d+)(?:-(\d+))?$/.exec(text);
  return match === null ? [] : [[Number(match[1]), Number(match[2] ?? match[1])]];
}
