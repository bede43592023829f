import { setTimeout as delay } from 'node:timers/promises';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import type { TestToken } from '../../test/former/clients/api.js';
import type { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import { Deliveries } from './deliveries.js';
import type { Random } from './random.js';
import type { ChaosReceiver } from './reconcile.js';

const RECONNECT_PERIOD_MS = 200;
const SLOW_EVERY = 40;
const MAX_SLOW_MS = 150;

/** A nurse-call system that receives every alarm of the location. */
export class ChaosSubscriber implements ChaosReceiver {
  readonly name: string;
  readonly isDurable: boolean;
  readonly isOrdered: boolean;
  readonly deliveries: Deliveries;
  readonly client: MqttClient;
  readonly consumer: string;
  sessionsLost = 0;
  #isKnown = false;

  constructor(
    name: string,
    isDurable: boolean,
    gateway: Pick<GatewayProcess, 'mqttUrl'>,
    token: TestToken,
    options: IClientOptions = {},
    deliveries = new Deliveries(),
    isOrdered = true,
  ) {
    this.name = name;
    this.deliveries = deliveries;
    this.isDurable = isDurable;
    this.isOrdered = isOrdered;
    this.consumer = `chaos-${name}`;
    this.client = mqtt.connect(gateway.mqttUrl, {
      clientId: this.consumer,
      username: token.id,
      password: token.token,
      clean: !isDurable,
      resubscribe: !isDurable,
      reconnectPeriod: RECONNECT_PERIOD_MS,
      ...options,
    });
    this.client.on('error', () => undefined);
    this.client.on('message', (topic, payload, { qos }) =>
      this.deliveries.add(topic, payload, qos),
    );
    this.client.on('connect', ({ sessionPresent }) => {
      if (isDurable && this.#isKnown && !sessionPresent) this.sessionsLost++;
    });
  }

  async subscribe(filter: string): Promise<this> {
    const granted = await this.client.subscribeAsync(filter, { qos: 1 });
    if (granted[0]?.qos !== 1) throw new Error(`${this.name} may not subscribe`);
    this.#isKnown = true;
    return this;
  }

  end(): Promise<void> {
    return this.client.endAsync(true);
  }
}

/** Two nurse-call stations that stand in for each other: what one receives, both have (MQTT 5, 4.8.2). */
export class ChaosGroup implements ChaosReceiver {
  readonly name = 'group';
  readonly isDurable = true;
  readonly isOrdered = true;
  readonly deliveries: Deliveries;
  readonly members: readonly ChaosSubscriber[];
  readonly consumer: string;

  /** @param memberOf creates a durable subscriber whose deliveries are the group's */
  constructor(filter: string, memberOf: (name: string, deliveries: Deliveries) => ChaosSubscriber) {
    const deliveries = new Deliveries();
    this.deliveries = deliveries;
    this.members = ['member-1', 'member-2'].map((name) => memberOf(name, deliveries));
    this.consumer = `$share/chaos/${filter}`;
  }

  get sessionsLost(): number {
    return this.members.reduce((sum, { sessionsLost }) => sum + sessionsLost, 0);
  }

  async subscribe(): Promise<void> {
    for (const member of this.members) await member.subscribe(this.consumer);
  }
}

/** Delays the PUBACK of every fortieth message, and so all later ones. */
export function acknowledgeSlowly(subscriber: ChaosSubscriber, random: Random): void {
  let count = 0;
  subscriber.client.handleMessage = (_packet, done) => {
    count++;
    if (count % SLOW_EVERY === 0) setTimeout(done, random.between(0, MAX_SLOW_MS));
    else done();
  };
}

/** Cuts the connection at random times and stays away for a while, until the signal. */
export async function flap(
  subscriber: ChaosSubscriber,
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  const { client } = subscriber;
  while (!signal.aborted) {
    await delay(random.between(200, 3_000), undefined, { signal }).catch(() => undefined);
    client.options.reconnectPeriod = Math.round(random.between(10, 2_000));
    client.stream.destroy();
  }
  client.options.reconnectPeriod = RECONNECT_PERIOD_MS;
}
