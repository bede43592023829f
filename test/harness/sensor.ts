/** A device: it numbers its alarms, and repeats each until it is acknowledged. The home's ledger knows them. */
import { randomUUID } from 'node:crypto';
import type { Packet } from 'mqtt-packet';
import type { Ledger, SentAlarm } from './ledger.js';
import {
  Client,
  type ConnectOptions,
  type MqttPlace,
  type PublishOptions,
  type TestDevice,
  whenClosed,
} from './mqtt.js';
import { eventually, WAIT_MS, Waiters } from './wait.js';

export interface SensorOptions extends ConnectOptions {
  readonly qos?: 0 | 1 | 2;
  /** Whether it connects again by itself, and repeats what is not acknowledged; true unless said. */
  readonly reconnects?: boolean;
  /** How long it tries. */
  readonly reconnectsForMs?: number;
}

/** Fields of an alarm's payload; `id: undefined` leaves the id to the gateway. */
interface AlarmFields {
  readonly kind?: string;
  readonly id?: string | undefined;
  readonly detectedAt?: string;
  readonly [field: string]: unknown;
}

type Alarm = AlarmFields & { readonly kind: string; readonly n: number };

/**
 * A sensor that numbers what it publishes, and repeats an alarm until it is acknowledged, as a device does.
 *
 * Its alarms are in the home's ledger.
 */
export class Sensor {
  readonly device: TestDevice;
  readonly #place: MqttPlace;
  readonly #ledger: Ledger;
  readonly #options: SensorOptions;
  readonly #unacknowledged: Outgoing[] = [];
  readonly #waiters = new Waiters();
  #client: Client | undefined;
  #isEnded = false;
  #alarms = 0;

  private constructor(
    place: MqttPlace,
    device: TestDevice,
    ledger: Ledger,
    options: SensorOptions,
  ) {
    this.#place = place;
    this.device = device;
    this.#ledger = ledger;
    this.#options = { clientId: `sensor-${device.id}`, ...options };
  }

  static async connect(
    place: MqttPlace,
    device: TestDevice,
    ledger: Ledger,
    options: SensorOptions = {},
  ): Promise<Sensor> {
    const sensor = new Sensor(place, device, ledger, options);
    await sensor.#connect();
    return sensor;
  }

  /** Its current connection. */
  get client(): Client {
    if (this.#client === undefined) throw new Error('the sensor is not connected');
    return this.#client;
  }

  /** How many alarms it has published. */
  get alarms(): number {
    return this.#alarms;
  }

  get topic(): string {
    return `devices/${this.device.id}`;
  }

  /** Publishes an alarm. `isAcknowledged` and `acknowledged` tell what became of it. */
  alarm(fields: AlarmFields = {}): SentAlarm {
    const payload: Alarm = { kind: 'fall', id: randomUUID(), ...fields, n: this.#alarms++ };
    const { qos = 1 } = this.#options;
    const { kind, id, n } = payload;
    // A session that persists repeats under the same packet identifier, with DUP [MQTT-3.3.1-1].
    const hasOwn = id !== undefined || payload.detectedAt !== undefined;
    const isTellable = hasOwn || this.#options.clean === false;
    const alarm = { deviceId: this.device.id, n, kind, id, isOwed: qos > 0, isTellable };
    const sent = this.#ledger.sent(alarm);
    this.#publish({ topic: `${this.topic}/alarms`, payload: JSON.stringify(payload), qos, sent });
    return sent;
  }

  /** Publishes more alarms together, and resolves once they are acknowledged. */
  async raise(count = 1, fields?: AlarmFields): Promise<SentAlarm[]> {
    const sent = Array.from({ length: count }, () => this.alarm(fields));
    await this.untilAcknowledged();
    return sent;
  }

  /** Publishes another message of the device at QoS 1, and resolves once it is acknowledged. */
  async publish(rest: string, payload: string | Buffer, options?: PublishOptions): Promise<Packet> {
    return this.client.publish(`${this.topic}/${rest}`, payload, options);
  }

  /** Resolves once everything published at QoS 1 and 2 is acknowledged. */
  untilAcknowledged(): Promise<void> {
    return this.#waiters.until(
      () => this.#unacknowledged.length === 0,
      () => `the acknowledgement of ${this.#unacknowledged.length} alarms`,
    );
  }

  /** Breaks its connection as a power cut does; it connects again. */
  vanish(): void {
    this.#client?.vanish();
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    await this.#client?.end();
  }

  #publish(outgoing: Outgoing): void {
    if (outgoing.qos > 0) this.#unacknowledged.push(outgoing);
    if (this.#client?.isClosed === false) this.#send(this.#client, outgoing, false);
  }

  #send(client: Client, outgoing: Outgoing, isRepeated: boolean): void {
    const { topic, payload, qos, sent } = outgoing;
    outgoing.messageId ??= qos === 0 ? undefined : client.nextIdentifier();
    const dup = isRepeated && qos > 0;
    client.publish(topic, payload, { qos, dup, messageId: outgoing.messageId }).then(
      () => {
        const at = this.#unacknowledged.indexOf(outgoing);
        if (at >= 0) this.#unacknowledged.splice(at, 1);
        if (qos > 0) this.#ledger.acknowledged(sent);
        this.#waiters.changed();
      },
      // The connection has ended: it is sent again over the next.
      () => undefined,
    );
  }

  async #connect(): Promise<void> {
    const { qos, reconnects = true, reconnectsForMs, ...connect } = this.#options;
    const client = await Client.connect(this.#place, this.device, connect);
    const last = this.#client?.lastIdentifier ?? 0;
    if (client.sessionPresent) client.lastIdentifier = last;
    this.#client = client;
    whenClosed(client, () => {
      if (!this.#isEnded && reconnects) this.#reconnect();
    });
    for (const outgoing of this.#unacknowledged) {
      // A new session has no identifiers of the old one.
      if (!client.sessionPresent) outgoing.messageId = undefined;
      this.#send(client, outgoing, client.sessionPresent);
    }
  }

  #reconnect(): void {
    const { reconnectsForMs = WAIT_MS } = this.#options;
    eventually(async () => {
      if (!this.#isEnded) await this.#connect();
    }, reconnectsForMs).catch((error: unknown) => this.#ledger.fail(error));
  }
}

interface Outgoing {
  readonly topic: string;
  readonly payload: string;
  readonly qos: 0 | 1 | 2;
  readonly sent: SentAlarm;
  messageId?: number | undefined;
}
