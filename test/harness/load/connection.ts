import { connect, type Socket } from 'node:net';
import { generate } from 'mqtt-packet';
import { Frames, type TakeFrame } from './frames.js';
import type { Login } from './plan.js';

const CONNACK = 2;
/** Longer than any client is idle in any run: clients of the load send no pings. */
const KEEP_ALIVE_SECONDS = 300;

/** Callbacks of a connection's owner. */
export interface Owner {
  readonly take: TakeFrame;
  /** Called after each chunk, once all its packets are taken, to send the answers in one write. */
  readonly chunkTaken: () => void;
  /** Called when the socket accepts more again. */
  readonly drained: () => void;
}

/** A bare MQTT 3.1.1 connection on a socket. */
export class Connection {
  readonly #socket: Socket;
  readonly #frames = new Frames();
  readonly #owner: Owner;
  #admitted: ((returnCode: number) => void) | undefined;
  #isClosed = false;
  #isEnding = false;

  private constructor(socket: Socket, owner: Owner) {
    this.#socket = socket;
    this.#owner = owner;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      this.#frames.read(chunk, this.#take);
      owner.chunkTaken();
    });
    socket.on('drain', () => owner.drained());
    // The close event that follows is enough.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#isClosed = true;
      this.#admitted?.(-1);
    });
  }

  /** Connects and waits for CONNACK. */
  static async open(port: number, login: Login, isClean: boolean, owner: Owner) {
    const socket = connect(port, '127.0.0.1');
    const connection = new Connection(socket, owner);
    const returnCode = new Promise<number>((resolve) => {
      connection.#admitted = resolve;
    });
    socket.write(
      generate({
        cmd: 'connect',
        protocolId: 'MQTT',
        protocolVersion: 4,
        clean: isClean,
        clientId: login.clientId,
        keepalive: KEEP_ALIVE_SECONDS,
        username: login.username,
        password: Buffer.from(login.password),
      }),
    );
    const code = await returnCode;
    if (code !== 0) throw new Error(`${login.clientId} was not admitted: ${code}`);
    return connection;
  }

  /** Whether the gateway or the network has closed the connection. */
  get wasClosed(): boolean {
    return this.#isClosed && !this.#isEnding;
  }

  /** Writes bytes. Returns whether the socket accepts more immediately. */
  write(bytes: Buffer): boolean {
    return this.#isEnding || this.#isClosed ? false : this.#socket.write(bytes);
  }

  /** Ends the connection as a power cut does: the socket's buffer is never sent. */
  reset(): void {
    this.#isEnding = true;
    this.#socket.resetAndDestroy();
  }

  /** Disconnects cleanly. */
  async end(): Promise<void> {
    this.#isEnding = true;
    if (this.#isClosed) return;
    // The gateway may reset the connection at this moment: an error ends it as well.
    const closed = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()));
    this.#socket.end(generate({ cmd: 'disconnect' }));
    await closed;
  }

  readonly #take: TakeFrame = (header, bytes, start, end) => {
    if (header >> 4 !== CONNACK) {
      this.#owner.take(header, bytes, start, end);
      return;
    }
    this.#admitted?.(bytes.readUInt8(start + 1));
    this.#admitted = undefined;
  };
}
