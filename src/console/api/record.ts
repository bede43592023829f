/** An object of JSON: what is in it is to be looked at, member by member. */
type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value, or an empty object where it is none. */
export function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

/** The value as a list of texts; whatever is none is left out. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
