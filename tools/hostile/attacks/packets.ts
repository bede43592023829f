import { generate } from 'mqtt-packet';
import type { Line } from '../field.js';

export interface Publish {
  readonly topic: string;
  readonly payload: string | Buffer;
  /** Omitted: 0. */
  readonly qos?: 0 | 1 | 2;
  readonly retain?: boolean;
  readonly messageId?: number;
}

export function publishOf({ qos = 0, retain = false, messageId = 1, ...rest }: Publish): Buffer {
  const identifier = qos === 0 ? {} : { messageId };
  return generate({ cmd: 'publish', dup: false, qos, retain, ...identifier, ...rest });
}

export function subscribeOf(topics: readonly string[]): Buffer {
  const subscriptions = topics.map((topic) => ({ topic, qos: 1 as const }));
  return generate({ cmd: 'subscribe', messageId: 1, subscriptions });
}

export function unsubscribeOf(topics: readonly string[]): Buffer {
  return generate({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: [...topics] });
}

export function repeated(packet: Buffer, count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => packet));
}

/** Batches of packets with consecutive numbers, endlessly or up to the last. */
export async function* batches(
  line: Line,
  size: number,
  packet: (n: number) => Buffer,
  last = Number.POSITIVE_INFINITY,
) {
  for (let n = 1; n <= last && !line.isOver; n += size) {
    const count = Math.min(size, last - n + 1);
    yield Buffer.concat(Array.from({ length: count }, (_, at) => packet(n + at)));
  }
}

export function identifierOf(n: number): number {
  return ((n - 1) % 65_535) + 1;
}

/** A valid alarm of this size that repeats no other. */
export function alarmOf(bytes = 0): string {
  const note = 'x'.repeat(Math.max(0, bytes - 120));
  return `{"kind":"noise","id":"${crypto.randomUUID()}","note":"${note}"}`;
}

/** Sends nothing. */
export async function* nothing(): AsyncIterable<string> {
  yield '';
}

export function requestOf(path: string, ...headers: readonly string[]): string {
  return [`GET ${path} HTTP/1.1`, 'Host: gateway', ...headers, '', ''].join('\r\n');
}
