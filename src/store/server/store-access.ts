import type { RedisOptions } from 'ioredis';

/** PEM for TLS. Without `ca`, the certificate authorities known to Node.js are trusted. */
export interface StoreTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** How a client identifies itself, and whether it speaks TLS. */
export interface StoreAccess {
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: StoreTls | undefined;
}

/** The same as ioredis takes it. */
export function accessOptions({ user, password, tls }: StoreAccess): RedisOptions {
  return {
    ...(user !== undefined && { username: user }),
    ...(password !== undefined && { password }),
    ...(tls !== undefined && { tls: { ...tls } }),
  };
}
