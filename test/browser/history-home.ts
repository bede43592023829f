import type { Browser } from 'playwright-core';
import { z } from 'zod';
import type { Api, TestDevice } from '../former/clients/api.js';
import { Camera } from '../former/clients/camera.js';
import type { RunningGateway } from '../former/gateway/running-gateway.js';
import { Home } from '../former/home.js';

export interface TestAlarm {
  readonly kind: string;
  readonly detectedAt?: string;
  readonly footage?: Readonly<Record<string, string>>;
  /** Any other field of the device. */
  readonly [field: string]: unknown;
}

/** A home with a group of two rooms, and a device in each. */
export class HistoryHome {
  readonly #home: Home;

  private constructor(
    home: Home,
    readonly roomIds: readonly [string, string],
    /** In the first and in the second room. */
    readonly devices: readonly [TestDevice, TestDevice],
  ) {
    this.#home = home;
  }

  static async create(gateway: RunningGateway, name?: string): Promise<HistoryHome> {
    const home = await Home.at(gateway, name);
    const groupId = await home.group('Station 1');
    const one = await home.room('Zimmer 1', groupId);
    const two = await home.room('Zimmer 2', groupId);
    const devices = [
      await home.deviceIn(one, 'Bett 1'),
      await home.deviceIn(two, 'Sturzmelder 2'),
    ] as const;
    return new HistoryHome(home, [one, two], devices);
  }

  get api(): Api {
    return this.#home.api;
  }

  get locationId(): string {
    return this.#home.locationId;
  }

  /** Publishes alarms as the device; resolves when the gateway has them. */
  publish(device: TestDevice, alarms: readonly TestAlarm[]): Promise<void> {
    const payloads = alarms.map((alarm) => JSON.stringify(alarm));
    return this.#home.publish(device, 'alarms', payloads);
  }

  /** Uploads a recording as the device; returns its key. */
  record(
    device: TestDevice,
    type: 'video' | 'audio',
    contentType: string,
    body: Uint8Array<ArrayBuffer>,
  ): Promise<string> {
    return new Camera(this.#home.gateway, device).record(type, contentType, body);
  }
}

/** A tone as a WAV file: 8,000 samples a second of one byte each. */
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

/** A film of a moving square as a WebM file from the browser's own recorder. */
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
