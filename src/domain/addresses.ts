import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether an IP address is loopback, also IPv4 written as IPv6. */
export function isLoopbackAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/** Whether a host name or address, as a URL has it, is of this machine. */
export function isLoopbackHost(hostName: string): boolean {
  const name = hostName.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || isLoopbackAddress(name);
}

/** Groups of an IPv6 address that a provider gives to one customer: a /64. */
const NETWORK_GROUPS = 4;

/**
 * The network of an address, as far as limits go: an IPv4 address itself, the /64 of an IPv6 one.
 *
 * Whoever has one address of a /64 has all of them.
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address;
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':');
    while (groups.length + after.length < 8) groups.push('0');
  }
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
