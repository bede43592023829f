import { isRecord, parseExactJson } from '../request.js';

/** An event as received. */
export interface ReceivedEvent {
  /** The position in the gateway's log, if the event is in it. */
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  readonly data: string;
}

/** A message of `GET /events`: a forwarded message, as an MQTT subscriber receives it. */
export interface LiveMessage {
  readonly topic: string;
  readonly retained: boolean;
  /** Whether it is an alarm in the log, or its state: the live copy of an alarm comes ahead of its record. */
  readonly isRecorded: boolean;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Parses an event `message`; undefined if its data is something else. */
export function parseLiveMessage({ id, data }: ReceivedEvent): LiveMessage | undefined {
  const { topic, retained, payload } = parseRecord(data) ?? {};
  if (typeof topic !== 'string' || !isRecord(payload)) return undefined;
  return { topic, retained: retained === true, isRecorded: id !== undefined, payload };
}

/** Whether the event `open` reports missed messages that the gateway no longer has. */
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
    // Devices may publish anything; that must not end the stream.
    return undefined;
  }
}
