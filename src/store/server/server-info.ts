/** A field of the server's INFO; undefined when it is not there. */
export function infoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

/** A number in the server's INFO; 0 when it is not there. */
export function infoNumber(info: string, name: string): number {
  return Number(infoField(info, name) ?? 0);
}
