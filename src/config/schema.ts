import { z } from 'zod';
import { bridgesSchema } from '../domain/bridge-schema.js';
import { dailyKeys, drillsSchema } from '../domain/calendar.js';
import { limitsSchema } from '../domain/limits.js';
import { outputsSchema } from '../domain/output-schema.js';
import { escalationsSchema, silentAfterSchema } from '../domain/rules.js';
import { footageSchema } from './footage-schema.js';
import { httpSchema, mqttSchema, type TlsConfig, tlsSchema } from './listener-schema.js';
import { storeSchema } from './store-schema.js';

/** Every key of the configuration with its default (contract 1 and 5). Units are in the names. */

const MAX_DAYS = 36_500;
const MAX_LEASE_SECONDS = 3_600;
const filePath = z.string().min(1, 'must not be empty');
const count = z.int().min(1);
/** A shorter one can be guessed, however slowly failures are answered. */
const MIN_TOKEN_LENGTH = 16;
const adminToken = z
  .string()
  .min(MIN_TOKEN_LENGTH, `must have at least ${MIN_TOKEN_LENGTH} characters`)
  .regex(/^[!-~]+$/, 'must be visible ASCII characters without white space');

function isCallableUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** The whole configuration. Strict throughout: an unknown key is a fault (contract 1). */
export const configSchema = z.strictObject({
  site: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, 'must be 1 to 40 of the characters a-z, 0-9 and -')
    .default('site')
    .describe('the prefix of all keys in the store; gateways that share a store need one each'),
  dataDir: filePath
    .default('data')
    .describe(
      "where the gateway keeps its data. With the gateway's own store, whose socket is in it, the absolute path may have 86 bytes",
    ),
  adminToken: adminToken.optional().meta({
    description:
      "the first administrator's token, at least 16 characters of visible ASCII. Left out: generated at the first start into <dataDir>/admin.token",
    examples: ['<a long one>'],
  }),
  allowPlaintext: z
    .boolean()
    .default(false)
    .describe(
      'whether plaintext MQTT and HTTP may be bound to an address that other machines can reach',
    ),
  tls: tlsSchema
    .optional()
    .describe(
      'MQTT over TLS and HTTPS. Left out: no TLS listeners. The files are read again when they change, and on SIGHUP',
    ),
  mqtt: mqttSchema
    .prefault({})
    .describe('the MQTT listeners, and what a packet and a session may be'),
  http: httpSchema.prefault({}).describe('the HTTP listeners, and what a request may be'),
  redis: storeSchema
    .prefault({})
    .describe('the store. Without url, sentinels and cluster the gateway runs its own in dataDir'),
  lease: z
    .strictObject({
      lengthSeconds: count
        .max(MAX_LEASE_SECONDS)
        .default(5)
        .describe(
          'how long the lease of a gateway that died keeps the others from serving; one that is stopped gives it up at once',
        ),
      renewSeconds: count
        .max(MAX_LEASE_SECONDS)
        .default(1)
        .describe('how often it is renewed; at most half of lengthSeconds'),
    })
    .prefault({})
    .describe('which of several gateways on an external store serves'),
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
        .default('info')
        .describe(
          'trace (10 in the lines), debug (20), info (30), warn (40), error (50), fatal (60) or silent',
        ),
    })
    .prefault({})
    .describe('the log'),
  limits: limitsSchema
    .prefault({})
    .describe(
      'limits that no honest device notices: who exceeds a rate is read later, and nobody else is',
    ),
  sessions: z
    .strictObject({
      maxQueuedMessages: count
        .default(1_000)
        .describe('messages that are no alarms; they wait in memory, and end with the gateway'),
      maxQueuedBytes: count.default(1_048_576).describe('the same in bytes'),
      maxQueuedHours: count
        .max(MAX_DAYS * 24)
        .default(72)
        .describe('the age of alarms and messages'),
      forgetAfterDays: count
        .max(MAX_DAYS)
        .default(7)
        .describe('when the session itself is forgotten'),
    })
    .prefault({})
    .describe('what is kept for a durable subscriber that is away'),
  supervision: z
    .strictObject({
      silentAfterSeconds: silentAfterSchema
        .nullable()
        .default(900)
        .describe(
          'after how long without a packet a device is silent; null: only devices with a time of their own are supervised',
        ),
    })
    .prefault({})
    .describe('silent devices'),
  escalations: escalationsSchema
    .default([])
    .describe('alarms that nobody acknowledges are forwarded once more'),
  drills: drillsSchema
    .default([])
    .describe('test alarms by schedule, each day, to every destination'),
  homeAssistant: z
    .strictObject({
      discovery: z
        .boolean()
        .default(false)
        .describe('whether each device announces itself to Home Assistant'),
      prefix: z
        .string()
        .regex(/^[^+#/$\0][^+#\0]*$/, 'must be a topic without wildcards')
        .default('homeassistant')
        .describe('the discovery prefix, as configured in Home Assistant'),
    })
    .prefault({})
    .describe(
      'discovery messages for Home Assistant: an event for the alarms of each device, and a sensor for its connection',
    ),
  backup: z
    .strictObject({
      ...dailyKeys,
      directory: filePath.meta({
        description: 'where the files are written; best on another disk, which must be mounted',
        examples: ['/mnt/backup'],
      }),
      keep: count.default(7).describe('how many files are kept; older ones are removed'),
      footage: z.boolean().default(false).describe('whether recordings are in them'),
    })
    .optional()
    .describe("a daily backup of dataDir with the gateway's own store"),
  watchdog: z
    .strictObject({
      url: z
        .string()
        .refine(isCallableUrl, 'must be an http:// or https:// URL')
        .meta({
          description:
            'called with GET every minute while the gateway is ready. The service behind it, such as healthchecks.io, tells somebody once the calls end',
          examples: ['https://hc-ping.com/<uuid>'],
        }),
    })
    .optional()
    .describe("a dead man's call, which notices that the box itself is gone"),
  outputs: outputsSchema
    .default([])
    .describe('webhooks: forwarded messages as signed requests to an application'),
  history: z
    .strictObject({
      retentionDays: count
        .max(MAX_DAYS)
        .default(365)
        .describe('how long alarms and recordings are kept'),
    })
    .prefault({})
    .describe('the alarm history'),
  audit: z
    .strictObject({
      retentionDays: count
        .max(MAX_DAYS)
        .default(365)
        .describe('how long records are kept; a million changes and 100,000 denials at most'),
    })
    .prefault({})
    .describe('the audit trail'),
  footage: footageSchema
    .prefault({})
    .describe('recordings of alarms, which are kept as long as the alarms'),
  rejected: z
    .strictObject({
      maxPerLocation: count.default(1000).describe("the length of a location's list"),
    })
    .prefault({})
    .describe('invalid publishes'),
  bridges: bridgesSchema
    .default([])
    .describe('brokers that forwarded messages are sent to. A change takes effect with SIGHUP'),
});

/** The keys as the schema leaves them. */
export type ParsedConfig = z.output<typeof configSchema>;

/** The keys as loaded. */
export type Config = Omit<ParsedConfig, 'tls'> & { readonly tls?: TlsConfig | undefined };
