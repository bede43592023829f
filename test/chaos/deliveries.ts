import { z } from 'zod';

const messageSchema = z.object({ id: z.string(), data: z.object({ number: z.number() }) });

/** What one subscriber received of one device's alarms. */
export class DeviceDeliveries {
  /** How often each alarm came at QoS 1, by its number. */
  readonly counts: number[] = [];
  /** Under which ids each alarm came, by its number. */
  readonly ids: Set<string>[] = [];
  /** Numbers that came for the first time after a later alarm had come. */
  readonly outOfOrder: number[] = [];
  #newest = -1;

  add(number: number, id: string, qos: number): void {
    const ids = this.ids[number] ?? new Set();
    this.ids[number] = ids.add(id);
    // At QoS 0 come those that are not accepted yet (CONTRACT 4.4): they are owed again, in order.
    if (qos === 0) return;
    const count = this.counts[number] ?? 0;
    this.counts[number] = count + 1;
    if (count > 0) return;
    if (number < this.#newest) this.outOfOrder.push(number);
    this.#newest = Math.max(this.#newest, number);
  }
}

/** What one subscriber received. */
export class Deliveries {
  received = 0;
  /** Received again. */
  repeated = 0;
  /** Received before they were stored. */
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
