import type { IPublishPacket } from 'mqtt-packet';
import { expect } from 'vitest';
import type { RawClient } from '../former/clients/raw-client.js';
import { eventually } from '../former/eventually.js';

export function publishesOf({ packets }: RawClient): IPublishPacket[] {
  return packets.filter((packet): packet is IPublishPacket => packet.cmd === 'publish');
}

/** The numbers in the alarms sent to the clients, in the order of each client. */
export function numbersOf(...clients: readonly RawClient[]): number[] {
  return clients.flatMap((client) =>
    publishesOf(client).map(({ payload }) => JSON.parse(payload.toString()).data.number),
  );
}

export function falls(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) =>
    JSON.stringify({ kind: 'fall', number: from + index }),
  );
}

/** Waits for this many publishes at these clients together. */
export function received(count: number, ...clients: readonly RawClient[]): Promise<void> {
  return eventually(() => expect(numbersOf(...clients)).toHaveLength(count));
}
