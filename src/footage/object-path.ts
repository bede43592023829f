/**
 * The object key as a URL's path, each level percent-encoded by itself.
 *
 * A `+` is encoded too, as some servers and the signing library take it for a space.
 */
export function objectPath(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/');
}
