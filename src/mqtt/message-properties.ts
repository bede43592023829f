/** The properties of a PUBLISH that are passed on to subscribers. */

import { isSafeTopic } from '../domain/topics.js';
import type { Message } from './packets.js';
import { encodeFields } from './properties.js';

export interface MessageProperties {
  /** Payload format, content type, response topic, correlation data and user properties, encoded (`encodeFields`). */
  readonly fields: Buffer;
  /** When the message expires, by the steady clock; undefined: it sets no expiry. */
  readonly expiresAtMs: number | undefined;
  /** Whether it was published with RETAIN. */
  readonly isRetained: boolean;
}

/** Those of a retained message that the gateway itself publishes. */
export const RETAINED_ONLY: MessageProperties = {
  fields: Buffer.alloc(0),
  expiresAtMs: undefined,
  isRetained: true,
};

/** Longer ones are left out: properties must not take more room than a payload may. */
const MAX_FIELD_BYTES = 16 * 1024;
const NO_FIELDS = Buffer.alloc(0);

/** Flags of `packProperties`. */
const RETAINED = 1;
const EXPIRES = 2;
const EXPIRY_BYTES = 8;

/**
 * The properties that go with a message.
 *
 * @param nowMs the steady clock
 */
export function propertiesOf(
  { retain, properties }: Pick<Message, 'retain' | 'properties'>,
  nowMs: number,
): MessageProperties {
  const { messageExpirySeconds, payloadFormat, correlationData } = properties ?? {};
  const passedOn = {
    payloadFormat,
    contentType: safeText(properties?.contentType),
    responseTopic: safeText(properties?.responseTopic),
    correlationData,
    userProperties: properties?.userProperties?.filter(([name, value]) =>
      [name, value].every(isSafeTopic),
    ),
  };
  const fields = properties === undefined ? NO_FIELDS : encodeFields(passedOn);
  const expiresAtMs =
    messageExpirySeconds === undefined ? undefined : nowMs + messageExpirySeconds * 1_000;
  return {
    fields: fields.length > MAX_FIELD_BYTES ? NO_FIELDS : fields,
    expiresAtMs,
    isRetained: retain,
  };
}

/** Undefined for text with characters that make Mosquitto's clients close the connection. */
function safeText(text: string | undefined): string | undefined {
  return text !== undefined && isSafeTopic(text) ? text : undefined;
}

/** @param nowMs the steady clock */
export function hasExpired({ expiresAtMs }: MessageProperties, nowMs: number): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= nowMs;
}

/** Their length as `packProperties` encodes them. */
export function bytesOfProperties({ fields, expiresAtMs }: MessageProperties): number {
  return 1 + (expiresAtMs === undefined ? 0 : EXPIRY_BYTES) + fields.length;
}

/** Encodes properties for the store: a byte of flags, the expiry, the fields. */
export function packProperties({ fields, expiresAtMs, isRetained }: MessageProperties): Buffer {
  const flags = (isRetained ? RETAINED : 0) | (expiresAtMs === undefined ? 0 : EXPIRES);
  const expiry = Buffer.alloc(expiresAtMs === undefined ? 0 : EXPIRY_BYTES);
  if (expiresAtMs !== undefined) expiry.writeDoubleBE(expiresAtMs);
  return Buffer.concat([Buffer.from([flags]), expiry, fields]);
}

/** Decodes the result of `packProperties`; undefined for anything shorter. */
export function unpackProperties(packed: Buffer | undefined): MessageProperties | undefined {
  const flags = packed?.[0];
  if (packed === undefined || flags === undefined) return undefined;
  const fieldsAt = (flags & EXPIRES) === 0 ? 1 : 1 + EXPIRY_BYTES;
  if (packed.length < fieldsAt) return undefined;
  return {
    fields: packed.subarray(fieldsAt),
    expiresAtMs: fieldsAt === 1 ? undefined : packed.readDoubleBE(1),
    isRetained: (flags & RETAINED) !== 0,
  };
}
