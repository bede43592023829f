import { z } from 'zod';
import type { RunningGateway } from '../gateway/running-gateway.js';
import type { TestDevice } from './api.js';
import { connectDevice } from './mqtt-clients.js';

const preparedSchema = z.strictObject({
  key: z.string(),
  uploadUrl: z.url(),
  expiresAt: z.iso.datetime(),
});
type Prepared = z.infer<typeof preparedSchema>;

/** The HTTP side of a recording device. */
export class Camera {
  readonly device: TestDevice;
  readonly #gateway: RunningGateway;

  constructor(gateway: RunningGateway, device: TestDevice) {
    this.#gateway = gateway;
    this.device = device;
  }

  /** Announces a recording; fails when it is refused. */
  async prepare(type: 'video' | 'audio', contentType: string): Promise<Prepared> {
    const { id, secret } = this.device;
    const response = await fetch(`${this.#gateway.httpUrl}/devices/${id}/footage`, {
      method: 'POST',
      headers: {
        Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({ type, contentType }),
    });
    if (response.status !== 201) throw new Error(`not announced: ${response.status}`);
    return preparedSchema.parse(await response.json());
  }

  /** Announces and uploads; returns the key. */
  async record(
    type: 'video' | 'audio',
    contentType: string,
    body: Uint8Array<ArrayBuffer>,
  ): Promise<string> {
    const { key, uploadUrl } = await this.prepare(type, contentType);
    const headers = { 'Content-Type': contentType };
    const answer = await fetch(uploadUrl, { method: 'PUT', headers, body });
    if (answer.status !== 200) throw new Error(`not uploaded: ${answer.status}`);
    return key;
  }

  /** Publishes an alarm with these recordings. */
  async alarm(footage: object): Promise<void> {
    const sensor = await connectDevice(this.#gateway, this.device);
    const payload = JSON.stringify({ kind: 'fall', footage });
    await sensor.publishAsync(`devices/${this.device.id}/alarms`, payload, { qos: 1 });
    await sensor.endAsync();
  }
}
