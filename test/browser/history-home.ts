import type { Browser } from 'playwright-core';
import { z } from 'zod';
import { Api, type TestDevice } from '../harness/api.js';
import { connectDevice } from '../harness/mqtt-clients.js';
import type { RunningGateway } from '../harness/running-gateway.js';

const createdSchema = z.object({ id: z.string() });
const preparedSchema = z.object({ key: z.string(), uploadUrl: z.string() });

export interface TestAlarm {
  readonly kind: string;
  readonly detectedAt?: string;
  readonly footage?: Readonly<Record<string, string>>;
  /** Any other field of the device. */
  readonly [field: string]: unknown;
}

/** A home with a group of two rooms, and a device in each. */
export class HistoryHome {
  readonly api: Api;
  readonly #gateway: RunningGateway;

  private constructor(
    gateway: RunningGateway,
    readonly locationId: string,
    readonly roomIds: readonly [string, string],
    /** In the first and in the second room. */
    readonly devices: readonly [TestDevice, TestDevice],
  ) {
    this.#gateway = gateway;
    this.api = new Api(gateway);
  }

  static async create(gateway: RunningGateway, name = 'Haus am See'): Promise<HistoryHome> {
    const api = new Api(gateway);
    const { id: locationId } = await api.createLocation(name);
    const home = `/care-homes/${locationId}`;
    const create = async (path: string, body: object) =>
      createdSchema.parse(await api.json('POST', home + path, body)).id;
    const groupId = await create('/groups', { name: 'Station 1' });
    const place = async (roomName: string, deviceName: string) => {
      const roomId = await create('/rooms', { name: roomName, groupId });
      const device = await api.createDevice(locationId, deviceName);
      await api.json('POST', `${home}/devices/${device.id}/move`, { targetRoomId: roomId });
      return { roomId, device };
    };
    const one = await place('Zimmer 1', 'Bett 1');
    const two = await place('Zimmer 2', 'Sturzmelder 2');
    const [rooms, devices] = [[one.roomId, two.roomId] as const, [one.device, two.device] as const];
    return new HistoryHome(gateway, locationId, rooms, devices);
  }

  /** Publishes alarms as the device; resolves when the gateway has them. */
  async publish(device: TestDevice, alarms: readonly TestAlarm[]): Promise<void> {
    const sensor = await connectDevice(this.#gateway, device);
    const topic = `devices/${device.id}/alarms`;
    await Promise.all(
      alarms.map((alarm) => sensor.publishAsync(topic, JSON.stringify(alarm), { qos: 1 })),
    );
    await sensor.endAsync();
  }

  /** Uploads a recording as the device; returns its key. */
  async record(
    { id, secret }: TestDevice,
    type: 'video' | 'audio',
    contentType: string,
    body: Uint8Array<ArrayBuffer>,
  ): Promise<string> {
    const answer = await fetch(`${this.#gateway.httpUrl}/devices/${id}/footage`, {
      method: 'POST',
      headers: {
        Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({ type, contentType }),
    });
    const { key, uploadUrl } = preparedSchema.parse(await answer.json());
    const headers = { 'Content-Type': contentType };
    const uploaded = await fetch(uploadUrl, { method: 'PUT', headers, body });
    if (!uploaded.ok) throw new Error(`not uploaded: ${uploaded.status}`);
    return key;
  }
}

/** A tone as a WAV file: 8,000 samples a second, of one byte each. */
export function wavFile(seconds: number): Uint8Array<ArrayBuffer> {
  const samplesPerSecond = 8_000;
  const sampleCount = seconds * samplesPerSecond;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + sampleCount, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(samplesPerSecond, 24);
  header.writeUInt32LE(samplesPerSecond, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(sampleCount, 40);
  const samples = Buffer.from(
    Array.from({ length: sampleCount }, (_none, at) => 128 + Math.round(60 * Math.sin(at / 3))),
  );
  return new Uint8Array(Buffer.concat([header, samples]));
}

/** A film of a moving square as a WebM file, as the browser's own recorder makes it. */
export async function webmFile(
  browser: Browser,
  seconds: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const page = await browser.newPage();
  try {
    const bytes: unknown = await page.evaluate(FILM_SCRIPT(seconds));
    return new Uint8Array(z.array(z.number()).parse(bytes));
  } finally {
    await page.close();
  }
}

const FILM_SCRIPT = (seconds: number) => `(async () => {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [160, 120];
  const context = canvas.getContext('2d');
  const recorder = new MediaRecorder(canvas.captureStream(10), { mimeType: 'video/webm;codecs=vp8' });
  const pieces = [];
  recorder.ondataavailable = ({ data }) => pieces.push(data);
  const stopped = new Promise((resolve) => { recorder.onstop = resolve; });
  recorder.start(200);
  let frame = 0;
  const drawing = setInterval(() => {
    frame += 1;
    context.fillStyle = 'white';
    context.fillRect(0, 0, 160, 120);
    context.fillStyle = 'black';
    context.fillRect(frame * 4 % 140, 50, 20, 20);
    if (frame === ${seconds} * 10) recorder.stop();
  }, 100);
  await stopped;
  clearInterval(drawing);
  return [...new Uint8Array(await new Blob(pieces).arrayBuffer())];
})()`;
