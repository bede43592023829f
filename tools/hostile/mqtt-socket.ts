import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { generate, type IConnectPacket } from 'mqtt-packet';
import { Frames, type TakeFrame } from '../../test/harness/load/frames.js';
import type { Login } from '../../test/harness/load/plan.js';

const CONNACK = 2;
const KEEP_ALIVE_SECONDS = 300;

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  /** The address to connect from. */
  readonly localAddress?: string | undefined;
  readonly isTls?: boolean;
}

/** A socket that tells when its connection ends. */
export class Wire {
  readonly socket: Socket;
  /** Resolves when the connection is closed, by either side. */
  readonly closed: Promise<void>;
  #isOpen = true;

  constructor(endpoint: Endpoint) {
    const { host, port, localAddress, isTls } = endpoint;
    const where = { host, port, ...(localAddress === undefined ? {} : { localAddress }) };
    // Hostile clients do not check certificates.
    this.socket = isTls ? connectTls({ ...where, rejectUnauthorized: false }) : connect(where);
    this.socket.setNoDelay(true);
    // The close event that follows is enough.
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      this.socket.once('close', () => {
        this.#isOpen = false;
        resolve();
      });
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Resolves to whether the connection is established. */
  opened(): Promise<boolean> {
    const event = 'encrypted' in this.socket ? 'secureConnect' : 'connect';
    const connected = new Promise<boolean>((resolve) => {
      this.socket.once(event, () => resolve(true));
    });
    return Promise.race([connected, this.closed.then(() => false)]);
  }

  /** Writes; once the socket takes more, resolves to whether the connection is still open. */
  async write(bytes: Buffer | string): Promise<boolean> {
    if (!this.#isOpen) return false;
    if (this.socket.write(bytes)) return true;
    const drained = new Promise<void>((resolve) => this.socket.once('drain', () => resolve()));
    await Promise.race([drained, this.closed]);
    return this.#isOpen;
  }

  /** Resolves when data arrives or the connection is closed. */
  heard(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.socket.off('data', done).off('close', done);
        resolve();
      };
      if (this.#isOpen) this.socket.on('data', done).on('close', done);
      else resolve();
    });
  }

  /** Closes the connection without a DISCONNECT and without waiting for pending data. */
  cut(): void {
    // Node cannot reset a TLS connection.
    if ('encrypted' in this.socket) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }
}

/** A cheap, bare MQTT 3.1.1 client for victims and attackers. */
export class MqttSocket {
  readonly wire: Wire;
  /** Takes every packet except CONNACK. */
  take: TakeFrame | undefined;
  #admitted: ((returnCode: number) => void) | undefined;
  readonly #frames = new Frames();

  constructor(endpoint: Endpoint) {
    this.wire = new Wire(endpoint);
    this.wire.socket.on('data', (chunk) => this.#frames.read(chunk, this.#takeFrame));
  }

  /** Connects; resolves to undefined when CONNACK is not 0 or does not come. */
  static async connect(
    endpoint: Endpoint,
    login: Login,
    options: Partial<IConnectPacket> = {},
  ): Promise<MqttSocket | undefined> {
    const mqtt = new MqttSocket(endpoint);
    return (await mqtt.logIn(login, options)) === 0 ? mqtt : undefined;
  }

  /** Sends CONNECT. Resolves to the return code, -1 when the connection is closed instead. */
  async logIn(login: Login, options: Partial<IConnectPacket> = {}): Promise<number> {
    const returnCode = new Promise<number>((resolve) => {
      this.#admitted = resolve;
    });
    this.wire.socket.write(connectBytes(login, options));
    const code = await Promise.race([returnCode, this.wire.closed.then(() => -1)]);
    if (code !== 0) this.wire.cut();
    return code;
  }

  get isOpen(): boolean {
    return this.wire.isOpen;
  }

  /** Disconnects cleanly. */
  async end(): Promise<void> {
    this.wire.socket.end(generate({ cmd: 'disconnect' }));
    await this.wire.closed;
  }

  readonly #takeFrame: TakeFrame = (header, bytes, start, end) => {
    if (header >> 4 !== CONNACK) {
      this.take?.(header, bytes, start, end);
      return;
    }
    this.#admitted?.(bytes.readUInt8(start + 1));
    this.#admitted = undefined;
  };
}

/** A CONNECT with a clean session, unless the options say otherwise. */
export function connectBytes(login: Login, options: Partial<IConnectPacket> = {}): Buffer {
  return generate({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: true,
    clientId: login.clientId,
    keepalive: KEEP_ALIVE_SECONDS,
    username: login.username,
    password: Buffer.from(login.password),
    ...options,
  });
}
