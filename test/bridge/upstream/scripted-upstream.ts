import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { generate, type IPublishPacket, type Packet, parser } from 'mqtt-packet';

/** The answer to a PUBLISH: a reason code, nothing, a hang-up, or a DISCONNECT with a code. */
export type Answer = number | 'nothing' | 'hang up' | { readonly disconnect: number };

export interface Script {
  /** Undefined accepts every connection. */
  readonly onConnect?: (connection: number, protocolVersion: number) => Answer;
  /** Undefined grants QoS 1. */
  readonly onSubscribe?: (connection: number) => number;
  /** Undefined acknowledges everything. */
  readonly onPublish?: (publish: IPublishPacket, connection: number) => Answer;
}

/** An upstream broker that does what a real one rarely does and a faulty one always does. */
export class ScriptedUpstream {
  /** The topics of all messages that it was sent, over all connections, in order. */
  readonly topics: string[] = [];
  /** The protocol version of each connection, in order. */
  readonly protocolVersions: number[] = [];
  /** Whether each connection asked for a clean session, in order. */
  readonly cleanFlags: boolean[] = [];
  /** All packets but PUBLISH and CONNECT. */
  readonly packets: Packet[] = [];
  readonly #server: Server;
  readonly #script: Script;
  readonly #sockets = new Map<Socket, number>();

  private constructor(server: Server, script: Script) {
    this.#server = server;
    this.#script = script;
    server.on('connection', (socket) => this.#serve(socket));
  }

  static async start(script: Script = {}): Promise<ScriptedUpstream> {
    const server = createServer();
    const upstream = new ScriptedUpstream(server, script);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return upstream;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('it does not listen');
    return `mqtt://127.0.0.1:${address.port}`;
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Sends a packet to all connections. */
  send(packet: Packet): void {
    for (const [socket, protocolVersion] of this.#sockets) {
      socket.write(generate(packet, { protocolVersion }));
    }
  }

  /** Sends bytes to all connections. */
  sendBytes(bytes: Buffer): void {
    for (const socket of this.#sockets.keys()) socket.write(bytes);
  }

  hangUp(): void {
    for (const socket of this.#sockets.keys()) socket.destroy();
  }

  async remove(): Promise<void> {
    this.hangUp();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    const packets = parser();
    let protocolVersion = 4;
    const answer = (packet: Packet) => {
      if (!socket.destroyed) socket.write(generate(packet, { protocolVersion }));
    };
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    packets.on('packet', (packet) => {
      if (packet.cmd === 'connect') {
        protocolVersion = packet.protocolVersion ?? 4;
        this.#sockets.set(socket, protocolVersion);
        this.protocolVersions.push(protocolVersion);
        this.cleanFlags.push(packet.clean === true);
        const code = this.#script.onConnect?.(this.protocolVersions.length, protocolVersion) ?? 0;
        if (code === 'hang up') socket.destroy();
        else if (typeof code === 'number') {
          answer({ cmd: 'connack', returnCode: code, reasonCode: code, sessionPresent: false });
        }
      } else if (packet.cmd === 'publish') {
        this.topics.push(packet.topic);
        const code = this.#script.onPublish?.(packet, this.protocolVersions.length) ?? 0;
        const { messageId = 0 } = packet;
        if (code === 'hang up') socket.destroy();
        else if (typeof code === 'number') answer({ cmd: 'puback', messageId, reasonCode: code });
        else if (code !== 'nothing') {
          answer({ cmd: 'disconnect', reasonCode: code.disconnect });
          socket.end();
        }
      } else {
        this.packets.push(packet);
        if (packet.cmd === 'pingreq') answer({ cmd: 'pingresp' });
        if (packet.cmd === 'disconnect') socket.end();
        if (packet.cmd === 'subscribe') {
          const granted = packet.subscriptions.map(
            () => this.#script.onSubscribe?.(this.protocolVersions.length) ?? 1,
          );
          answer({ cmd: 'suback', messageId: packet.messageId ?? 0, granted });
        }
        if (packet.cmd === 'unsubscribe') {
          answer({ cmd: 'unsuback', messageId: packet.messageId ?? 0, granted: [0] });
        }
      }
    });
    socket.on('data', (chunk) => packets.parse(chunk));
  }
}
