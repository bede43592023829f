import { z } from 'zod';
import { bridgesSchema } from '../domain/bridge-schema.js';
import {
  deviceLimitsSchema,
  locationLimitsSchema,
  tokenLimitsSchema,
  totalLimitsSchema,
} from '../domain/limits.js';
import { outputsSchema } from '../domain/output-schema.js';
import { drillsSchema } from '../domain/time/drill-schedule.js';
import { escalationsSchema } from '../domain/time/escalations.js';
import { silentAfterSchema } from '../domain/time/supervision.js';
import { storeSchema } from './store-schema.js';

/** Every key of the configuration with its default (docs/reference/contract.md, 1 and 5). Units are in the names. */

const LOOPBACK = '127.0.0.1';
/** IPv6 and IPv4; IPv4 where the machine has no IPv6 (`listen`). */
export const DEFAULT_TLS_HOST = '::';
const MAX_PORT = 65_535;
/** The largest packet MQTT 3.1.1 can express, 2.2.3: a remaining length of 268,435,455 bytes. */
const MAX_MQTT_PACKET_BYTES = 268_435_455;
/** The largest keep-alive, and the number of packet identifiers: both are 16 bits wide in MQTT. */
const MAX_UINT16 = 65_535;
const MAX_BODY_BYTES = 16 * 1024 * 1024;
const MAX_DAYS = 36_500;
const MAX_LEASE_SECONDS = 3_600;
/** 5 GiB: the limit of one PUT in S3 as well. */
const MAX_UPLOAD_BYTES = 5 * 1024 ** 3;

const host = z.string().regex(/^[A-Za-z0-9._:%-]{1,255}$/, 'must be an IP address or a host name');
const port = z.int().min(0).max(MAX_PORT);
const filePath = z.string().min(1, 'must not be empty');
const count = z.int().min(1);
const visibleText = z.string().regex(/^[!-~]+$/, 'must be visible ASCII characters');

const adminToken = z
  .string()
  .regex(/^[!-~]+$/, 'must be visible ASCII characters without white space');

const publicUrl = z
  .string()
  .refine(isWebUrl, 'must be an http:// or https:// URL without credentials, query and fragment')
  // Paths follow it.
  .transform((text) => text.replace(/\/+$/, ''));

/** The origin of a web application: scheme, host and port (RFC 6454). */
const origin = z
  .string()
  .refine(
    (text) => isWebUrl(text) && new URL(text).pathname === '/',
    'must be the origin of a web application, such as https://dashboard.example.org',
  )
  .transform((text) => new URL(text).origin);

/** The URL of an S3 server, without a path: the bucket's name follows it. */
const s3Endpoint = z
  .string()
  .refine(
    (text) => isWebUrl(text) && new URL(text).pathname === '/',
    'must be an http:// or https:// URL of a host and nothing else',
  );

const tls = z.strictObject({
  host: host.default(DEFAULT_TLS_HOST),
  certFile: filePath,
  keyFile: filePath,
});

const mqtt = z.strictObject({
  host: host.default(LOOPBACK),
  port: port.default(1883),
  tlsPort: port.default(8883),
  maxPacketBytes: count.max(MAX_MQTT_PACKET_BYTES).default(262_144),
  maxAlarmBytes: count.max(MAX_MQTT_PACKET_BYTES).default(16_384),
  maxKeepAliveSeconds: count.max(MAX_UINT16).default(300),
  maxFiltersPerSession: count.default(1000),
  maxInFlight: count.max(MAX_UINT16).default(100),
});

const http = z.strictObject({
  host: host.default(LOOPBACK),
  port: port.default(8080),
  tlsPort: port.default(8443),
  maxBodyBytes: count.max(MAX_BODY_BYTES).default(65_536),
  maxConnections: count.default(10_000),
  maxConnectionsPerAddress: count.default(1_000),
  openMetrics: z.boolean().default(false),
  publicUrl: publicUrl.optional(),
  allowedOrigins: z.array(origin).default([]),
});

const s3 = z.strictObject({
  endpoint: s3Endpoint,
  region: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a region')
    .default('us-east-1'),
  bucket: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
      'must be the name of a bucket (3 to 63 of a-z 0-9 . -)',
    ),
  pathStyle: z.boolean().default(true),
  accessKeyId: visibleText,
  secretAccessKey: visibleText,
});

const footage = z.strictObject({
  maxUploadBytes: count.max(MAX_UPLOAD_BYTES).default(104_857_600),
  minFreeBytes: z.int().min(0).default(268_435_456),
  s3: s3.optional(),
});

/** The whole configuration. Strict throughout: an unknown key is a fault (docs/reference/contract.md, 1). */
export const configSchema = z.strictObject({
  /** The prefix of all keys in the store, so that many sites can share one. */
  site: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, 'must be 1 to 40 of the characters a-z, 0-9 and -')
    .default('site'),
  dataDir: filePath.default('data'),
  adminToken: adminToken.optional(),
  allowPlaintext: z.boolean().default(false),
  tls: tls.optional(),
  mqtt: mqtt.prefault({}),
  http: http.prefault({}),
  redis: storeSchema.prefault({}),
  lease: z
    .strictObject({
      lengthSeconds: count.max(MAX_LEASE_SECONDS).default(5),
      renewSeconds: count.max(MAX_LEASE_SECONDS).default(1),
    })
    .prefault({}),
  log: z
    .strictObject({
      level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    })
    .prefault({}),
  limits: z
    .strictObject({
      connectionsPerSecond: count.default(10),
      connectionBurst: count.default(100),
      handshakesPerSecond: count.default(50),
      handshakeBurst: count.default(500),
      device: deviceLimitsSchema.prefault({}),
      token: tokenLimitsSchema.prefault({}),
      location: locationLimitsSchema.prefault({}),
      total: totalLimitsSchema.prefault({}),
    })
    .prefault({}),
  sessions: z
    .strictObject({
      maxQueuedMessages: count.default(10_000),
      maxQueuedBytes: count.default(67_108_864),
      maxQueuedHours: count.max(MAX_DAYS * 24).default(72),
      forgetAfterDays: count.max(MAX_DAYS).default(7),
    })
    .prefault({}),
  supervision: z
    .strictObject({ silentAfterSeconds: silentAfterSchema.nullable().default(900) })
    .prefault({}),
  escalations: escalationsSchema.default([]),
  drills: drillsSchema.default([]),
  outputs: outputsSchema.default([]),
  history: z.strictObject({ retentionDays: count.max(MAX_DAYS).default(365) }).prefault({}),
  audit: z
    .strictObject({
      retentionDays: count.max(MAX_DAYS).default(365),
      export: z.boolean().default(false),
    })
    .prefault({}),
  footage: footage.prefault({}),
  rejected: z.strictObject({ maxPerLocation: count.default(1000) }).prefault({}),
  bridges: bridgesSchema.default([]),
});

export type Config = z.output<typeof configSchema>;

function isWebUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  const isPlain = username === '' && password === '' && search === '' && hash === '';
  return (protocol === 'http:' || protocol === 'https:') && isPlain;
}
