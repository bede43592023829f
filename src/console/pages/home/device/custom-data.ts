import { HttpError } from '@oazapfts/runtime';
import { tagOf } from '../../../api/entity-tag.js';
import { defaults } from '../../../api/generated.js';

/** Specification 8. */
export const MAX_CUSTOM_DATA_BYTES = 1024;

export type CustomDataFault =
  | { readonly type: 'too-large' | 'not-json' | 'not-object' }
  | { readonly type: 'not-json-at'; readonly line: number; readonly column: number };

interface DeviceKey {
  readonly locationId: string;
  readonly deviceId: string;
}

/** Custom data as stored. */
export interface StoredCustomData {
  readonly text: string;
  /** Differs after each change (RFC 9110, 8.8.3). */
  readonly tag: string;
}

/** Reads a device's custom data as text: parsing JSON in JavaScript loses digits of large numbers. */
export function readCustomData(key: DeviceKey): Promise<StoredCustomData> {
  return requestText(key, {});
}

/**
 * Replaces a device's custom data with the text as typed.
 *
 * @param tag of the data to replace: the gateway refuses (412) to replace what someone else has stored meanwhile
 */
export function writeCustomData(
  key: DeviceKey,
  text: string,
  tag: string,
): Promise<StoredCustomData> {
  const headers = { 'Content-Type': 'application/json', 'If-Match': tag };
  return requestText(key, { method: 'PATCH', headers, body: text });
}

async function requestText(key: DeviceKey, init: RequestInit): Promise<StoredCustomData> {
  const path = `care-homes/${key.locationId}/devices/${key.deviceId}/custom-data`;
  const response = await (defaults.fetch ?? fetch)(`./${path}`, init);
  if (response.ok) return { text: await response.text(), tag: tagOf(response) };
  // The answer of a proxy may not be JSON; its status is enough.
  const problem: unknown = await response.json().catch(() => undefined);
  throw new HttpError(response.status, problem, response.headers);
}

export function byteCount(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Finds what the gateway would refuse; the gateway checks again. */
export function customDataFault(text: string): CustomDataFault | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return jsonFault(String(error), text);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { type: 'not-object' };
  }
  return byteCount(text) > MAX_CUSTOM_DATA_BYTES ? { type: 'too-large' } : undefined;
}

/** Browsers tell the position in their own words, if at all. */
function jsonFault(message: string, text: string): CustomDataFault {
  const position = /position (?<position>\d+)/.exec(message)?.groups?.['position'];
  if (position === undefined) return { type: 'not-json' };
  const before = text.slice(0, Number(position)).split('\n');
  return { type: 'not-json-at', line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
