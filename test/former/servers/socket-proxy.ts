import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A connection to a server on a Unix socket that a test can cut. */
export class SocketProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(targetPath: string) {
    this.#server = createServer((client) => {
      this.#keep(client);
      // Ends it instead of a reset: libraries blame an end on the other side, but a reset on themselves.
      if (this.#isCut) client.end();
      else this.#join(client, this.#keep(connect(targetPath)));
    });
  }

  /** @param socketPath where it listens */
  static async start(socketPath: string, targetPath: string): Promise<SocketProxy> {
    const proxy = new SocketProxy(targetPath);
    proxy.#server.listen(socketPath);
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** Ends all connections, and new ones immediately, until `pass`. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Lets new connections through again. */
  pass(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    return socket;
  }

  #join(client: Socket, target: Socket): void {
    client.pipe(target);
    target.pipe(client);
    client.on('close', () => target.destroy());
    target.on('close', () => client.destroy());
  }
}
