import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** The direction of bytes: up from the client, down from the target. */
export type Direction = 'up' | 'down' | 'both';

const WAIT_MS = 120_000;

interface Connection {
  readonly client: Socket;
  readonly target: Socket;
  swallowed: { up: boolean; down: boolean };
}

/** A network that a test can break; it counts connections. */
export class CutProxy {
  /** When each connection was attempted, including broken ones, by `performance.now()`. */
  readonly attemptsMs: number[] = [];
  readonly #targetPort: number;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  #isRefusing = false;
  #isResetting = false;
  #swallowed = { up: false, down: false };
  #waiting: (() => void)[] = [];

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  static async start(target: { readonly port: number }): Promise<CutProxy> {
    const proxy = new CutProxy(target.port);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
    return address.port;
  }

  get attempts(): number {
    return this.attemptsMs.length;
  }

  /** Connections that the client has not ended yet. */
  get open(): number {
    return [...this.#connections].filter(({ client }) => !client.closed).length;
  }

  /** Lets new connections through. A connection that has lost bytes stays dead until it ends. */
  pass(): void {
    this.#isRefusing = false;
    this.#isResetting = false;
    this.#swallowed = { up: false, down: false };
  }

  /** Breaks new connections when their first bytes arrive, until `pass`. */
  resetAtFirstBytes(): void {
    this.#isResetting = true;
  }

  /**
   * Takes and loses bytes in this direction, on existing and new connections.
   *
   * Neither end notices: the line is dead but looks alive.
   */
  swallow(direction: Direction = 'both'): void {
    this.#swallowed = { up: direction !== 'down', down: direction !== 'up' };
    for (const connection of this.#connections) connection.swallowed = this.#swallowed;
  }

  /** Breaks connections, and new ones immediately, until `pass`. */
  refuse(): void {
    this.#isRefusing = true;
    this.reset();
  }

  /** Breaks existing connections; new ones go through. */
  reset(): void {
    for (const { client, target } of this.#connections) {
      client.resetAndDestroy();
      target.resetAndDestroy();
    }
  }

  /** Resolves after this many connection attempts since the start. */
  async untilAttempts(count: number): Promise<void> {
    await this.#until(() => this.attempts >= count, `${count} attempts`);
  }

  /** Resolves when nobody is connected. */
  async untilClosed(): Promise<void> {
    await this.#until(() => this.open === 0, 'an end of the connections');
  }

  async close(): Promise<void> {
    this.refuse();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    this.attemptsMs.push(performance.now());
    if (this.#isRefusing) {
      client.on('error', () => client.destroy());
      client.resetAndDestroy();
      this.#changed();
      return;
    }
    if (this.#isResetting) client.once('data', () => client.resetAndDestroy());
    const target = connect({ port: this.#targetPort, host: '127.0.0.1', noDelay: true });
    const connection: Connection = { client, target, swallowed: this.#swallowed };
    this.#connections.add(connection);
    join(client, target, () => connection.swallowed.up);
    join(target, client, () => connection.swallowed.down);
    for (const socket of [client, target]) {
      socket.on('close', () => {
        // When bytes are swallowed, one side does not notice that the other has closed.
        if (client.closed && target.closed) this.#connections.delete(connection);
        this.#changed();
      });
    }
    this.#changed();
  }

  #until(condition: () => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`${what} never came: ${this.attempts} attempts, ${this.open} open`));
      }, WAIT_MS);
      const check = () => {
        if (!condition()) return;
        clearTimeout(timer);
        this.#waiting = this.#waiting.filter((waiting) => waiting !== check);
        resolve();
      };
      this.#waiting.push(check);
      check();
    });
  }

  #changed(): void {
    for (const check of [...this.#waiting]) check();
  }
}

/** Pipes one socket into the other, with back-pressure. */
function join(from: Socket, to: Socket, isSwallowed: () => boolean): void {
  from.on('data', (chunk) => {
    if (isSwallowed()) return;
    if (!to.write(chunk)) {
      from.pause();
      to.once('drain', () => from.resume());
    }
  });
  from.on('end', () => {
    if (!isSwallowed()) to.end();
  });
  from.on('error', () => from.destroy());
  from.on('close', (hadError) => {
    if (isSwallowed()) return;
    if (hadError) to.resetAndDestroy();
    else to.end();
  });
}
