import { createHash } from 'node:crypto';
import { z } from 'zod';
import { objectMembers, parseJson } from '../domain/json-text.js';
import type { DeviceContext } from '../domain/messages.js';
import type { AlarmPlace } from '../site/alarm-history.js';

/** 96 bits. */
const DIGEST_CHARACTERS = 16;

const namedSchema = z.object({ id: z.string(), name: z.string() });
const placeSchema = z.object({
  device: namedSchema,
  location: namedSchema,
  room: namedSchema.nullable(),
  group: namedSchema.nullable(),
});

/** A place as the store keeps it. */
export interface WrittenPlace {
  /** The same for equal places only. */
  readonly digest: string;
  /** The JSON object whose members every forwarded message of the device ends with. */
  readonly text: string;
}

/** A place as it is read: `contextText` is what messages are rendered with. */
export interface ReadPlace extends AlarmPlace {
  readonly contextText: string;
}

/**
 * Writes the places of alarms: where a device was and its custom data at that moment.
 *
 * Many alarms share a place, and so the store keeps it once for them. A context's text is digested
 * once until it changes.
 */
export class AlarmPlaces {
  readonly #written = new WeakMap<DeviceContext, WrittenPlace>();

  of(context: DeviceContext): WrittenPlace {
    const known = this.#written.get(context);
    if (known !== undefined) return known;
    const text = `{${context.text}}`;
    const digest = createHash('sha256').update(text).digest('base64url');
    const place = { digest: digest.slice(0, DIGEST_CHARACTERS), text };
    this.#written.set(context, place);
    return place;
  }
}

/**
 * Reads a place's text; undefined when it is none of ours. The custom data keeps the spelling in which
 * the customer sent it.
 */
export function readPlace(text: string): ReadPlace | undefined {
  const place = placeSchema.safeParse(parseJson(text)).data;
  if (place === undefined) return undefined;
  const customData = objectMembers(text)?.get('customData') ?? '{}';
  return { ...place, customData, contextText: text.slice(1, -1) };
}
