import { z } from 'zod';

const messageSchema = z.object({ id: z.string(), data: z.object({ number: z.number() }) });

/** The alarms of one device that one subscriber received. */
export class DeviceDeliveries {
  /** Copies of each alarm at QoS 1, by number. */
  readonly counts: number[] = [];
  /** The ids of each alarm, by number. */
  readonly ids: Set<string>[] = [];
  /** Numbers that first came after a later alarm. */
  readonly outOfOrder: number[] = [];
  #newest = -1;

  add(number: number, id: string, qos: number): void {
    const ids = this.ids[number] ?? new Set();
    this.ids[number] = ids.add(id);
    // Messages at QoS 0 are live copies (contract.md, 4.4): the alarms come again, in order.
    if (qos === 0) return;
    const count = this.counts[number] ?? 0;
    this.counts[number] = count + 1;
    if (count > 0) return;
    if (number < this.#newest) this.outOfOrder.push(number);
    this.#newest = Math.max(this.#newest, number);
  }
}

/** All alarms that one subscriber received. */
export class Deliveries {
  received = 0;
  /** Copies beyond the first. */
  repeated = 0;
  /** Live copies, received before the record. */
  early = 0;
  readonly #byDevice = new Map<string, DeviceDeliveries>();

  of(deviceId: string): DeviceDeliveries {
    const deliveries = this.#byDevice.get(deviceId) ?? new DeviceDeliveries();
    this.#byDevice.set(deviceId, deliveries);
    return deliveries;
  }

  add(topic: string, payload: Buffer, qos: number): void {
    const { id, data } = messageSchema.parse(JSON.parse(payload.toString()));
    const device = this.of(topic.split('/')[3] ?? '');
    this.received++;
    if (qos === 0) this.early++;
    else if ((device.counts[data.number] ?? 0) > 0) this.repeated++;
    device.add(data.number, id, qos);
  }
}
