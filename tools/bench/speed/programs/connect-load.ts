/** Many devices that retry until they are admitted, and then stay connected. */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { generate } from 'mqtt-packet';
import { z } from 'zod';
import { type Login, loginSchema } from '../../../../test/harness/load/plan.js';
import { answerOnce } from '../answering.js';

const CONNACK_BYTES = 4;
const RETURN_CODE_AT = 3;
const KEEP_ALIVE_SECONDS = 300;
/** The same as mqtt.js. */
const RETRY_AFTER_MS = 1_000;
const LOOK_EVERY_MS = 5;

const questionSchema = z.object({
  port: z.number(),
  logins: z.array(loginSchema),
  /** How many attempts may be under way at a time; null: all. */
  atATime: z.number().nullable(),
  /** The time after which a device gives up an attempt and makes another; null: never. */
  timeoutMs: z.number().nullable(),
  /** The time after which the program gives up. */
  boundMs: z.number(),
});

answerOnce(questionSchema, async ({ port, logins, atATime, timeoutMs, boundMs }) => {
  const beganMs = performance.now();
  const devices = logins.map((login) => new Device(port, login, timeoutMs));
  const waiting = new Set<Device>();
  for (const device of devices) {
    for (const one of waiting) if (one.isConnected) waiting.delete(one);
    while (atATime !== null && waiting.size >= atATime) {
      await delay(LOOK_EVERY_MS);
      for (const one of waiting) if (one.isConnected) waiting.delete(one);
    }
    device.connect();
    if (atATime !== null) waiting.add(device);
  }
  const connected = () => devices.filter(({ isConnected }) => isConnected).length;
  while (connected() < devices.length && performance.now() - beganMs < boundMs) {
    await delay(LOOK_EVERY_MS);
  }
  const newestMs = Math.max(...devices.map(({ connectedMs }) => connectedMs));
  return {
    durationMs: newestMs - beganMs,
    attempts: devices.reduce((sum, { attempts }) => sum + attempts, 0),
    missing: devices.length - connected(),
  };
});

class Device {
  isConnected = false;
  connectedMs = 0;
  attempts = 0;
  readonly #port: number;
  readonly #login: Login;
  readonly #timeoutMs: number | null;

  constructor(port: number, login: Login, timeoutMs: number | null) {
    this.#port = port;
    this.#login = login;
    this.#timeoutMs = timeoutMs;
  }

  connect(): void {
    this.attempts++;
    const socket = connect(this.#port, '127.0.0.1');
    const timer = this.#timeoutMs === null ? undefined : this.#giveUpAfter(this.#timeoutMs, socket);
    let received = Buffer.alloc(0);
    socket.on('connect', () => socket.write(this.#connectPacket()));
    socket.on('data', (chunk) => {
      if (this.isConnected) return;
      received = Buffer.concat([received, chunk]);
      if (received.length < CONNACK_BYTES) return;
      if (received[RETURN_CODE_AT] !== 0) {
        socket.destroy();
        return;
      }
      clearTimeout(timer);
      this.isConnected = true;
      this.connectedMs = performance.now();
    });
    // The close event that follows is enough.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      this.isConnected = false;
      setTimeout(() => this.connect(), RETRY_AFTER_MS);
    });
  }

  #giveUpAfter(timeoutMs: number, socket: Socket): NodeJS.Timeout {
    return setTimeout(() => socket.destroy(), timeoutMs);
  }

  #connectPacket(): Buffer {
    const { clientId, username, password } = this.#login;
    return generate({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clean: true,
      clientId,
      username,
      password: Buffer.from(password),
      keepalive: KEEP_ALIVE_SECONDS,
    });
  }
}
