import { parseExactJson } from '../api/exact-json.js';
import { isRecord } from '../api/record.js';

/** A message of `GET /events`: a forwarded message, as a subscriber over MQTT gets it. */
export interface LiveMessage {
  readonly topic: string;
  readonly retained: boolean;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Parses the data of an event `message`; undefined when it is something else. */
export function parseLiveMessage(data: string): LiveMessage | undefined {
  const { topic, retained, payload } = parseRecord(data) ?? {};
  if (typeof topic !== 'string' || !isRecord(payload)) return undefined;
  return { topic, retained: retained === true, payload };
}

/** Whether the event `open` says that messages were missed which the gateway no longer has. */
export function parseMissed(data: string): boolean {
  return parseRecord(data)?.['missed'] === true;
}

/** The time of an event `heartbeat`. */
export function parseTime(data: string): string | null {
  const at = parseRecord(data)?.['at'];
  return typeof at === 'string' ? at : null;
}

function parseRecord(data: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseExactJson(data);
    return isRecord(value) ? value : undefined;
  } catch {
    // Devices may publish anything; a stream must not end with it.
    return undefined;
  }
}
