/** Specification 8. */
export const MAX_CUSTOM_DATA_BYTES = 1024;

export type CustomDataFault =
  | { readonly type: 'too-large' | 'not-json' | 'not-object' }
  | { readonly type: 'not-json-at'; readonly line: number; readonly column: number };

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
