import { BlockList, isIP } from 'node:net';

/** Loopback, link-local and private addresses, and others that no host on the internet has (RFC 6890). */
const notPublic = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  notPublic.addSubnet(network, bits, 'ipv4');
}
for (const [network, bits] of [
  ['::', 127],
  ['64:ff9b::', 96],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  notPublic.addSubnet(network, bits, 'ipv6');
}

/** Whether a webhook needs `allowPrivate` for this IP address. */
export function isPrivateAddress(address: string): boolean {
  const version = isIP(address);
  // The list also checks IPv4 addresses inside IPv6 addresses.
  return version !== 0 && notPublic.check(address, version === 4 ? 'ipv4' : 'ipv6');
}
