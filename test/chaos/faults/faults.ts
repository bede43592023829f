import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { TestDevice } from '../../former/clients/api.js';
import { Subscriber } from '../../former/clients/mqtt-clients.js';
import { publishPacket, RawClient } from '../../former/clients/raw-client.js';
import { eventually } from '../../former/eventually.js';
import type { Home } from '../../former/home.js';
import { faultTextsIn } from '../../harness/described/fault-texts.js';

/** The client id of the subscriber with a persistent session. */
const DURABLE = 'durable';

export type PublishQos = 0 | 1 | 2;

/** A sensor over bare packets, and the alarms that it sent. */
export class Sensor {
  readonly device: TestDevice;
  readonly client: RawClient;
  readonly qos: PublishQos;
  /** Ids in the order of sending; the first has packet identifier 1. */
  readonly sent: string[] = [];

  private constructor(device: TestDevice, client: RawClient, qos: PublishQos) {
    this.device = device;
    this.client = client;
    this.qos = qos;
    if (qos === 2) client.releaseAll();
  }

  static async connect(
    home: Home,
    device: TestDevice,
    { qos = 1, clean = true }: { qos?: PublishQos; clean?: boolean } = {},
  ): Promise<Sensor> {
    const clientId = `sensor-${device.id}`;
    const client = await RawClient.connect(home.gateway, device, { clean, clientId });
    return new Sensor(device, client, qos);
  }

  /** Sends a new alarm, or the given one again, and waits for nothing. Returns its id. */
  alarm(id: string = randomUUID()): string {
    this.sent.push(id);
    const payload = JSON.stringify({ kind: 'fall', id });
    const packet = publishPacket(`devices/${this.device.id}/alarms`, payload);
    const { qos } = this;
    this.client.send(qos === 0 ? packet : { ...packet, qos, messageId: this.sent.length });
    return id;
  }

  /** Packet identifiers in the order of their PUBACKs or PUBRECs. */
  get acknowledged(): unknown[] {
    const acknowledgement = this.qos === 2 ? 'pubrec' : 'puback';
    return this.client.packets.flatMap((one) =>
      one.cmd === acknowledgement ? [one.messageId] : [],
    );
  }

  /**
   * Resolves when every alarm is acknowledged; fails if they are out of order.
   *
   * Does not wait at QoS 0.
   */
  async allAcknowledged(): Promise<void> {
    if (this.qos === 0) return;
    await eventually(() => expect(this.acknowledged).toHaveLength(this.sent.length));
    expect(this.acknowledged).toEqual(this.sent.map((_, index) => index + 1));
  }

  /** Checks that the sensor is connected and served. */
  async isServed(): Promise<void> {
    await this.client.ping();
    expect(this.client.isClosed).toBe(false);
  }
}

/** A nurse-call system that gets all alarms of the home and the gateway's status. */
export class Watcher {
  readonly subscriber: Subscriber;

  private constructor(subscriber: Subscriber) {
    this.subscriber = subscriber;
  }

  static async connect(home: Home, kind: 'durable' | 'live'): Promise<Watcher> {
    const session = kind === 'durable' ? { clientId: DURABLE, clean: false } : {};
    const subscriber = await Subscriber.connect(home.gateway, home.viewer, session);
    const alarms = `care-homes/${home.locationId}/devices/+/alarms/#`;
    return new Watcher(await subscriber.subscribe(alarms, 'gateway/status'));
  }

  /** Reconnects the durable watcher, with the subscriptions of its session. */
  static async back(home: Home): Promise<Watcher> {
    const session = { clientId: DURABLE, clean: false };
    return new Watcher(await Subscriber.connect(home.gateway, home.viewer, session));
  }

  /** Resolves when the alarm has arrived at any QoS. */
  async has(id: string): Promise<void> {
    await this.subscriber.until((all) => all.some(({ text }) => text.includes(`"id":"${id}"`)));
  }

  /** The QoS of each copy of the alarm. */
  copiesOf(id: string): number[] {
    const copies = this.subscriber.received.filter(({ text }) => text.includes(`"id":"${id}"`));
    return copies.map(({ qos }) => qos);
  }

  /** Resolves when all of the sensor's alarms have come at QoS 1, once and in order. */
  async seesStored(sensor: Sensor): Promise<void> {
    await eventually(() => expect(this.storedOf(sensor.device)).toEqual(sensor.sent));
  }

  async seesFault(fault: RegExp): Promise<void> {
    await this.subscriber.until((all) =>
      all.some(({ topic, text }) => isStatus(topic, text, fault)),
    );
  }

  /** Ids of the device's alarms that came at QoS 1. */
  storedOf(device: TestDevice): unknown[] {
    return this.subscriber.received
      .filter(({ topic, qos }) => topic.includes(`/${device.id}/alarms/`) && qos === 1)
      .map(({ text }) => JSON.parse(text).id);
  }
}

const QOS: readonly PublishQos[] = [0, 1, 2];

/**
 * The columns of the matrix in docs/reports/fault-matrix.md, all under one fault.
 *
 * A sensor for each QoS, a durable and a live subscriber.
 */
export class Columns {
  readonly home: Home;
  readonly sensors: readonly Sensor[];
  readonly watchers: readonly Watcher[];

  private constructor(home: Home, sensors: readonly Sensor[], watchers: readonly Watcher[]) {
    this.home = home;
    this.sensors = sensors;
    this.watchers = watchers;
  }

  static async of(home: Home): Promise<Columns> {
    const watchers = [await Watcher.connect(home, 'durable'), await Watcher.connect(home, 'live')];
    return Columns.with(home, await Columns.devices(home), watchers);
  }

  /** Creates a device for each QoS. */
  static devices(home: Home): Promise<TestDevice[]> {
    return Promise.all(QOS.map((qos) => home.device(`Bett ${qos}`)));
  }

  static async with(
    home: Home,
    devices: readonly TestDevice[],
    watchers: readonly Watcher[],
    clean = true,
  ): Promise<Columns> {
    const sensors = devices.map((device, index) =>
      Sensor.connect(home, device, { qos: QOS[index] ?? 1, clean }),
    );
    return new Columns(home, await Promise.all(sensors), watchers);
  }

  /** A device for the parts of a test that need only one. */
  get anyDevice(): TestDevice {
    const [sensor] = this.sensors;
    if (sensor === undefined) throw new Error('no sensor');
    return sensor.device;
  }

  /** Sends an alarm from each sensor, and waits for nothing. */
  alarm(): void {
    for (const sensor of this.sensors) sensor.alarm();
  }

  /** Sends alarms that must reach every watcher, whether they can be stored or not. */
  async see(): Promise<void> {
    const ids = this.sensors.map((sensor) => sensor.alarm());
    await Promise.all(ids.flatMap((id) => this.watchers.map((watcher) => watcher.has(id))));
  }

  /** Sends alarms that must be live, but cannot be stored and must not be acknowledged. */
  async seeLive(): Promise<void> {
    const acknowledged = () => this.sensors.map((sensor) => sensor.acknowledged.length);
    const before = acknowledged();
    await this.see();
    for (const { sent } of this.sensors) {
      for (const watcher of this.watchers) expect(watcher.copiesOf(sent.at(-1) ?? '')).toEqual([0]);
    }
    expect(acknowledged()).toEqual(before);
  }

  /** Sends alarms that must be live, and must come again once stored. */
  async seeLiveFirst(): Promise<void> {
    await this.see();
    const copies = () =>
      this.sensors.flatMap(({ sent }) =>
        this.watchers.map((watcher) => watcher.copiesOf(sent.at(-1) ?? '')),
      );
    await eventually(() => {
      for (const each of copies()) expect(each).toEqual([0, 1]);
    });
  }

  async areServed(): Promise<void> {
    await Promise.all(this.sensors.map((sensor) => sensor.isServed()));
  }

  /** Checks that all alarms are acknowledged and in the history. */
  async areStored(): Promise<void> {
    for (const sensor of this.sensors) {
      await sensor.allAcknowledged();
      await isRecorded(this.home, sensor.device, sensor.sent);
    }
  }

  /** Checks that all alarms are acknowledged, forwarded and in the history, once and in order. */
  async loseNothing(): Promise<void> {
    await this.areStored();
    for (const watcher of this.watchers) {
      for (const sensor of this.sensors) await watcher.seesStored(sensor);
    }
  }
}

function isStatus(topic: string, text: string, fault: RegExp): boolean {
  return (
    topic === 'gateway/status' && faultTextsIn(JSON.parse(text)).some((one) => fault.test(one))
  );
}

/** 1,024 bytes. */
const LARGEST_CUSTOM_DATA = JSON.stringify({ changed: 'x'.repeat(1_010) });

/** Checks that `GET /readyz` names the fault, and that changes over HTTP fail for now. */
export async function saysOverHttp(home: Home, device: TestDevice, fault: RegExp): Promise<void> {
  await eventually(async () => {
    const ready = await home.api.request('GET', '/readyz');
    expect(ready.status).toBe(503);
    expect(await ready.text()).toMatch(fault);
  });
  // On a full disk the last block of the file may still take some changes.
  await eventually(async () => {
    const change = await home.api.setCustomData(device, LARGEST_CUSTOM_DATA);
    expect(change.status).toBe(503);
    expect(Number(change.headers.get('retry-after'))).toBeGreaterThan(0);
  });
}

/** The answer of `GET /readyz`. */
export async function saysReady(home: Home): Promise<string> {
  return (await home.api.request('GET', '/readyz')).text();
}

export async function becomesReady(home: Home): Promise<void> {
  await eventually(async () => {
    const ready = await home.api.request('GET', '/readyz');
    expect(faultTextsIn(await ready.json())).toEqual([]);
    expect(ready.status).toBe(200);
  });
}

/** Checks that the device's history consists of these alarms, each once. */
export async function isRecorded(
  home: Home,
  device: TestDevice,
  sent: readonly string[],
): Promise<void> {
  // The connection for the history may return a moment after that for alarms.
  await eventually(async () => {
    const history = await home.api.allAlarms(device, '?limit=100&order=asc');
    expect(history.map(({ id }) => id).sort()).toEqual([...sent].sort());
  });
}
