/** Addresses: of clients, of listeners, and of servers that the gateway connects to. */

import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

const loopback = new BlockList();
// It also checks IPv6 addresses that hold an IPv4 address.
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
  // Avoids the objects that the list makes for each check, because every new connection is checked.
  if (version === 4) return address.startsWith('127.');
  return version === 6 && loopback.check(address, 'ipv6');
}

/** Whether a listener at this address listens at all addresses of the machine. */
export function isAnyAddress(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

/** Whether a host name or address, as written in a URL, means this machine. */
export function isLoopbackHost(hostName: string): boolean {
  const name = hostName.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || isLoopbackAddress(name);
}

/** Link-local and unique local addresses (RFC 4291, 2.5.6; RFC 4193): only in the home's own network. */
const LOCAL_IPV6 = /^f(?:e[89ab]|[cd])/i;

/**
 * The address, or the 64-bit network of a global IPv6 address: one subscriber has all of it (RFC 6177).
 *
 * A limit for each address must not start again with the next of 2^64 addresses. In a home, all sensors share
 * such a network, so each of its local addresses counts on its own.
 *
 * @param address in the one form that the system writes (RFC 5952)
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

/** The IPv6 networks in which this machine has an address: those of the home. */
export function ownNetworks(): ReadonlySet<string> {
  const addresses = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const global = addresses.filter(({ family, internal }) => family === 'IPv6' && !internal);
  return new Set(global.map(({ address }) => networkOf(address)));
}

const MAX_PREFIX_LENGTHS = { 4: 32, 6: 128 };

/** A network as `192.168.1.0/24`; undefined if the text is none. */
function networkIn(
  text: string,
): { address: string; length: number; family: 'ipv4' | 'ipv6' } | undefined {
  const [address = '', length = '', ...rest] = text.split('/');
  const version = isIP(address);
  if ((version !== 4 && version !== 6) || rest.length > 0 || !/^\d{1,3}$/.test(length))
    return undefined;
  if (Number(length) > MAX_PREFIX_LENGTHS[version]) return undefined;
  return { address, length: Number(length), family: version === 4 ? 'ipv4' : 'ipv6' };
}

/** Whether the text is a network in CIDR notation (RFC 4632; RFC 4291, 2.3). */
export function isNetwork(text: string): boolean {
  return networkIn(text) !== undefined;
}

/** Whether an IP address is in one of the networks; those that cannot be read have none. */
export function isInNetworks(address: string, networks: readonly string[]): boolean {
  const list = new BlockList();
  for (const network of networks) {
    const { address: first, length, family } = networkIn(network) ?? {};
    if (first !== undefined) list.addSubnet(first, length ?? 0, family);
  }
  const version = isIP(address);
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/** A host name or IP address, and a port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export function isSameAddress(one: Address | undefined, other: Address | undefined): boolean {
  return one?.host === other?.host && one?.port === other?.port;
}

/** The address as the configuration writes it. */
export function addressText({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Parses `host:port` or `[IPv6]:port`; undefined for anything else. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]{1,255})):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}
