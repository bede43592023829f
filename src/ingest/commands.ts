import type { Forwarder } from '../delivery/forwarder.js';
import { deviceTopic } from '../domain/topics.js';
import { GatewayError } from '../errors.js';
import type { MessageProperties } from '../mqtt/message-properties.js';
import type { SiteModel } from '../site/site-model.js';

/** A command to a device, from a principal that may send it. */
export interface Command {
  /** Locations in which the device must be; undefined: anywhere. */
  readonly locationIds: readonly string[] | undefined;
  readonly deviceId: string;
  /** The topic levels after `commands/`. */
  readonly rest: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly properties?: MessageProperties | undefined;
  /** As in `Message`. */
  readonly publisher?: string | undefined;
}

/** Takes commands from managers and upstream brokers to devices (contract 3, Subscribing). */
export class Commands {
  readonly #model: SiteModel;
  readonly #forwarder: Forwarder;
  readonly #now: () => number;

  constructor(model: SiteModel, forwarder: Forwarder, now: () => number) {
    this.#model = model;
    this.#forwarder = forwarder;
    this.#now = now;
  }

  /**
   * Forwards a command, unless the device is outside the locations.
   *
   * @param done called once the command may be acknowledged; with false when it could not be stored
   */
  accept(command: Command, done: (isStored: boolean) => void): void {
    const device = this.#model.device(command.deviceId);
    const { locationIds } = command;
    const isThere =
      device !== undefined &&
      (locationIds === undefined || locationIds.includes(device.locationId));
    if (!isThere) {
      done(true);
      return;
    }
    this.#forwarder.forward(
      {
        topic: deviceTopic(device.id, `commands/${command.rest}`),
        payload: command.payload,
        qos: command.qos === 0 ? 0 : 1,
        retain: command.retain,
        properties: command.properties,
        publisher: command.publisher,
        receivedAtMs: this.#now(),
        locationId: null,
        groupId: null,
        givenIn: device.locationId,
      },
      done,
    );
  }

  /** @throws GatewayError `store-unavailable` */
  async acceptAndWait(command: Command): Promise<void> {
    const isStored = await new Promise<boolean>((resolve) => this.accept(command, resolve));
    if (!isStored) throw new GatewayError('store-unavailable', 'The command was not stored.');
  }
}
