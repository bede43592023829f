/** Helpers for a subscriber over bare packets, which acknowledges nothing by itself. */

import type { RawClient } from '../harness/raw-client.js';

export function publishesOf(client: RawClient) {
  return client.packets.filter((packet) => packet.cmd === 'publish');
}

export function textsOf(client: RawClient): { text: string }[] {
  return publishesOf(client).map(({ payload }) => ({ text: payload.toString() }));
}

export function acknowledge(client: RawClient, from: number, to: number): void {
  for (const { messageId } of publishesOf(client).slice(from, to)) {
    if (messageId !== undefined) client.send({ cmd: 'puback', messageId });
  }
}

export async function untilPublishes(client: RawClient, count: number): Promise<void> {
  await client.until(() => publishesOf(client).length >= count, `fewer than ${count} messages`);
}
