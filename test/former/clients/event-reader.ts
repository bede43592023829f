import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { z } from 'zod';
import type { RunningGateway } from '../gateway/running-gateway.js';
import type { TestToken } from './api.js';

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

/** Requests events and reads them, as a browser's EventSource does. */
export class EventReader {
  readonly response: IncomingMessage;
  readonly events: StreamEvent[] = [];
  isEnded = false;
  #rest = '';
  #waiting: (() => void)[] = [];

  private constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      this.#parse(text);
      this.#look();
    });
    const end = () => {
      this.isEnded = true;
      this.#look();
    };
    response.on('close', end);
    response.on('error', end);
  }

  /** Resolves once the answer has begun, whatever it is. */
  static async open(
    gateway: RunningGateway,
    token: Pick<TestToken, 'token'>,
    { filters = [], lastEventId, isInQuery = false }: EventRequest = {},
  ): Promise<EventReader> {
    const query = new URLSearchParams(filters.map((filter) => ['filter', filter]));
    if (lastEventId !== undefined && isInQuery) query.set('lastEventId', lastEventId);
    const asked = request(`${gateway.httpUrl}/events?${query}`, {
      agent: false,
      headers: {
        Authorization: `Bearer ${token.token}`,
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
    await this.until(({ events }) => events.length > 0);
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

  /** The alarms so far, without live copies. */
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
  until(condition: (reader: EventReader) => boolean, timeoutMs = 120_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const what = this.isEnded ? ', and the stream has ended' : '';
        reject(new Error(`not so: ${condition}; had ${this.events.length} events${what}`));
      }, timeoutMs);
      const look = () => {
        if (!condition(this)) return;
        clearTimeout(timer);
        this.#waiting = this.#waiting.filter((waiting) => waiting !== look);
        resolve();
      };
      this.#waiting.push(look);
      look();
    });
  }

  async untilAlarms(count: number, timeoutMs?: number): Promise<void> {
    await this.until(
      ({ events }) => events.filter(({ id, event }) => id && event === 'message').length >= count,
      timeoutMs,
    );
  }

  untilEnd(timeoutMs?: number): Promise<void> {
    return this.until(({ isEnded }) => isEnded, timeoutMs);
  }

  /** Stops reading but leaves the connection open. */
  freeze(): void {
    this.response.pause();
  }

  close(): void {
    this.response.destroy();
  }

  #look(): void {
    for (const look of [...this.#waiting]) look();
  }

  #parse(text: string): void {
    const parts = (this.#rest + text).split('\n\n');
    this.#rest = parts.pop() ?? '';
    for (const part of parts) this.events.push(eventOf(part));
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
