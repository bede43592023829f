import { networkInterfaces } from 'node:os';
import { networkOf } from '../domain/addresses.js';

/** The IPv6 networks in which this machine has an address: those of the home. */
export function ownNetworks(): ReadonlySet<string> {
  const addresses = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const global = addresses.filter(({ family, internal }) => family === 'IPv6' && !internal);
  return new Set(global.map(({ address }) => networkOf(address)));
}
