import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Server, type Socket } from 'node:net';
import { Aedes } from 'aedes';
import { createWebSocketStream, WebSocketServer } from 'ws';
import type { Certificate } from './certificates.js';

/** A broker that speaks MQTT 3.1.1 only, and also over WebSocket: stock Aedes, all in memory. */
export class AedesUpstream {
  readonly url: string;
  readonly webSocketUrl: string;
  readonly #broker: Aedes;
  readonly #servers: readonly Server[];
  readonly #sockets = new Set<Socket>();

  private constructor(
    broker: Aedes,
    tcp: Server,
    webSocket: WebSocketServer,
    http: Server,
    isSecure: boolean,
  ) {
    this.#broker = broker;
    this.#servers = [tcp, http];
    this.url = `mqtt://127.0.0.1:${portOf(tcp)}`;
    this.webSocketUrl = `${isSecure ? 'wss' : 'ws'}://127.0.0.1:${portOf(http)}`;
    tcp.on('connection', (socket) => broker.handle(socket));
    webSocket.on('connection', (socket) => broker.handle(createWebSocketStream(socket)));
    for (const server of this.#servers) {
      server.on('connection', (socket: Socket) => {
        this.#sockets.add(socket);
        socket.on('close', () => this.#sockets.delete(socket));
      });
    }
  }

  /** @param certificate for WebSocket over TLS */
  static async start(certificate?: Certificate): Promise<AedesUpstream> {
    const broker = await Aedes.createBroker();
    const tcp = createServer().listen(0, '127.0.0.1');
    const server =
      certificate === undefined
        ? createHttpServer()
        : createHttpsServer({
            cert: await readFile(certificate.certFile),
            key: await readFile(certificate.keyFile),
          });
    const http = server.listen(0, '127.0.0.1');
    await Promise.all([once(tcp, 'listening'), once(http, 'listening')]);
    const webSocket = new WebSocketServer({ server: http });
    return new AedesUpstream(broker, tcp, webSocket, http, certificate !== undefined);
  }

  async remove(): Promise<void> {
    await new Promise<void>((resolve) => this.#broker.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) server.close();
  }
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
