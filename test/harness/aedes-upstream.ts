import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { Aedes } from 'aedes';
import { createWebSocketStream, WebSocketServer } from 'ws';

/** A broker that speaks MQTT 3.1.1 only, and also over WebSocket: stock Aedes, all in memory. */
export class AedesUpstream {
  readonly url: string;
  readonly webSocketUrl: string;
  readonly #broker: Aedes;
  readonly #servers: readonly Server[];
  readonly #sockets = new Set<Socket>();

  private constructor(broker: Aedes, tcp: Server, webSocket: WebSocketServer, http: Server) {
    this.#broker = broker;
    this.#servers = [tcp, http];
    this.url = `mqtt://127.0.0.1:${portOf(tcp)}`;
    this.webSocketUrl = `ws://127.0.0.1:${portOf(http)}`;
    tcp.on('connection', (socket) => broker.handle(socket));
    webSocket.on('connection', (socket) => broker.handle(createWebSocketStream(socket)));
    for (const server of this.#servers) {
      server.on('connection', (socket: Socket) => {
        this.#sockets.add(socket);
        socket.on('close', () => this.#sockets.delete(socket));
      });
    }
  }

  static async start(): Promise<AedesUpstream> {
    const broker = await Aedes.createBroker();
    const tcp = createServer().listen(0, '127.0.0.1');
    const http = createHttpServer().listen(0, '127.0.0.1');
    await Promise.all([once(tcp, 'listening'), once(http, 'listening')]);
    return new AedesUpstream(broker, tcp, new WebSocketServer({ server: http }), http);
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
