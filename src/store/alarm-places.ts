import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { DeviceContext } from '../domain/messages.js';

/** 96 bits. */
const DIGEST_CHARACTERS = 16;

/** Location, device, room and group, '' for none, and the JSON text of the custom data. */
const placeTextSchema = z.tuple([z.string(), z.string(), z.string(), z.string(), z.string()]);
type PlaceText = z.infer<typeof placeTextSchema>;

/** Where a device was and what was known of it: the same for many alarms, and so kept once for them. */
export interface AlarmPlace {
  readonly locationId: string;
  readonly deviceId: string;
  readonly roomId: string | null;
  readonly groupId: string | null;
  /** JSON text of an object. */
  readonly customData: string;
}

/** A place as it is written down. */
export interface WrittenPlace {
  /** The same for equal places only. */
  readonly digest: string;
  readonly text: string;
}

/** Writes places down; what a device's context comes to is worked out once until it changes. */
export class AlarmPlaces {
  readonly #written = new WeakMap<DeviceContext, WrittenPlace>();

  of(context: DeviceContext): WrittenPlace {
    const known = this.#written.get(context);
    if (known !== undefined) return known;
    const place = writtenPlace(context);
    this.#written.set(context, place);
    return place;
  }
}

function writtenPlace({ device, location, room, group }: DeviceContext): WrittenPlace {
  const place: PlaceText = [
    location.id,
    device.id,
    room?.id ?? '',
    group?.id ?? '',
    device.customData,
  ];
  const text = JSON.stringify(place);
  const digest = createHash('sha256').update(text).digest('base64url');
  return { digest: digest.slice(0, DIGEST_CHARACTERS), text };
}

/** Reads a place's text. */
export function readPlace(text: string): AlarmPlace {
  const [locationId, deviceId, roomId, groupId, customData] = placeTextSchema.parse(
    JSON.parse(text),
  );
  return { locationId, deviceId, roomId: roomId || null, groupId: groupId || null, customData };
}
