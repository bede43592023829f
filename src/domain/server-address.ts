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
