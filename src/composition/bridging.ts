import { Bridges } from '../bridge/bridges.js';
import type { DeliveryParts } from './delivering.js';
import type { Foundation } from './foundation.js';
import type { IngestParts } from './ingesting.js';
import type { Installation } from './installation.js';
import type { Storage } from './storage.js';

const FORGOTTEN_CHECK_MS = 10_000;

/** Opens the queues of the bridges; nothing connects yet. */
export async function openBridges(
  { config, log, health, releasers, steady, now }: Foundation,
  { audit, deadLetters }: Storage,
  { sessions, accounts, forwarder, retained }: DeliveryParts,
  { commands }: IngestParts,
  installation: Installation,
): Promise<Bridges> {
  const bridges = new Bridges({
    installation: installation.name,
    sessions,
    accounts,
    forwarder,
    retained,
    health,
    deadLetters,
    audit,
    commands: { accept: (command) => commands.acceptAndWait(command) },
    commandLimits: config.limits.token,
    maxPacketBytes: config.mqtt.maxPacketBytes,
    log,
    now,
    steadyNow: steady.now,
    wallTimeOf: steady.wallTimeOf,
  });
  releasers.add(() => bridges.stop());
  await bridges.apply(config.bridges);
  releasers.every(FORGOTTEN_CHECK_MS, () => bridges.apply());
  return bridges;
}
