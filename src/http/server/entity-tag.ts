/** Whether an `If-None-Match` names this entity tag (RFC 9110, 13.1.2). */
export function isNamed(tag: string, tags: string): boolean {
  const opaque = (one: string) => one.trim().replace(/^W\//, '');
  return tags.split(',').some((one) => one.trim() === '*' || opaque(one) === opaque(tag));
}
