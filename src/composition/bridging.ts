import { Bridges } from '../bridge/bridges.js';
import type { Config } from '../config/schema.js';
import { bridgeStatusTopic } from '../domain/topics.js';
import { BridgeRegister } from '../site/bridge-register.js';
import type { DeliveryParts } from './delivering.js';
import type { Foundation } from './foundation.js';
import type { IngestParts } from './ingesting.js';
import type { Installation } from './installation.js';
import type { Storage } from './storage.js';

/** Opens the bridges' queues; nothing connects yet. */
export async function openBridges(
  { config, log, health, releasers, steady, now }: Foundation,
  { deadLetters }: Storage,
  { sessions, forwarder }: DeliveryParts,
  { commands }: IngestParts,
  installation: Installation,
): Promise<Bridges> {
  const bridges = new Bridges({
    installation: installation.name,
    sessions,
    forwarder,
    health,
    deadLetters,
    commands: { accept: (command) => commands.acceptAndWait(command) },
    commandLimits: config.limits.token,
    maxPacketBytes: config.mqtt.maxPacketBytes,
    log,
    now,
    steadyNow: steady.now,
    wallTimeOf: steady.wallTimeOf,
  });
  releasers.add(() => bridges.stop());
  // In the background: a start on a full disk must not wait for a write.
  const kept = config.bridges.map(({ name }) => bridgeStatusTopic(name));
  const isFormer = ({ topic }: { topic: string }) => !kept.includes(topic);
  forwarder.forget(bridgeStatusTopic('+'), isFormer).catch((error: unknown) => {
    log.warn({ err: error }, 'failed to remove the status of former bridges');
  });
  await bridges.apply(config.bridges);
  return bridges;
}

/**
 * Opens the register of the bridges that there are.
 *
 * @returns writes down those of a configuration
 */
export function openBridgeRegister(
  { log, now, releasers }: Foundation,
  { bridgeRegister }: Storage,
  installation: Installation,
): (configured: Config['bridges']) => void {
  const register = new BridgeRegister(bridgeRegister, log, now);
  releasers.add(() => register.stop());
  return (configured) =>
    register.note(new Map(configured.map((one) => [one.name, installation.fingerprint(one)])));
}
