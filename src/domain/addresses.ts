import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
// Of IPv6 addresses it checks those that are IPv4 inside, too.
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;

/**
 * The address of a socket's other end, empty when it is gone.
 *
 * A listener for IPv6 and IPv4 sees IPv4 addresses written as IPv6 (RFC 4291, 2.5.5.2).
 */
export function plainAddress(address: string | undefined): string {
  return address?.replace(MAPPED_IPV4, '') ?? '';
}

/** Whether an IP address is loopback, also IPv4 written as IPv6. */
export function isLoopbackAddress(address: string): boolean {
  const version = isIP(address);
  // Without the objects that the list makes for each check: every new connection is checked.
  if (version === 4) return address.startsWith('127.');
  return version === 6 && loopback.check(address, 'ipv6');
}

/** Whether a listener at this address listens at all addresses of the machine. */
export function isAnyAddress(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

/** Whether a host name or address, as a URL has it, is of this machine. */
export function isLoopbackHost(hostName: string): boolean {
  const name = hostName.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || isLoopbackAddress(name);
}

/** Link-local and unique local addresses (RFC 4291, 2.5.6; RFC 4193): in the home's own network only. */
const LOCAL_IPV6 = /^f(?:e[89ab]|[cd])/i;

/**
 * The address, or of a global IPv6 address the network of 64 bits: all of it is one subscriber's (RFC 6177).
 *
 * A limit for each address must not start again with the next of 2^64. In a home all sensors share such a
 * network, so that each of its local addresses counts by itself.
 *
 * @param address in the one form in which the system writes it (RFC 5952)
 */
export function networkOf(address: string): string {
  // Otherwise all of IPv4 written as IPv6 would be one network.
  if (isIP(address) !== 6 || address.includes('.') || LOCAL_IPV6.test(address)) return address;
  const [head = '', tail = ''] = address.split('::', 2);
  const [first, last] = [groupsOf(head), groupsOf(tail)];
  const missing = Array<string>(8 - first.length - last.length).fill('0');
  return [...first, ...missing, ...last].slice(0, 4).join(':');
}

function groupsOf(part: string): string[] {
  return part === '' ? [] : part.split(':');
}
