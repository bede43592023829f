/** A reader of `/events`, as a browser's EventSource is one. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { z } from 'zod';
import type { HttpPlace } from './http.js';
import { Waiters } from './wait.js';

/** One server-sent event. */
export interface StreamEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
}

export interface EventRequest {
  readonly filters?: readonly string[];
  readonly lastEventId?: string | undefined;
  /** Sends it as the query parameter instead of the header. */
  readonly isInQuery?: boolean;
}

const openData = z.strictObject({ position: z.string(), missed: z.boolean() });
const messageData = z.strictObject({
  topic: z.string(),
  retained: z.boolean(),
  payload: z.unknown(),
});
const alarmData = z.looseObject({
  payload: z.looseObject({
    id: z.string(),
    late: z.boolean(),
    device: z.looseObject({ id: z.string() }),
    data: z.unknown().optional(),
  }),
});

export class EventReader {
  readonly response: IncomingMessage;
  readonly events: StreamEvent[] = [];
  isEnded = false;
  readonly #waiters = new Waiters();
  #rest = '';

  private constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#parse(text));
    for (const event of ['close', 'error']) {
      response.on(event, () => {
        this.isEnded = true;
        this.#waiters.changed();
      });
    }
  }

  /** Resolves once the answer has begun, whatever it is. */
  static async open(
    { httpPort }: HttpPlace,
    { token }: { readonly token: string },
    { filters = [], lastEventId, isInQuery = false }: EventRequest = {},
  ): Promise<EventReader> {
    const query = new URLSearchParams(filters.map((filter) => ['filter', filter]));
    if (lastEventId !== undefined && isInQuery) query.set('lastEventId', lastEventId);
    const asked = request(`http://127.0.0.1:${httpPort}/events?${query}`, {
      agent: false,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(lastEventId !== undefined && !isInQuery && { 'Last-Event-ID': lastEventId }),
      },
    });
    asked.end();
    const [response] = await once(asked, 'response');
    asked.on('error', () => undefined);
    return new EventReader(response);
  }

  /** The data of `open`, which must be the first event. */
  async opened(): Promise<z.infer<typeof openData>> {
    await this.until(({ events }) => events.length > 0, 'the first event');
    const [first] = this.events;
    if (first?.event !== 'open') throw new Error(`the first event is ${first?.event}`);
    return openData.parse(JSON.parse(first.data));
  }

  /** The messages so far on topics that contain the text. */
  messages(topicPart = ''): (z.infer<typeof messageData> & { readonly id: string | undefined })[] {
    return this.events
      .filter(({ event }) => event === 'message')
      .map(({ id, data }) => ({ id, ...messageData.parse(JSON.parse(data)) }))
      .filter(({ topic }) => topic.includes(topicPart));
  }

  /** The alarms so far, without live copies, which have no id. */
  alarms() {
    return this.messages('/alarms/')
      .filter(({ id }) => id !== undefined)
      .map((message) => ({ position: message.id, ...alarmData.parse(message).payload }));
  }

  /** The id of the last event that had one: where a client resumes. */
  get lastEventId(): string | undefined {
    return this.events.findLast(({ id }) => id !== undefined)?.id;
  }

  /** Resolves when the condition holds. */
  until(condition: (reader: this) => boolean, what: string): Promise<void> {
    const state = () =>
      `${what}; it has ${this.events.length} events${this.isEnded ? ' and the end' : ''}`;
    return this.#waiters.until(() => condition(this), state);
  }

  /** Resolves when this many messages with an id have come. */
  untilAlarms(count: number): Promise<void> {
    return this.until(
      ({ events }) => events.filter(({ id, event }) => id && event === 'message').length >= count,
      `${count} messages`,
    );
  }

  untilEnd(): Promise<void> {
    return this.until(({ isEnded }) => isEnded, 'the end of the stream');
  }

  /** Stops reading; the connection stays open. */
  freeze(): void {
    this.response.pause();
  }

  close(): void {
    this.response.destroy();
  }

  #parse(text: string): void {
    const parts = (this.#rest + text).split('\n\n');
    this.#rest = parts.pop() ?? '';
    for (const part of parts) this.events.push(eventOf(part));
    this.#waiters.changed();
  }
}

function eventOf(text: string): StreamEvent {
  const fields = text.split('\n').map((line) => {
    const [, name = '', value = ''] = /^(event|id|data): (.*)$/.exec(line) ?? [];
    if (name === '') throw new Error(`not a line of an event: ${line}`);
    return { name, value };
  });
  const valuesOf = (wanted: string) =>
    fields.filter(({ name }) => name === wanted).map(({ value }) => value);
  return {
    event: valuesOf('event')[0] ?? 'message',
    id: valuesOf('id')[0],
    data: valuesOf('data').join('\n'),
  };
}
