import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Server, type Socket } from 'node:net';
import { Aedes } from 'aedes';
import { createWebSocketStream, WebSocketServer } from 'ws';
import type { Certificate } from './certificates.js';

/**
 * A stock Aedes broker that speaks only MQTT 3.1.1 and keeps everything in memory.
 *
 * It also serves WebSocket, over TLS if given a certificate.
 */
export class AedesUpstream {
  readonly url: string;
  readonly webSocketUrl: string;
  readonly #broker: Aedes;
  readonly #servers: readonly Server[];
  readonly #sockets = new Set<Socket>();

  private constructor(broker: Aedes, tcp: Server, http: Server, scheme: 'ws' | 'wss') {
    this.#broker = broker;
    this.#servers = [tcp, http];
    this.url = `mqtt://127.0.0.1:${portOf(tcp)}`;
    this.webSocketUrl = `${scheme}://127.0.0.1:${portOf(http)}`;
    tcp.on('connection', (socket) => broker.handle(socket));
    for (const server of this.#servers) {
      server.on('connection', (socket: Socket) => {
        this.#sockets.add(socket);
        socket.on('close', () => this.#sockets.delete(socket));
      });
    }
  }

  static async start(certificate?: Certificate): Promise<AedesUpstream> {
    const broker = await Aedes.createBroker();
    const tcp = createServer();
    const http = certificate ? await secureServer(certificate) : createHttpServer();
    const webSocket = new WebSocketServer({ server: http });
    webSocket.on('connection', (socket) => broker.handle(createWebSocketStream(socket)));
    for (const server of [tcp, http]) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }
    return new AedesUpstream(broker, tcp, http, certificate ? 'wss' : 'ws');
  }

  async remove(): Promise<void> {
    await new Promise<void>((resolve) => this.#broker.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) server.close();
  }
}

async function secureServer({ certFile, keyFile }: Certificate) {
  return createHttpsServer({ cert: await readFile(certFile), key: await readFile(keyFile) });
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
