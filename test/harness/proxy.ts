/**
 * A network between two programs that a test can break: it ends, resets, refuses, delays and loses.
 *
 * Either side is a port of 127.0.0.1 or the path of a Unix socket.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Waiters } from './wait.js';

/** Up is from the client to the server. */
export type Direction = 'up' | 'down' | 'both';

interface Line {
  readonly client: Socket;
  readonly target: Socket;
  swallowed: { up: boolean; down: boolean };
}

type Refusal = 'none' | 'end' | 'reset' | 'reset-at-first-bytes';

export class CutProxy {
  /** When each connection was attempted, including refused ones, by `performance.now()`. */
  readonly attemptsMs: number[] = [];
  /** Delay of everything that goes up from now on. */
  delayMs = 0;
  readonly #target: number | string;
  readonly #server: Server;
  readonly #lines = new Set<Line>();
  readonly #waiters = new Waiters();
  #refusal: Refusal = 'none';
  #swallowed = { up: false, down: false };

  private constructor(target: number | string) {
    this.#target = target;
    this.#server = createServer({ noDelay: true }, (client) => this.#accept(client));
  }

  /**
   * @param target the port or the path of the server
   * @param at where it listens; a free port if omitted
   */
  static async start(target: number | string, at: number | string = 0): Promise<CutProxy> {
    const proxy = new CutProxy(target);
    if (typeof at === 'string') proxy.#server.listen(at);
    else proxy.#server.listen(at, '127.0.0.1');
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
    return [...this.#lines].filter(({ client }) => !client.closed).length;
  }

  /**
   * Ends all connections, and new ones at once, until `mend`.
   *
   * An end instead of a reset: libraries blame an end on the other side, but a reset on themselves.
   */
  cut(): void {
    this.#refusal = 'end';
    for (const { client, target } of this.#lines) {
      client.destroy();
      target.destroy();
    }
  }

  /** Resets all connections, and new ones at once, until `mend`. */
  refuse(): void {
    this.#refusal = 'reset';
    this.reset();
  }

  /** Resets new connections when their first bytes arrive, until `mend`. */
  resetAtFirstBytes(): void {
    this.#refusal = 'reset-at-first-bytes';
  }

  /** Resets all connections; new ones go through. */
  reset(): void {
    for (const { client, target } of this.#lines) {
      reset(client);
      reset(target);
    }
  }

  /**
   * Takes and loses bytes in this direction, on all connections, until `mend`.
   *
   * Neither end notices: the line is dead and looks alive.
   */
  swallow(direction: Direction = 'both'): void {
    this.#swallowed = { up: direction !== 'down', down: direction !== 'up' };
    for (const line of this.#lines) line.swallowed = this.#swallowed;
  }

  /** Lets new connections through. A connection that has lost bytes stays dead until it ends. */
  mend(): void {
    this.#refusal = 'none';
    this.#swallowed = { up: false, down: false };
  }

  /** Resolves after this many connection attempts since the start. */
  untilAttempts(count: number): Promise<void> {
    const what = () => `${count} connection attempts; there were ${this.attempts}`;
    return this.#waiters.until(() => this.attempts >= count, what);
  }

  /** Resolves when nobody is connected. */
  untilClosed(): Promise<void> {
    return this.#waiters.until(
      () => this.open === 0,
      () => `the end of ${this.open} connections`,
    );
  }

  async close(): Promise<void> {
    this.cut();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    this.attemptsMs.push(performance.now());
    client.on('error', () => client.destroy());
    if (this.#refusal === 'end') client.destroy();
    else if (this.#refusal === 'reset') reset(client);
    else this.#join(client);
    this.#waiters.changed();
  }

  #join(client: Socket): void {
    if (this.#refusal === 'reset-at-first-bytes') {
      client.once('data', () => reset(client));
    }
    const place =
      typeof this.#target === 'string'
        ? { path: this.#target }
        : { port: this.#target, host: '127.0.0.1', noDelay: true };
    const target = connect(place);
    const line: Line = { client, target, swallowed: this.#swallowed };
    this.#lines.add(line);
    this.#pass(
      client,
      target,
      () => line.swallowed.up,
      () => this.delayMs,
    );
    this.#pass(
      target,
      client,
      () => line.swallowed.down,
      () => 0,
    );
    for (const socket of [client, target]) {
      socket.on('close', () => {
        // While bytes are lost, one side does not notice that the other has closed.
        if (client.closed && target.closed) this.#lines.delete(line);
        this.#waiters.changed();
      });
    }
  }

  /** Passes bytes on, with back-pressure and in order, also when the delay changes. */
  #pass(from: Socket, to: Socket, isSwallowed: () => boolean, delayMs: () => number): void {
    const waiting: Buffer[] = [];
    const write = (chunk: Buffer) => {
      if (to.write(chunk)) return;
      from.pause();
      to.once('drain', () => from.resume());
    };
    from.on('data', (chunk: Buffer) => {
      if (isSwallowed()) return;
      if (delayMs() === 0 && waiting.length === 0) {
        write(chunk);
        return;
      }
      waiting.push(chunk);
      setTimeout(() => write(waiting.shift() ?? Buffer.alloc(0)), delayMs());
    });
    from.on('end', () => {
      if (!isSwallowed()) to.end();
    });
    from.on('error', () => from.destroy());
    from.on('close', (hadError) => {
      if (isSwallowed()) return;
      if (hadError) reset(to);
      else to.end();
    });
  }
}

/** Resets a connection; one over a Unix socket has no reset, and just ends. */
function reset(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}
