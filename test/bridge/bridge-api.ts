import { expect } from 'vitest';
import { z } from 'zod';
import type { Home } from '../former/home.js';

const time = z.iso.datetime().nullable();
export const bridgeStatusSchema = z.object({
  name: z.string(),
  url: z.string().nullable(),
  connected: z.boolean(),
  connectedSince: time,
  lastAcknowledgedAt: time,
  queued: z.number(),
  oldestQueuedAt: time,
  delivered: z.number(),
  dropped: z.object({
    tooOld: z.number(),
    tooMany: z.number(),
    refused: z.number(),
    lost: z.number(),
  }),
  lastError: z.object({ at: z.iso.datetime(), kind: z.string(), detail: z.string() }).nullable(),
});
export type BridgeStatus = z.infer<typeof bridgeStatusSchema>;

const deadLetterSchema = z.array(z.looseObject({ topic: z.string(), reason: z.string() }));

/** The bridges as `GET /bridges` shows them. */
export async function bridgesOf(home: Home): Promise<BridgeStatus[]> {
  return z.array(bridgeStatusSchema).parse(await home.api.json('GET', '/bridges'));
}

export async function bridgeOf(home: Home, name: string): Promise<BridgeStatus> {
  const found = (await bridgesOf(home)).find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no bridge ${name}`);
  return found;
}

/** Resolves when the bridge's status has these values. */
export async function untilBridge(
  home: Home,
  name: string,
  status: Partial<BridgeStatus> | object,
): Promise<void> {
  await expect.poll(() => bridgeOf(home, name), { interval: 100 }).toMatchObject(status);
}

/** The bridge's dead letters, the newest first. */
export async function deadLettersOf(home: Home, name: string) {
  return deadLetterSchema.parse(await home.api.json('GET', `/bridges/${name}/dead-letters`));
}
