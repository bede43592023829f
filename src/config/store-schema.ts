import { z } from 'zod';
import { type Address, parseAddress } from '../domain/server-address.js';

/** An empty store needs some of it. */
const MIN_STORE_BYTES = 16 * 1024 * 1024;
const MAX_REPLICAS = 10;

const filePath = z.string().min(1, 'must not be empty');
const word = z.string().regex(/^[^\s\p{Cc}]+$/u, 'must be text without white space');
const password = z.string().min(1, 'must not be empty');

const url = z
  .string()
  .refine(isStoreUrl, 'must be a URL that begins with redis://, rediss:// or unix:///');

const address = z.string().transform((text, context): Address => {
  const parsed = parseAddress(text);
  if (parsed !== undefined) return parsed;
  context.addIssue({ code: 'custom', message: 'must be host:port' });
  return z.NEVER;
});
const addresses = z.array(address).min(1, 'must not be empty');

/** Without a `caFile` the certificate authorities that Node.js knows are trusted. */
const tls = z.strictObject({
  caFile: filePath.optional(),
  certFile: filePath.optional(),
  keyFile: filePath.optional(),
});

/** The store: `url`, `sentinels` or `cluster`, or else the gateway's own. */
export const storeSchema = z.strictObject({
  url: url.optional(),
  /** The Sentinels that watch over the primary `name`. */
  sentinels: addresses.optional(),
  name: word.optional(),
  /** Nodes of a Redis Cluster. */
  cluster: addresses.optional(),
  user: word.optional(),
  password: password.optional(),
  tls: tls.optional(),
  sentinelUser: word.optional(),
  sentinelPassword: password.optional(),
  sentinelTls: tls.optional(),
  /** How many replicas have what is acknowledged. */
  replicas: z.int().min(0).max(MAX_REPLICAS).default(0),
  /** Whether to acknowledge while fewer replicas than that confirm. */
  withoutReplica: z.enum(['continue', 'refuse']).default('continue'),
  maxMemoryBytes: z.int().min(MIN_STORE_BYTES).optional(),
});

export type StoreConfig = z.output<typeof storeSchema>;
export type StoreTlsConfig = z.output<typeof tls>;

/** Whether the gateway runs the store itself. */
export function isEmbeddedStore({ url, sentinels, cluster }: StoreConfig): boolean {
  return url === undefined && sentinels === undefined && cluster === undefined;
}

function isStoreUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const parsed = new URL(text);
  if (parsed.protocol === 'unix:') return parsed.host === '' && parsed.pathname.length > 1;
  const isNetwork = parsed.protocol === 'redis:' || parsed.protocol === 'rediss:';
  return isNetwork && parsed.hostname !== '';
}
