import { z } from 'zod';
import { intersection } from './bridge-topics.js';
import { chosenLocations, entryName, namedList } from './config-keys.js';
import { isFilter } from './topics.js';

/** Prefix of the client ids of webhooks' queues; no MQTT client may have one. */
export const WEBHOOK_CLIENT_ID_PREFIX = 'webhook/';

const MAX_HOURS = 24 * 365;
const MAX_SENT_AT_ONCE = 100;
/** What a subscriber can get. */
const SENT = ['care-homes/+/devices/+/#', 'gateway/#'];
const STANDARD_PREFIX = 'whsec_';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const count = z.int().min(1);

/** One output of the configuration. */
const outputSchema = z.strictObject({
  name: entryName.meta({
    description: '1 to 40 of the characters a-z, 0-9 and -. The queue belongs to the name',
    examples: ['night-app'],
  }),
  type: z.literal('webhook').meta({ description: 'webhook', examples: ['webhook'] }),
  url: z
    .string()
    .refine(isWebhookUrl, 'must be an http:// or https:// URL without user and password')
    .meta({
      description: 'https:// or http://, without user and password',
      examples: ['https://hooks.example.org/night'],
    }),
  secret: z
    .string()
    .min(1, 'must not be empty')
    .refine(isSecret, 'must be base64 after whsec_')
    .transform(keyOf)
    .meta({
      description:
        'signs: whsec_ and base64 of 24 random bytes or more, as in Standard Webhooks, whose libraries also decode base64 without the prefix; a text that is no base64 is the key itself',
      examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
    }),
  topics: z
    .array(z.string().refine(isFilter, 'must be an MQTT topic filter'))
    .min(1)
    .meta({
      description: 'filters, as those of a subscription',
      examples: [['care-homes/+/devices/+/alarms/#', 'care-homes/+/devices/+/escalations/#']],
    }),
  locations: chosenLocations,
  allowPrivate: z
    .boolean()
    .default(false)
    .describe('whether the URL may lead to a loopback, link-local or private address'),
  maxSentAtOnce: count
    .max(MAX_SENT_AT_ONCE)
    .default(8)
    .describe('messages of several devices that are sent at once'),
  maxQueuedMessages: count
    .default(10_000)
    .describe('messages that are no alarms; they wait in memory, and end with the gateway'),
  maxQueuedBytes: count.default(16_777_216).describe('the same in bytes'),
  maxQueuedHours: count.max(MAX_HOURS).default(168).describe('the age of alarms and messages'),
});

/** All outputs; each name is the key of a queue in the store. */
export const outputsSchema = namedList(outputSchema);

/** A webhook as configured; `secret` is the key that signs. */
export type WebhookOptions = Readonly<z.output<typeof outputSchema>>;

function isWebhookUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return ['http:', 'https:'].includes(protocol) && username === '' && password === '';
}

/** Whether a subscriber with the filter can get anything. */
export function matchesSent(filter: string): boolean {
  return SENT.some((sent) => intersection(sent, filter) !== undefined);
}

function isSecret(text: string): boolean {
  const encoded = text.slice(STANDARD_PREFIX.length);
  return !text.startsWith(STANDARD_PREFIX) || (encoded !== '' && BASE64.test(encoded));
}

/** The key in a secret as the libraries of Standard Webhooks read it: base64, with or without `whsec_`. Any other text is the key. */
function keyOf(secret: string): Buffer {
  const text = secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : secret;
  return BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.from(secret);
}
