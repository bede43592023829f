/**
 * Whether a topic matches a filter; `$` topics match no leading wildcard [MQTT-4.7.2-1].
 *
 * Compares level by level, as the standard says: the reference for the gateway's tree of filters.
 */
export function matchesFilter(filter: string, topic: string): boolean {
  if (topic.startsWith('$') && !filter.startsWith('$')) return false;
  const [wanted, levels] = [filter.split('/'), topic.split('/')];
  // `a/#` matches `a` itself as well [MQTT-4.7.1-2].
  const isOpen = wanted.at(-1) === '#';
  const fixed = isOpen ? wanted.slice(0, -1) : wanted;
  if (isOpen ? levels.length < fixed.length : levels.length !== fixed.length) return false;
  return fixed.every((level, index) => level === '+' || level === levels[index]);
}
