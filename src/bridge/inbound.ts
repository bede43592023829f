/**
 * Commands from an upstream, for devices of the bridge's own locations only.
 *
 * A command reaches its device and no subscriber, so it can never return to a bridge.
 */
import type { IPublishPacket } from 'mqtt';
import type { Logger } from 'pino';
import type { BridgeOptions } from '../domain/bridge-schema.js';
import { parseBridgedCommand } from '../domain/bridge-topics.js';
import { FilterTree } from '../domain/filter-tree.js';
import type { Foundation } from '../foundation.js';
import { publishBytes } from '../mqtt/encode.js';
import { type MessageProperties, propertiesOf } from '../mqtt/message-properties.js';
import type { Properties } from '../mqtt/properties.js';

const SHARE_PREFIX = /^\$share\/[^/]+\//;

/** Delivers commands to devices. */
export interface CommandSink {
  /** Resolves once the command is stored, or has no recipient. */
  acceptAndWait(command: {
    readonly locationIds: readonly string[] | undefined;
    readonly deviceId: string;
    readonly rest: string;
    readonly payload: Buffer;
    readonly qos: 0 | 1 | 2;
    readonly retain: boolean;
    readonly properties: MessageProperties | undefined;
  }): Promise<unknown>;
}

interface InboundServices extends Pick<Foundation, 'config' | 'steady'> {
  readonly commands: CommandSink;
}

/** One instance serves all connections in turn. */
export class Inbound {
  readonly #options: BridgeOptions;
  readonly #services: InboundServices;
  readonly #log: Logger;
  readonly #filters = new FilterTree<string>();

  constructor(options: BridgeOptions, services: InboundServices, log: Logger) {
    this.#options = options;
    this.#services = services;
    this.#log = log;
    for (const filter of options.commands) {
      this.#filters.add(filter.replace(SHARE_PREFIX, ''), filter);
    }
  }

  /** Resolves when the packet may be acknowledged; rejects when the upstream must resend it. */
  async accept(packet: IPublishPacket): Promise<void> {
    const { topic, qos, retain, properties } = packet;
    const { locations } = this.#options;
    const { commands, config, steady } = this.#services;
    // The upstream's session may hold filters that are no longer configured.
    const isWanted = this.#filters.match(topic).size > 0;
    const command = isWanted ? parseBridgedCommand(topic) : undefined;
    // A retained command is an old one, and would arrive with every connection.
    if (command === undefined || retain) return;
    const payload = Buffer.from(packet.payload);
    if (publishBytes(topic, payload, qos) > config.mqtt.maxPacketBytes) {
      const bytes = payload.length;
      this.#log.warn({ topic, bytes }, 'dropped a command from upstream that is too large');
      return;
    }
    const { locationId, deviceId, rest } = command;
    if (locationId !== undefined && locations?.includes(locationId) === false) return;
    await commands.acceptAndWait({
      locationIds: locationId === undefined ? locations : [locationId],
      deviceId,
      rest,
      payload,
      qos,
      retain,
      properties:
        properties && propertiesOf({ retain, properties: asOurs(properties) }, steady.now()),
    });
  }
}

/** Our form of a command's properties, given as mqtt-packet names them. */
function asOurs(given: NonNullable<IPublishPacket['properties']>): Properties {
  const { payloadFormatIndicator, messageExpiryInterval, userProperties = {} } = given;
  const { contentType, responseTopic, correlationData } = given;
  return {
    payloadFormat:
      payloadFormatIndicator === undefined ? undefined : Number(payloadFormatIndicator),
    messageExpirySeconds: messageExpiryInterval,
    contentType,
    responseTopic,
    correlationData,
    userProperties: Object.entries(userProperties).flatMap(([name, values]) =>
      [values].flat().map((value): [string, string] => [name, value]),
    ),
  };
}
