import type { Consumer } from './consumer.js';

export const BACKLOG_CHECK_MS = 10_000;
/** Consumers named in the fault; a subscriber long gone must not hide the others. */
const MAX_NAMED = 3;

/** The fault of backlogs that are more than half full (CONTRACT 3); undefined: there are none. */
export function backlogFault(consumers: Iterable<Consumer>): string | undefined {
  const growing = [...consumers].filter(({ cursors: { alarms, messages }, limits }) => {
    return alarms.queued + messages.queued > limits.maxQueued / 2;
  });
  if (growing.length === 0) return undefined;
  const named = growing.slice(0, MAX_NAMED).map(({ name }) => name);
  const others = growing.length - named.length;
  const more = others > 0 ? ` and ${others} more` : '';
  return `queue growing, more than half full: ${named.join(', ')}${more}`;
}
