/** A field of the server's INFO; undefined if missing. */
export function infoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

/** A number in the server's INFO; 0 if missing. */
export function infoNumber(info: string, name: string): number {
  return Number(infoField(info, name) ?? 0);
}
