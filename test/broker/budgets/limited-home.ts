import type { Packet } from 'mqtt-packet';
import type { ExpectStatic, TestContext } from 'vitest';
import { z } from 'zod';
import { publishPacket, type RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';
import { faultTextsIn } from '../../harness/described/fault-texts.js';

export const connectionsSchema = z.object({
  connections: z.array(
    z.object({
      clientId: z.string(),
      slowed: z.object({ since: z.iso.datetime(), limit: z.string() }).nullable(),
    }),
  ),
});

/** A home in the test's own gateway, because the tests run concurrently. */
export async function withLimits(
  { onTestFinished }: TestContext,
  limits: Readonly<Record<string, number>>,
): Promise<Home> {
  const variable = (key: string) => `GATEWAY_LIMITS_${key.replace(/[A-Z.]/g, named).toUpperCase()}`;
  const named = (one: string) => (one === '.' ? '_' : `_${one}`);
  const entries = Object.entries(limits).map(([key, limit]) => [variable(key), String(limit)]);
  const home = await Home.start(Object.fromEntries(entries));
  onTestFinished(() => home.remove());
  return home;
}

/** The limit that slows the client; undefined if none does. */
export async function slowedBy(home: Home, clientId: string): Promise<string | undefined> {
  const { connections } = connectionsSchema.parse(await home.api.json('GET', '/connections'));
  return connections.find((one) => one.clientId === clientId)?.slowed?.limit;
}

export async function faults({ api }: Home, expect: ExpectStatic): Promise<readonly string[]> {
  const response = await api.request('GET', '/readyz');
  expect(response.status).toBe(200);
  return faultTextsIn(await response.json());
}

export function values(topic: string, count: number, payload = '1'): Packet[] {
  return Array.from({ length: count }, (_, index) => {
    return { ...publishPacket(topic, payload), qos: 1 as const, messageId: index + 1 };
  });
}

export function acknowledged(client: RawClient): number {
  return client.packets.filter(({ cmd }) => cmd === 'puback').length;
}
