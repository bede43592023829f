/** Helpers for a subscriber over bare packets, which acknowledges nothing automatically. */

import { RawClient } from '../former/clients/raw-client.js';
import type { NumberedHome } from '../former/numbered-home.js';

/** Connects a persistent session of the home's viewer. */
export function rawNurse({ home, viewer }: NumberedHome, clientId: string): Promise<RawClient> {
  return RawClient.connect(home.gateway, viewer, { clientId, clean: false });
}

/** What it was sent from the log at QoS 1; alarms of a slow store also have live copies (contract.md, 4.4). */
export function publishesOf(client: RawClient) {
  return client.packets.filter((packet) => packet.cmd === 'publish').filter(({ qos }) => qos > 0);
}

export function textsOf(client: RawClient): { text: string; qos: number }[] {
  return publishesOf(client).map(({ payload, qos }) => ({ text: payload.toString(), qos }));
}

export function acknowledge(client: RawClient, from: number, to: number): void {
  for (const { messageId } of publishesOf(client).slice(from, to)) {
    if (messageId !== undefined) client.send({ cmd: 'puback', messageId });
  }
}

export async function untilPublishes(client: RawClient, count: number): Promise<void> {
  await client.until(() => publishesOf(client).length >= count, `fewer than ${count} messages`);
}
