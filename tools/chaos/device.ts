import { randomUUID } from 'node:crypto';
import mqtt, {
  type IClientOptions,
  type IPublishPacket,
  type MqttClient,
  type Packet,
  Store,
} from 'mqtt';
import type { TestDevice } from '../../test/former/clients/api.js';
import type { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import type { Random } from './random.js';

const MAX_UNACKNOWLEDGED = 20;
const KINDS = ['fall', 'noise', 'helpCall', 'outOfBed'] as const;
const CHANCE_OF_ID = 0.6;
const CHANCE_OF_TIME = 0.5;

/** An alarm that a device has published; its index in the device's list is its number. */
export interface PublishedAlarm {
  /** The id from the device; undefined when the gateway assigns it. */
  readonly id: string | undefined;
  /** Whether only the packet identifier tells a retransmission from a second alarm. */
  readonly isAnonymous: boolean;
  readonly publishedMs: number;
  isAcknowledged: boolean;
}

/** Sets the DUP flag on retransmissions [MQTT-3.3.1-1]; mqtt.js never does. */
class DupStore extends Store {
  readonly #unacknowledged = new Map<number, IPublishPacket>();

  override put(packet: Packet, callback: () => void): this {
    if (packet.cmd === 'publish') this.#unacknowledged.set(packet.messageId ?? 0, packet);
    return super.put(packet, callback);
  }

  override del(
    packet: Pick<Packet, 'messageId'>,
    callback: (error?: Error, packet?: Packet) => void,
  ): this {
    this.#unacknowledged.delete(packet.messageId ?? 0);
    return super.del(packet, callback);
  }

  override createStream(): ReturnType<Store['createStream']> {
    for (const packet of this.#unacknowledged.values()) packet.dup = true;
    return super.createStream();
  }
}

/**
 * A sensor that publishes its alarms in order at QoS 1, several at a time.
 *
 * It resends each alarm after every reconnect until its PUBACK comes.
 */
export class ChaosDevice {
  readonly alarms: PublishedAlarm[] = [];
  /** Whether the session persists; only then are retransmissions marked with DUP. */
  readonly isPersistent: boolean;
  readonly device: TestDevice;
  acknowledged = 0;
  /** Numbers whose PUBACK came after that of a later alarm. */
  readonly acknowledgedOutOfOrder: number[] = [];
  readonly #client: MqttClient;
  readonly #random: Random;
  readonly #onAcknowledged: (publishedMs: number) => void;
  #happened = 0;
  #lastAcknowledged = -1;
  #isConnected = false;

  constructor(
    gateway: Pick<GatewayProcess, 'mqttUrl'>,
    device: TestDevice,
    isPersistent: boolean,
    random: Random,
    onAcknowledged: (publishedMs: number) => void,
    options: IClientOptions = {},
  ) {
    this.device = device;
    this.isPersistent = isPersistent;
    this.#random = random;
    this.#onAcknowledged = onAcknowledged;
    this.#client = mqtt.connect(gateway.mqttUrl, {
      clientId: `sensor-${device.id}`,
      username: device.id,
      password: device.secret,
      clean: !isPersistent,
      reconnectPeriod: Math.round(random.between(50, 500)),
      ...(isPersistent && { outgoingStore: new DupStore() }),
      ...options,
    });
    this.#client.on('error', () => undefined);
    // Emitted after everything unacknowledged has been resent.
    this.#client.on('connect', () => {
      this.#isConnected = true;
      this.#publish();
    });
    this.#client.on('close', () => {
      this.#isConnected = false;
    });
  }

  /** Publishes an alarm: something happens in front of the sensor. */
  alarm(): void {
    this.#happened++;
    this.#publish();
  }

  get isSettled(): boolean {
    return this.acknowledged === this.#happened;
  }

  end(): Promise<void> {
    return this.#client.endAsync(true);
  }

  #publish(): void {
    while (
      this.#isConnected &&
      this.alarms.length < this.#happened &&
      this.alarms.length - this.acknowledged < MAX_UNACKNOWLEDGED
    ) {
      this.#publishNext();
    }
  }

  #publishNext(): void {
    const number = this.alarms.length;
    const id = this.#random.chance(CHANCE_OF_ID) ? randomUUID() : undefined;
    const hasTime = this.#random.chance(CHANCE_OF_TIME);
    const alarm: PublishedAlarm = {
      id,
      isAnonymous: id === undefined && !hasTime,
      publishedMs: performance.now(),
      isAcknowledged: false,
    };
    this.alarms.push(alarm);
    const payload = JSON.stringify({
      kind: this.#random.pick(KINDS),
      ...(id !== undefined && { id }),
      // Never the same time twice: the gateway derives an id from it.
      ...(hasTime && { detectedAt: new Date(Date.UTC(2026, 0, 1) + number).toISOString() }),
      number,
    });
    this.#client.publish(`devices/${this.device.id}/alarms`, payload, { qos: 1 }, (error) => {
      if (error === undefined || error === null) this.#acknowledge(number, alarm);
    });
  }

  #acknowledge(number: number, alarm: PublishedAlarm): void {
    if (alarm.isAcknowledged) return;
    if (number < this.#lastAcknowledged) this.acknowledgedOutOfOrder.push(number);
    this.#lastAcknowledged = number;
    alarm.isAcknowledged = true;
    this.acknowledged++;
    this.#onAcknowledged(alarm.publishedMs);
    this.#publish();
  }
}
