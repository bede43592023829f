import type { Logger } from 'pino';
import { Bridges } from './bridge/bridges.js';
import type { Config } from './config/schema.js';
import type { DeliveryParts } from './delivering.js';
import { bridgeStatusTopic } from './domain/topics.js';
import type { Commands } from './ingest/commands.js';
import type { Installation } from './installation.js';
import type { Releasers } from './releasers.js';
import { BridgeRegister } from './site/bridge-register.js';
import type { Health } from './site/health.js';
import type { SteadyClock } from './site/steady-clock.js';
import type { Storage } from './storage.js';

export interface BridgingOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly health: Health;
  readonly releasers: Releasers;
  readonly steady: SteadyClock;
  readonly storage: Storage;
  readonly delivery: Pick<DeliveryParts, 'sessions' | 'forwarder'>;
  readonly commands: Commands;
  readonly installation: Installation;
  readonly now: () => number;
}

/** Opens the bridges' queues; nothing connects yet. */
export async function openBridges(options: BridgingOptions): Promise<Bridges> {
  const { config, log, health, releasers, steady, storage, commands, installation } = options;
  const { sessions, forwarder } = options.delivery;
  const bridges = new Bridges({
    ...{ sessions, forwarder, log, health, now: options.now },
    commands: { accept: (command) => commands.acceptAndWait(command) },
    installation: installation.name,
    deadLetters: storage.deadLetters,
    maxPacketBytes: config.mqtt.maxPacketBytes,
    commandLimits: config.limits.token,
    steadyNow: steady.now,
    wallTimeOf: steady.wallTimeOf,
  });
  releasers.add(() => bridges.stop());
  // Only of bridges that are no more: a start on a full disk must not wait for a write.
  const kept = config.bridges.map(({ name }) => bridgeStatusTopic(name));
  await forwarder.forget(bridgeStatusTopic('+'), kept).catch((error: unknown) => {
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
export function openBridgeRegister({
  log,
  now,
  releasers,
  storage,
  installation,
}: BridgingOptions): (configured: Config['bridges']) => void {
  const register = new BridgeRegister(storage.bridgeRegister, log, now);
  releasers.add(() => register.stop());
  return (configured) =>
    register.note(new Map(configured.map((one) => [one.name, installation.fingerprint(one)])));
}
