import { z } from 'zod';
import { parseBridgeTopic, selectedFilters } from './bridge-topics.js';
import { chosenKinds, chosenLocations, entryName } from './config-keys.js';
import { isFilter } from './topics.js';

/** Prefix of the client ids of bridges' queues; no MQTT client may have one. */
export const BRIDGE_CLIENT_ID_PREFIX = 'bridge/';

const MAX_UINT16 = 65_535;
const MAX_TOPIC_CHARACTERS = 1_000;
const MAX_HOURS = 24 * 365;
const PROTOCOLS = ['mqtt:', 'mqtts:', 'ws:', 'wss:'];

const filePath = z.string().min(1, 'must not be empty');
const count = z.int().min(1);
const filter = z.string().refine(isFilter, { error: 'must be an MQTT topic filter', abort: true });

const url = z
  .string()
  .refine(isBridgeUrl, 'must be a URL that begins with mqtt://, mqtts://, ws:// or wss://')
  .refine(hasNoQuery, 'must hold no query or fragment: a bridge has keys for its options')
  .refine(hasNoCredentials, 'must hold no user or password: they have keys of their own');

/** One bridge of the configuration; only `name` and `url` are required. */
export const bridgeKeys = z.strictObject({
  name: entryName.meta({
    description: '1 to 40 of the characters a-z, 0-9 and -. The queue belongs to the name',
    examples: ['region'],
  }),
  url: url.meta({
    description: 'mqtt://, mqtts://, ws:// or wss://; no user, password or query',
    examples: ['mqtts://broker.example:8883'],
  }),
  username: z
    .string()
    .min(1, 'must not be empty')
    .optional()
    .meta({ description: 'the user name at the upstream', examples: ['gateway'] }),
  password: z
    .string()
    .optional()
    .meta({ description: 'its password', examples: ['secret'] }),
  caFile: filePath.optional().meta({
    description:
      "the authority that the upstream's certificate is checked against, PEM. Left out: those of the system",
    examples: ['/etc/care-home-gateway/region-ca.crt'],
  }),
  certFile: filePath.optional().meta({
    description: "the gateway's own certificate, PEM",
    examples: ['/etc/care-home-gateway/region.crt'],
  }),
  keyFile: filePath
    .optional()
    .meta({ description: 'its key', examples: ['/etc/care-home-gateway/region.key'] }),
  serverName: z
    .string()
    .min(1, 'must not be empty')
    .optional()
    .meta({
      description: "the name in the upstream's certificate, where it is not the one in url",
      examples: ['broker.example'],
    }),
  clientId: z
    .string()
    .min(1, 'must not be empty')
    .optional()
    .meta({
      description: "left out: care-home-gateway-<12 digits of this installation's own>-<name>",
      examples: ['haus-am-see'],
    }),
  keepAliveSeconds: count.max(MAX_UINT16).default(30).describe('the keep-alive'),
  protocol: z
    .literal(['3.1.1', 5], 'must be 3.1.1 or 5')
    .optional()
    .meta({
      description:
        '3.1.1 or 5. Left out: 5, and 3.1.1 where the upstream does not speak it. Only with 5 can the upstream report a message that it never takes',
      examples: [5],
    }),
  locations: chosenLocations,
  send: z
    .enum(['alarms', 'all'])
    .optional()
    .meta({ description: 'alarms or all. Left out: all, with kinds alarms', examples: ['alarms'] }),
  kinds: chosenKinds,
  filters: z
    .array(filter)
    .min(1)
    .optional()
    .meta({
      description: 'topic filters over the forwarded topics',
      examples: [['care-homes/+/devices/+/#']],
    }),
  topic: z
    .string()
    .max(MAX_TOPIC_CHARACTERS, `must not be longer than ${MAX_TOPIC_CHARACTERS} characters`)
    .refine((text) => parseBridgeTopic(text) !== undefined, {
      error:
        'must be a topic without wildcards, of text and {topic}, {locationId}, {deviceId}, {kind}',
    })
    .default('{topic}')
    .describe(
      'the topic upstream: text, the forwarded {topic}, and its parts {locationId}, {deviceId} and {kind} (of a message that is no alarm: what follows the device)',
    ),
  qos: z
    .literal([0, 1, 2], 'must be 0, 1 or 2')
    .default(1)
    .describe('at 0 a message counts as delivered when it is sent'),
  retain: z
    .boolean()
    .default(false)
    .describe('whether the upstream should retain the newest message of each topic'),
  maxInFlight: count
    .max(MAX_UINT16)
    .default(100)
    .describe('messages sent and not yet acknowledged'),
  maxQueuedMessages: count
    .default(10_000)
    .describe(
      'what is kept in memory while the upstream is away, of messages that are no alarms; it ends with the gateway',
    ),
  maxQueuedBytes: count.default(16_777_216).describe('the same in bytes'),
  maxQueuedHours: count.max(MAX_HOURS).default(168).describe('the age of alarms and messages'),
  ackTimeoutSeconds: count
    .max(3600)
    .default(10)
    .describe('how long an upstream may acknowledge nothing before the bridge reconnects'),
  commands: z
    .array(filter)
    .default([])
    .meta({
      description:
        'filters to subscribe to upstream: …/devices/<id>/commands/<anything> reaches the device',
      examples: [['care-homes/+/devices/+/commands/#']],
    }),
});

const bridge = bridgeKeys
  .check(({ value, issues }) => {
    for (const [key, message] of contradictions(value)) {
      issues.push({ code: 'custom', input: value[key], path: [key], message });
    }
  })
  .transform((keys) => ({ ...keys, send: keys.send ?? (keys.kinds ? 'alarms' : 'all') }) as const);

/** One bridge as configured; `isMissing` if the configuration lacks it, but it still has a queue. */
export type BridgeOptions = Readonly<z.output<typeof bridge>> & { readonly isMissing?: true };

/** A bridge known only by its name: it queues within the defaults, and keeps alarms of any age. */
export function missingBridge(name: string): BridgeOptions {
  const keys = bridge.parse({ name, url: 'mqtt://missing', maxQueuedHours: MAX_HOURS });
  return { ...keys, isMissing: true };
}

/** All bridges; each name is the key of a queue in the store. */
export const bridgesSchema = z.array(bridge);

/** Checks for keys that are well-formed one by one but contradict each other. */
function* contradictions(
  keys: z.output<typeof bridgeKeys>,
): Generator<[key: keyof typeof keys, message: string]> {
  if (keys.kinds !== undefined && keys.send === 'all') {
    yield ['kinds', 'choose among alarms: leave send at alarms'];
  }
  const isChoiceEmpty = [keys.locations, keys.kinds, keys.filters].some((of) => of?.length === 0);
  if (!isChoiceEmpty && selectedFilters({ ...keys, send: keys.send ?? 'all' }).length === 0) {
    yield ['filters', 'match no topic that is sent'];
  }
}

function isBridgeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return PROTOCOLS.includes(protocol) && hostname !== '';
}

function hasNoCredentials(text: string): boolean {
  if (!URL.canParse(text)) return true;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}

/** mqtt.js takes options from a query, and a token in a query would show in the status. */
function hasNoQuery(text: string): boolean {
  return !/[?#]/.test(text);
}
