import type { IPublishPacket } from 'mqtt';
import type { Logger } from 'pino';
import { parseBridgedCommand } from '../domain/bridge-topics.js';
import { matchesFilter } from '../domain/topics.js';
import type { BridgeOptions } from './bridge-options.js';
import { packetBytes } from './upstream-limits.js';

const SHARE_PREFIX = /^\$share\/[^/]+\//;

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
  }): Promise<unknown>;
}

export interface InboundServices {
  readonly commands: CommandSink;
  /** Larger ones are taken from nobody. */
  readonly maxPacketBytes: number;
  readonly log: Logger;
}

/**
 * Takes what comes from an upstream, over one connection after the other: commands to devices, and of
 * those only to devices of the bridge's own locations. It reaches the device and nobody else, so it
 * can never go back.
 */
export class Inbound {
  readonly #options: BridgeOptions;
  readonly #services: InboundServices;
  /** On their way to the store: the last of each topic and payload. */
  readonly #pending = new Map<string, Promise<void>>();

  constructor(options: BridgeOptions, services: InboundServices) {
    this.#options = options;
    this.#services = services;
  }

  /** Resolves when the packet may be acknowledged; rejects when it is to come again. */
  async accept(packet: IPublishPacket): Promise<void> {
    const { topic, payload, qos, dup } = packet;
    if (qos === 0) return this.#take(packet);
    const key = `${topic}\n${Buffer.from(payload).toString('base64')}`;
    // One that comes again because the connection ended first is not to be carried out twice.
    const present = dup ? this.#pending.get(key) : undefined;
    if (present !== undefined) return present;
    const taking = this.#take(packet);
    this.#pending.set(key, taking);
    return taking.finally(() => {
      if (this.#pending.get(key) === taking) this.#pending.delete(key);
    });
  }

  async #take({ topic, payload, qos, retain }: IPublishPacket): Promise<void> {
    const { locations, commands: filters } = this.#options;
    const { commands, maxPacketBytes, log } = this.#services;
    // The upstream's session may hold filters that are configured no more.
    const isWanted = filters.some((filter) =>
      matchesFilter(filter.replace(SHARE_PREFIX, ''), topic),
    );
    const command = isWanted ? parseBridgedCommand(topic) : undefined;
    // What the upstream had retained is an old command, and would come with every connection.
    if (command === undefined || retain) return;
    if (packetBytes(topic, Buffer.from(payload), qos) > maxPacketBytes) {
      log.warn({ topic, bytes: payload.length }, 'command from upstream dropped, it is too large');
      return;
    }
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
}
