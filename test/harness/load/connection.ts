/** A cheap, bare MQTT 3.1.1 connection: a load, or an attack, must cost less than its target. */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { generate, type IConnectPacket } from 'mqtt-packet';
import type { Login } from './plan.js';

const CONNACK = 2;
/** Longer than any client is idle in any run: clients of the load send no pings. */
const KEEP_ALIVE_SECONDS = 300;
const EMPTY = Buffer.alloc(0);

export interface Endpoint {
  readonly port: number;
  readonly host?: string;
  /** The address to connect from. */
  readonly localAddress?: string;
  readonly isTls?: boolean;
}

/** Takes one MQTT packet: its first byte, and the position of its body in the bytes. */
export type TakeFrame = (header: number, bytes: Buffer, start: number, end: number) => void;

export class Connection {
  readonly socket: Socket;
  /** Resolves when the connection is closed, by either side. */
  readonly closed: Promise<void>;
  /** Takes every packet except CONNACK. */
  take: TakeFrame | undefined;
  #isOpen = true;
  #isEnding = false;
  #rest: Buffer = EMPTY;
  #admitted: ((returnCode: number) => void) | undefined;

  constructor({ port, host = '127.0.0.1', localAddress, isTls }: Endpoint) {
    const where = { host, port, ...(localAddress !== undefined && { localAddress }) };
    // Hostile clients do not check certificates.
    this.socket = isTls ? connectTls({ ...where, rejectUnauthorized: false }) : connect(where);
    this.socket.setNoDelay(true);
    // The close event that follows is enough.
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      this.socket.once('close', () => {
        this.#isOpen = false;
        this.#admitted?.(-1);
        resolve();
      });
    });
  }

  /** Resolves to whether the connection is established. */
  opened(): Promise<boolean> {
    const event = 'encrypted' in this.socket ? 'secureConnect' : 'connect';
    const connected = new Promise<boolean>((resolve) => {
      this.socket.once(event, () => resolve(true));
    });
    return Promise.race([connected, this.closed.then(() => false)]);
  }

  /** Sends CONNECT with a clean session unless said. Resolves to the return code, -1 when it is closed instead. */
  logIn(login: Login, options: Partial<IConnectPacket> = {}): Promise<number> {
    this.socket.on('data', (chunk) => this.#read(chunk));
    this.socket.write(connectBytes(login, options));
    return new Promise((resolve) => {
      this.#admitted = resolve;
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether the other side has closed the connection. */
  get wasClosed(): boolean {
    return !this.#isOpen && !this.#isEnding;
  }

  /** Writes; once the socket takes more, resolves to whether the connection is still open. */
  async write(bytes: Buffer | string): Promise<boolean> {
    if (!this.#isOpen || this.socket.write(bytes)) return this.#isOpen;
    const drained = new Promise<void>((resolve) => this.socket.once('drain', resolve));
    await Promise.race([drained, this.closed]);
    return this.#isOpen;
  }

  /** Ends the connection as a power cut does: the socket's buffer is never sent. */
  reset(): void {
    this.#isEnding = true;
    // Node cannot reset a TLS connection.
    if ('encrypted' in this.socket) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }

  /** Disconnects cleanly. */
  async end(): Promise<void> {
    this.#isEnding = true;
    if (this.#isOpen) this.socket.end(generate({ cmd: 'disconnect' }));
    await this.closed;
  }

  /** Splits what comes into packets, and parses no bodies. */
  #read(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    for (let start = bodyStart(bytes, at); start !== undefined; start = bodyStart(bytes, at)) {
      const end = start + remainingLength(bytes, at + 1, start);
      if (end > bytes.length) break;
      const header = bytes.readUInt8(at);
      if (header >> 4 === CONNACK) this.#admitted?.(bytes.readUInt8(start + 1));
      else this.take?.(header, bytes, start, end);
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }
}

export function connectBytes(login: Login, options: Partial<IConnectPacket> = {}): Buffer {
  const { clientId, username } = login;
  const password = Buffer.from(login.password);
  const head = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true } as const;
  return generate({
    ...head,
    keepalive: KEEP_ALIVE_SECONDS,
    clientId,
    username,
    password,
    ...options,
  });
}

/** Consecutive packets with a packet identifier and nothing else. */
export function identified(header: number, identifiers: readonly number[]): Buffer {
  const packets = Buffer.allocUnsafe(identifiers.length * 4);
  for (const [index, identifier] of identifiers.entries()) {
    packets.writeUInt16BE((header << 8) | 2, index * 4);
    packets.writeUInt16BE(identifier, index * 4 + 2);
  }
  return packets;
}

/** The position after the remaining length, of 1 to 4 bytes [MQTT-2.2.3]; undefined while part of it is missing. */
function bodyStart(bytes: Buffer, at: number): number | undefined {
  for (let next = at + 1; next < bytes.length; next++) {
    if (((bytes[next] ?? 0) & 0x80) === 0) return next + 1;
  }
  return undefined;
}

function remainingLength(bytes: Buffer, from: number, to: number): number {
  let length = 0;
  for (let at = to - 1; at >= from; at--) length = length * 128 + ((bytes[at] ?? 0) & 0x7f);
  return length;
}
