import { z } from 'zod';
import { CHANNELS, type Channel, PARAMETERS } from './asyncapi-channels.js';
import { exampleOf } from './examples.js';
import { messageNames } from './message-schemas.js';

const BINDING_VERSION = '0.2.0';
const JSON_TYPE = 'application/json';
const BYTES_TYPE = 'application/octet-stream';

const DESCRIPTION = `Devices publish under their own id; the gateway records their alarms, adds the
place and the device's custom data, and forwards every message to the subscribers of its location.
MQTT 5, 3.1.1 and 3.1. A publish that cannot be used, or that its sender may not make, is acknowledged,
with MQTT 5 by a reason code, and told on the two \`rejected\` topics. A subscription is granted QoS 1
at most; one that the access token does not cover gets 0x80 in the SUBACK, with MQTT 5 0x87. Payload
format, content type, response topic, correlation data and user properties of MQTT 5 are passed on.`;

const CREDENTIALS =
  'A device: its id and its secret. Anybody else: the `id` of an access token and the token.';

type MessageSchemas = Readonly<Record<string, object>>;

/**
 * The AsyncAPI 3.0 document of the MQTT side, from the schemas of the messages.
 */
export function asyncApiDocument(version: string) {
  const channels = Object.entries(CHANNELS);
  const schemas = messageSchemas();
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Care-home gateway',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: JSON_TYPE,
    servers: {
      mqtt: server('mqtt', '1883'),
      mqtts: server('mqtts', '8883'),
      webSocket: { ...server('ws', '8080'), pathname: '/mqtt' },
      secureWebSocket: { ...server('wss', '8443'), pathname: '/mqtt' },
    },
    channels: Object.fromEntries(
      channels.map(([name, channel]) => [name, described(name, channel)]),
    ),
    operations: Object.fromEntries(
      channels.map(([name, channel]) => [`${channel.action}-${name}`, operation(name, channel)]),
    ),
    components: {
      securitySchemes: { credentials: { type: 'userPassword', description: CREDENTIALS } },
      schemas,
      messages: Object.fromEntries(
        channels.map(([name, channel]) => [name, message(name, channel, schemas)]),
      ),
    },
  };
}

function server(protocol: string, port: string) {
  return {
    host: '{host}:{port}',
    protocol,
    protocolVersion: '5.0',
    security: [{ $ref: '#/components/securitySchemes/credentials' }],
    variables: {
      host: { default: 'localhost', description: 'The host of the gateway.' },
      port: { default: port, description: 'As configured.' },
    },
  };
}

function described(name: string, { address, summary }: Channel) {
  const names = [...address.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => parameter);
  return {
    address,
    summary,
    ...(names.length === 0
      ? {}
      : { parameters: Object.fromEntries(names.map((one) => [one, PARAMETERS[one]])) }),
    messages: { [name]: { $ref: `#/components/messages/${name}` } },
  };
}

function operation(name: string, { action, summary, qos, retain }: Channel) {
  return {
    action,
    summary,
    channel: { $ref: `#/channels/${name}` },
    messages: [{ $ref: `#/channels/${name}/messages/${name}` }],
    bindings: {
      mqtt: { qos, ...(retain === undefined ? {} : { retain }), bindingVersion: BINDING_VERSION },
    },
  };
}

/** The properties of MQTT 5 that are passed on (3.3.2.3); user properties are the headers. */
const PASSED_ON = {
  headers: {
    type: 'object',
    description: 'The user properties of MQTT 5, as they were published.',
    additionalProperties: { type: 'string' },
  },
  bindings: {
    mqtt: {
      responseTopic: { type: 'string', description: 'As it was published.' },
      correlationData: { type: 'string', description: 'Any bytes, as they were published.' },
      bindingVersion: BINDING_VERSION,
    },
  },
};

interface DescribedMessage {
  readonly name: string;
  readonly summary: string;
  readonly contentType: string;
  readonly headers?: object;
  readonly bindings?: object;
  readonly payload?: { readonly $ref: string };
  readonly examples?: readonly [{ readonly name: string; readonly payload: unknown }];
}

function message(name: string, channel: Channel, schemas: MessageSchemas): DescribedMessage {
  const { summary, payload, passesProperties } = channel;
  const passedOn = passesProperties === true ? PASSED_ON : {};
  if (payload === undefined) return { name, summary, contentType: BYTES_TYPE, ...passedOn };
  const id = messageNames.get(payload)?.id ?? name;
  return {
    name,
    summary,
    ...passedOn,
    contentType: JSON_TYPE,
    payload: { $ref: reference(id) },
    examples: [{ name: id, payload: exampleOf(schemas[id], schemas) }],
  };
}

/** The named schemas in JSON Schema draft 7; AsyncAPI's default is a superset of it. */
function messageSchemas(): MessageSchemas {
  const options = { target: 'draft-7', io: 'input', uri: reference } as const;
  const { schemas } = z.toJSONSchema(messageNames, options);
  const entries = Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => {
    return [id, { title: id, ...schema }];
  });
  return Object.fromEntries(entries);
}

function reference(id: string): string {
  return `#/components/schemas/${id}`;
}
