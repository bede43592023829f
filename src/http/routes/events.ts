/** Forwarded messages as server-sent events, for browsers and scripts, which do not speak MQTT. */

import type { HttpBindings } from '@hono/node-server';
import { z } from 'zod';
import type { EventSubscription } from '../../broker/event-streams.js';
import type { StreamMessage, StreamOutlet } from '../../delivery/feed.js';
import { maySubscribe } from '../../domain/grants.js';
import { formatTime } from '../../domain/time.js';
import { isFilter, withLowerCaseIds } from '../../domain/topics.js';
import { GatewayError } from '../../errors.js';
import { addressOf } from '../frame.js';
import { anyToken } from '../rights.js';
import { get, type Routes } from '../route.js';
import type { HttpServices } from '../services.js';

const MAX_FILTERS = 20;
const DEFAULT_FILTER = 'care-homes/#';
const EVENT_STREAM = 'text/event-stream';
const EXAMPLE_POSITION = '3f0c2a5e-4711-9e645b2f';
const EXAMPLE_TOPIC =
  'care-homes/3f0c2a5e-8d1b-4c7a-9e64-5b2f7d90c318/devices/7b1d52c0-4f3e-4a86-9d0b-c6e8f1a2935d/alarms/fall';

const EXAMPLE = `event: open
id: ${EXAMPLE_POSITION}
data: {"position":"${EXAMPLE_POSITION}","missed":false}

event: message
id: 3f0c2a5e-4712-5b2f7d90
data: {"topic":"${EXAMPLE_TOPIC}","retained":false,"payload":{"id":"5b2f7d90-9c31-4a7b-8e64-3f0c2a5e8d1b","kind":"fall"}}

event: heartbeat
data: {"at":"2026-01-01T06:30:00.000Z"}

`;

const filter = z
  .string()
  .refine(isFilter, 'must be an MQTT topic filter')
  // As SUBSCRIBE takes it (contract 3).
  .transform(withLowerCaseIds);

const query = z.strictObject({
  filter: z
    .preprocess(
      (value) => (typeof value === 'string' ? [value] : value),
      z.array(filter).min(1).max(MAX_FILTERS),
    )
    .optional()
    .meta({
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: MAX_FILTERS,
      param: { style: 'form', explode: true },
      description: `An MQTT topic filter; may be repeated. Without any: \`${DEFAULT_FILTER}\`.`,
      examples: [['care-homes/+/devices/+/alarms/#']],
    }),
  lastEventId: z
    .string()
    .optional()
    .meta({
      description: 'As `Last-Event-ID`, for clients that can set no header.',
      examples: [EXAMPLE_POSITION],
    }),
});

const headers = z.object({
  'last-event-id': z
    .string()
    .optional()
    .meta({
      description:
        'The `id` of the last event with one: the alarms after it come first. A browser sends it automatically.',
      examples: [EXAMPLE_POSITION],
    }),
});

export function eventRoutes({ events, now, elapsed }: HttpServices): Routes {
  return {
    streamEvents: get('/events', {
      tag: 'Events',
      summary: 'Receive forwarded messages as server-sent events, as they come',
      description:
        'As an MQTT subscription at QoS 1: what is forwarded on topics that match a filter, and that the token may see. `open` comes first, then retained messages and live ones. `message` events of the alarm log have an `id`: a client that comes back with it as `Last-Event-ID` gets the alarms after it first, in order, and none twice. `missed` in `open` is true when not all of them can be sent; then the alarm history has the rest. `heartbeat` comes at least every five seconds. A client that leaves its events unread for five seconds is disconnected. The stream ends with the token.',
      right: anyToken,
      query,
      headers,
      answer: {
        status: 200,
        description: 'The events, without end.',
        schema: z.void(),
        others: { [EVENT_STREAM]: z.string().meta({ examples: [EXAMPLE] }) },
      },
      problems: {
        403: 'The access token has no grant for this.',
        429: 'Too many invalid access tokens came from this address, or the token has as many connections or subscriptions as it may have.',
        503: 'The gateway is stopping.',
      },
      handle: ({ c, query: { filter: filters = [DEFAULT_FILTER], lastEventId }, caller }) => {
        const principal = { type: 'token', ...caller.token } as const;
        if (!filters.every((one) => maySubscribe(principal, one))) {
          throw new GatewayError('forbidden', 'The access token has no grant for this filter.');
        }
        c.header('Content-Type', EVENT_STREAM);
        c.header('X-Accel-Buffering', 'no');
        // Nobody would read the stream.
        if (c.req.method === 'HEAD') return c.body(null, 200);
        const after = c.req.header('Last-Event-ID') || lastEventId || undefined;
        const request = { principal, address: addressOf(c) ?? '', filters, after };
        const { outgoing } = c.env;
        const stream = new EventStream(outgoing, now, elapsed, (outlet) =>
          events.open(request, outlet),
        );
        return c.body(stream.body, 200);
      },
    }),
  };
}

/** Readers may rely on a heartbeat every five seconds. */
const CHECK_INTERVAL_MS = 2_000;
const CHECKS_PER_HEARTBEAT = 2;
/** How long a client may leave events unread after they went to the network. */
const UNREAD_AFTER_MS = 5_000;
/** Bytes that may wait for the network; beyond that, a client misses messages that are in no log. */
const MAX_WAITING_BYTES = 256 * 1024;
const NO_VALUE = Buffer.from('null');
const LINE_END = /\r\n|\r|\n/g;

/**
 * A body of events, written in batches of what has arrived since the last write.
 *
 * Messages are acknowledged once the network has taken them, so the rest waits in the history.
 */
class EventStream implements StreamOutlet {
  readonly body: ReadableStream<Uint8Array>;
  readonly #outgoing: HttpBindings['outgoing'];
  readonly #now: () => number;
  readonly #elapsed: () => number;
  #subscription: EventSubscription | undefined;
  /** Events that wait for the network, and the messages in them. */
  #frames: Buffer[] = [];
  #messages: StreamMessage[] = [];
  #waitingBytes = 0;
  #wasFull = false;
  /** Messages that the network was given, but is not yet known to have taken. */
  #handedOver: readonly StreamMessage[] = [];
  #handedOverAtMs: number | undefined;
  #isEnded = false;
  #notice: () => void = () => undefined;
  readonly #timer: NodeJS.Timeout;
  #checks = 0;

  /**
   * @param outgoing is destroyed if the client does not read
   * @param elapsed a clock that does not jump
   * @throws what `subscribe` throws
   */
  constructor(
    outgoing: HttpBindings['outgoing'],
    now: () => number,
    elapsed: () => number,
    subscribe: (outlet: StreamOutlet) => EventSubscription,
  ) {
    this.#outgoing = outgoing;
    this.#now = now;
    this.#elapsed = elapsed;
    this.#timer = setInterval(() => this.#check(), CHECK_INTERVAL_MS);
    outgoing.once('close', () => this.end());
    this.body = new ReadableStream<Uint8Array>(
      { pull: (controller) => this.#pull(controller) },
      { highWaterMark: 0 },
    );
    try {
      this.#subscription = subscribe(this);
    } catch (error) {
      this.end();
      throw error;
    }
    if (this.#isEnded) this.#subscription.close();
  }

  get isWritable(): boolean {
    return !this.#isEnded && this.#waitingBytes < MAX_WAITING_BYTES;
  }

  opened(position: string, hasMissed: boolean): void {
    const data = JSON.stringify({ position, missed: hasMissed });
    this.#add(Buffer.from(`event: open\nid: ${position}\ndata: ${data}\n\n`));
  }

  send(message: StreamMessage): void {
    this.#messages.push(message);
    this.#add(frameOf(message));
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#timer);
    this.#subscription?.close();
    // A client that does not read would not see the end either.
    if (this.#handedOverAtMs !== undefined) this.#outgoing.destroy();
    this.#notice();
  }

  #add(bytes: Buffer): void {
    if (this.#isEnded) return;
    this.#frames.push(bytes);
    this.#waitingBytes += bytes.length;
    if (!this.isWritable) this.#wasFull = true;
    this.#notice();
  }

  /** The network has taken the last batch, and asks for the next. */
  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#handedOverAtMs = undefined;
    this.#subscription?.taken(this.#handedOver);
    this.#handedOver = [];
    if (this.#frames.length === 0 && !this.#isEnded) {
      await new Promise<void>((resolve) => {
        this.#notice = resolve;
      });
    }
    if (this.#isEnded) {
      controller.close();
      return;
    }
    this.#handedOverAtMs = this.#elapsed();
    controller.enqueue(Buffer.concat(this.#frames));
    this.#handedOver = this.#messages;
    this.#frames = [];
    this.#messages = [];
    this.#waitingBytes = 0;
    if (!this.#wasFull) return;
    this.#wasFull = false;
    this.#subscription?.wake();
  }

  /** Sends a heartbeat, or ends the stream of a client that does not read. */
  #check(): void {
    const sinceMs = this.#handedOverAtMs;
    if (sinceMs !== undefined && this.#elapsed() - sinceMs > UNREAD_AFTER_MS) {
      this.#subscription?.unread();
      this.end();
      return;
    }
    this.#checks++;
    if (this.#checks % CHECKS_PER_HEARTBEAT > 0 || !this.isWritable) return;
    const data = JSON.stringify({ at: formatTime(this.#now()) });
    this.#add(Buffer.from(`event: heartbeat\ndata: ${data}\n\n`));
  }
}

/** A message as an event: the payload is unchanged but for line ends, which a line of an event cannot hold. */
function frameOf({ topic, payload, retained, position }: StreamMessage): Buffer {
  const id = position === undefined ? '' : `id: ${position}\n`;
  const before = `event: message\n${id}data: {"topic":${JSON.stringify(topic)},"retained":${retained},"payload":`;
  const value = payload.length === 0 ? NO_VALUE : payload;
  return Buffer.concat([Buffer.from(before), inLines(value), Buffer.from('}\n\n')]);
}

/** Continues the data on a new `data` line after each line end; the reader joins them again. */
function inLines(payload: Buffer): Buffer {
  if (!payload.includes('\n') && !payload.includes('\r')) return payload;
  return Buffer.from(payload.toString().replaceAll(LINE_END, '\ndata: '));
}
