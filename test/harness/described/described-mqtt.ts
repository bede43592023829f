import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { z } from 'zod';
import { asyncApiDocument } from '../../../scripts/descriptions/asyncapi-document.js';
import { BASE64 } from './described-http.js';

/** A message as a client received it. */
export interface DescribedMessage {
  readonly topic: string;
  readonly text: string;
  readonly qos: number;
  readonly retain: boolean;
}

const documentSchema = z.looseObject({
  channels: z.record(z.string(), z.looseObject({ address: z.string() })),
  operations: z.record(
    z.string(),
    z.looseObject({
      action: z.enum(['send', 'receive']),
      channel: z.looseObject({ $ref: z.string() }),
      bindings: z.looseObject({
        mqtt: z.looseObject({ qos: z.number(), retain: z.boolean().optional() }),
      }),
    }),
  ),
  components: z.looseObject({
    schemas: z.record(z.string(), z.looseObject({})),
    messages: z.record(
      z.string(),
      z.looseObject({ payload: z.record(z.string(), z.unknown()).optional() }),
    ),
  }),
});

interface Channel {
  readonly name: string;
  readonly pattern: RegExp;
  /** Characters of the address outside its parameters; of two channels, the one with more wins. */
  readonly weight: number;
  readonly maxQos: number;
  readonly isNeverRetained: boolean;
  /** Undefined where the channel takes any bytes. */
  readonly validate: ValidateFunction | undefined;
}

/**
 * Checks messages against the AsyncAPI document.
 *
 * The gateway must send on the topic. Payload, QoS and retain flag must match the schema, without
 * extra fields.
 */
export class DescribedMqtt {
  readonly #channels: readonly Channel[];

  constructor(document: unknown) {
    const { channels, operations, components } = documentSchema.parse(document);
    const ajv = new Ajv({ strict: false, allErrors: true });
    addFormats.default(ajv);
    ajv.addFormat('base64', BASE64);
    for (const [name, schema] of Object.entries(components.schemas)) {
      ajv.addSchema(schema, `#/components/schemas/${name}`);
    }
    const sent = Object.values(operations).filter(({ action }) => action === 'send');
    const described = sent.map(({ channel, bindings }): Channel => {
      const name = channel.$ref.split('/').at(-1) ?? '';
      const { address = '' } = channels[name] ?? {};
      const payload = components.messages[name]?.payload;
      return {
        name,
        pattern: patternOf(address),
        weight: address.replaceAll(/\{\w+\}/g, '').length,
        maxQos: bindings.mqtt.qos,
        isNeverRetained: bindings.mqtt.retain === false,
        validate: payload === undefined ? undefined : ajv.compile(payload),
      };
    });
    this.#channels = described.toSorted((one, other) => other.weight - one.weight);
  }

  /** @throws Error that tells how the message differs from the document */
  check(message: DescribedMessage): void {
    const fault = this.#faultOf(message);
    if (fault === undefined) return;
    const { topic, text } = message;
    throw new Error(`${topic} is not as /asyncapi.json says: ${fault}\n${text}`);
  }

  #faultOf({ topic, text, qos, retain }: DescribedMessage): string | undefined {
    const channel = this.#channels.find(({ pattern }) => pattern.test(topic));
    if (channel === undefined) return 'no channel has this topic';
    if (qos > channel.maxQos) return `QoS ${qos}`;
    if (retain && channel.isNeverRetained) return 'retained';
    // It takes a message back, as the document says.
    if (text === '' && channel.name === 'homeAssistantDiscovery') return undefined;
    if (channel.validate === undefined || channel.validate(JSON.parse(text))) return undefined;
    return `${channel.name}: ${JSON.stringify(channel.validate.errors)}`;
  }
}

function patternOf(address: string): RegExp {
  const pattern = address.replace('{rest}', '.+').replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${pattern}$`, 'su');
}

/** The gateway's own document. */
export const describedMqtt = new DescribedMqtt(asyncApiDocument(''));
