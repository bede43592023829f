import { z } from 'zod';
import { type Address, parseAddress } from '../domain/addresses.js';

/** Even an empty store needs some memory. */
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

const tls = z.strictObject({
  caFile: filePath.optional().meta({
    description: 'the certificate authority, PEM. Left out: those that Node.js knows',
    examples: ['/etc/care-home-gateway/ca.crt'],
  }),
  certFile: filePath.optional().meta({
    description: 'the certificate that the gateway shows, PEM',
    examples: ['/etc/care-home-gateway/box.crt'],
  }),
  keyFile: filePath
    .optional()
    .meta({ description: 'its private key', examples: ['/etc/care-home-gateway/box.key'] }),
});

/** The store: `url`, `sentinels` or `cluster`, or else the gateway's own. */
export const storeSchema = z.strictObject({
  url: url.optional().meta({
    description: 'the store: redis://, rediss:// or unix:///',
    examples: ['redis://user:password@127.0.0.1:6379/0'],
  }),
  sentinels: addresses.optional().meta({
    description:
      'instead: all Sentinels of a pair, which know which server is the primary (docs/operate/pair.md)',
    examples: [['192.168.20.11:26379', '192.168.20.12:26379', '192.168.20.13:26379']],
  }),
  name: word.optional().meta({
    description: "the primary's name in the Sentinels' configuration",
    examples: ['care-home'],
  }),
  cluster: addresses.optional().meta({
    description:
      'instead: some nodes of a Redis Cluster (docs/operate/many-homes.md); the others are learnt from them',
    examples: [['192.168.30.11:6379', '192.168.30.12:6379', '192.168.30.13:6379']],
  }),
  user: word
    .optional()
    .meta({ description: 'the user (ACL) for the store; with password', examples: ['gateway'] }),
  password: password
    .optional()
    .meta({ description: 'the password for the store', examples: ['a-secret'] }),
  tls: tls
    .optional()
    .describe(
      'TLS to servers behind Sentinels or in a cluster; a url speaks it when it begins with rediss://',
    ),
  sentinelUser: word.optional().meta({
    description: 'the user for the Sentinels; with sentinelPassword',
    examples: ['gateway'],
  }),
  sentinelPassword: password.optional().meta({
    description: "the password for the Sentinels; the store's is for the store alone",
    examples: ['a-secret'],
  }),
  sentinelTls: tls.optional().describe('TLS to the Sentinels'),
  replicas: z
    .int()
    .min(0)
    .max(MAX_REPLICAS)
    .default(0)
    .describe(
      'how many replicas of a store of yours must have a write before PUBACK, SUBACK or a 2xx says that it is made; 1 for a pair of boxes',
    ),
  withoutReplica: z
    .enum(['continue', 'refuse'])
    .default('continue')
    .describe(
      'while fewer confirm within 2 s. continue: the gateway goes on with a fault; behind Sentinels only as long as most of them can be reached and take this primary for the primary. refuse: nothing is acknowledged, and alarms are forwarded live only',
    ),
  maxMemoryBytes: z
    .int()
    .min(MIN_STORE_BYTES)
    .optional()
    .meta({
      description:
        "memory of the gateway's own store; at 80 % there is a fault, from 90 % on only alarms are stored. Left out: half of what the machine or its cgroup has beyond 256 MiB, and 64 MiB at least",
      examples: [1_073_741_824],
    }),
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
