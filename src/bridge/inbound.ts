import type { IPublishPacket } from 'mqtt';
import { parseBridgedCommand } from '../domain/bridge-topics.js';
import type { BridgeOptions } from './bridge-options.js';

/** Where commands to devices go. */
export interface CommandSink {
  /** Resolves once the command is stored, or reaches nobody. */
  accept(command: {
    readonly locationIds: readonly string[] | undefined;
    readonly deviceId: string;
    readonly rest: string;
    readonly payload: Buffer;
    readonly qos: 0 | 1 | 2;
    readonly retain: boolean;
  }): Promise<void>;
}

/**
 * Takes what comes from an upstream: commands to devices, and of those only to devices of the
 * bridge's own locations. It reaches the device and nobody else, so it can never go back.
 */
export async function acceptInbound(
  { topic, payload, qos, retain }: IPublishPacket,
  { locations }: BridgeOptions,
  commands: CommandSink,
): Promise<void> {
  const command = parseBridgedCommand(topic);
  // What the upstream had retained is an old command, and would come with every connection.
  if (command === undefined || retain) return;
  const { locationId, deviceId, rest } = command;
  const isOutside =
    locationId !== undefined && locations !== undefined && !locations.includes(locationId);
  if (isOutside) return;
  await commands.accept({
    locationIds: locationId === undefined ? locations : [locationId],
    deviceId,
    rest,
    payload: Buffer.from(payload),
    qos,
    retain: false,
  });
}
