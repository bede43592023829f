/**
 * The object key as a URL's path, each level percent-encoded separately.
 *
 * A `+` is encoded too, because some servers and the signing library read it as a space.
 */
export function objectPath(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/');
}
