import type { Forwarder } from '../delivery/forwarder.js';
import { deviceTopic } from '../domain/topics.js';
import type { SiteModel } from '../site/site-model.js';

/** A command to a device, from someone who may give it. */
export interface Command {
  /** Where the device must be; undefined: anywhere. */
  readonly locationIds: readonly string[] | undefined;
  readonly deviceId: string;
  /** What follows `commands/`. */
  readonly rest: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
}

/** Takes commands from managers and upstream brokers to devices (CONTRACT 3, Subscribing). */
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
   * A command to a device that is not in the locations reaches nobody.
   *
   * @returns whether it is the store that has taken it
   */
  async accept(command: Command): Promise<boolean> {
    const device = this.#model.device(command.deviceId);
    if (device === undefined) return false;
    const { locationIds } = command;
    if (locationIds !== undefined && !locationIds.includes(device.locationId)) return false;
    await this.#forwarder.forward({
      topic: deviceTopic(device.id, `commands/${command.rest}`),
      payload: command.payload,
      qos: command.qos === 0 ? 0 : 1,
      retain: command.retain,
      receivedAtMs: this.#now(),
      locationId: null,
      groupId: null,
    });
    return command.qos > 0 || command.retain;
  }
}
