/**
 * The object key as the path of a URL: each level percent-encoded by itself, a `+` too, which some
 * servers and the signing library take for a space.
 */
export function objectPath(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/');
}
