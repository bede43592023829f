/**
 * Brokers that a bridge sends to: a real Mosquitto, a stock Aedes that speaks only 3.1.1, and one with a script, which
 * does what a real one rarely does and a faulty one always does.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Aedes } from 'aedes';
import { generate, type IPublishPacket, type Packet, parser } from 'mqtt-packet';
import { createWebSocketStream, WebSocketServer } from 'ws';
import { Authority, type Certificate } from './certificates.js';
import { claimPort, Program } from './program.js';

const run = promisify(execFile);

export interface MosquittoOptions {
  /** Names and passwords; absent: anyone may connect. */
  readonly users?: Readonly<Record<string, string>>;
  /** Lines of its ACL file; absent: everything is permitted. */
  readonly acl?: readonly string[];
  readonly tls?: {
    /** The name in its certificate: `DNS:localhost`, `IP:127.0.0.1`. */
    readonly name: string;
    readonly requiresClientCertificate?: boolean;
  };
  /** Further settings of mosquitto.conf: `message_size_limit`, `memory_limit`, … */
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
}

/**
 * Default settings, without limits.
 *
 * Messages go to the socket of a connected subscriber before the publisher's PUBACK, so a kill loses
 * nothing that Mosquitto acknowledged.
 */
const SETTINGS = {
  // Otherwise Mosquitto switches from root to a user who cannot read the test's files.
  user: 'root',
  log_dest: 'stderr',
  connection_messages: true,
  persistence: true,
  // Saves only on `save` and when it ends.
  autosave_interval: 0,
  max_inflight_messages: 0,
  // Not 0 (unlimited): with 0, Mosquitto 2.0 ends a connection after any refused PUBLISH.
  max_queued_messages: 1_000_000,
  max_queued_bytes: 0,
  set_tcp_nodelay: true,
};
const LOG_TYPES = ['error', 'warning', 'notice', 'information'];

/** A real Mosquitto as a bridge's upstream, with its own directory and always the same port. */
export class Mosquitto {
  readonly port: number;
  readonly directory: string;
  readonly #authority: Authority | undefined;
  readonly program: Program;
  #options: MosquittoOptions;

  private constructor(
    port: number,
    directory: string,
    authority: Authority | undefined,
    options: MosquittoOptions,
  ) {
    this.port = port;
    this.directory = directory;
    this.#authority = authority;
    this.#options = options;
    // Debian keeps the program in /usr/sbin, which is not on an ordinary user's PATH.
    this.program = new Program({
      env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` },
    });
  }

  static async start(options: MosquittoOptions = {}): Promise<Mosquitto> {
    const mosquitto = await Mosquitto.create(options);
    try {
      await mosquitto.start();
    } catch (error) {
      await mosquitto.remove();
      throw error;
    }
    return mosquitto;
  }

  /** Creates a Mosquitto that is not started: nothing listens on its port. */
  static async create(options: MosquittoOptions = {}): Promise<Mosquitto> {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-mosquitto-'));
    const authority = options.tls && (await Authority.create(directory));
    return new Mosquitto(await claimPort(), directory, authority, options);
  }

  /** The authority of its certificate. */
  get authority(): Authority {
    if (this.#authority === undefined) throw new Error('this Mosquitto was created without TLS');
    return this.#authority;
  }

  get url(): string {
    return this.urlAt('127.0.0.1', this.port);
  }

  /** Its URL by another name or through a proxy. */
  urlAt(host: string, port: number): string {
    return `mqtt${this.#options.tls ? 's' : ''}://${host}:${port}`;
  }

  get lines(): readonly string[] {
    return this.program.lines;
  }

  get isRunning(): boolean {
    return this.program.isRunning;
  }

  get processId(): number {
    return this.program.processId;
  }

  /** Resolves when it listens; after `stop` or `kill`, on the same port with what it had saved. */
  async start(): Promise<void> {
    const configFile = await this.#configure();
    await this.program.ready(/mosquitto version \S+ running/, 'mosquitto', ['-c', configFile]);
  }

  /** Changes its options for the next start. */
  change(options: MosquittoOptions): void {
    this.#options = { ...this.#options, ...options };
  }

  /** Changes who may connect; closes connections that are no longer permitted. */
  async setUsers(users: Readonly<Record<string, string>>): Promise<void> {
    this.change({ users });
    await this.#configure();
    const reloading = this.program.log.next('Reloading config');
    this.program.signal('SIGHUP');
    await reloading;
  }

  /** Saves its memory: it has this state again after a kill. */
  async save(): Promise<void> {
    const saving = this.program.log.next('Saving in-memory database');
    this.program.signal('SIGUSR1');
    await saving;
  }

  /** Freezes the process until `thaw`: the kernel accepts connections and bytes, and nothing answers. */
  freeze(): void {
    this.program.freeze();
  }

  thaw(): void {
    this.program.thaw();
  }

  /** Ends Mosquitto as an operator does. */
  async stop(): Promise<void> {
    await this.program.stop();
  }

  /** Ends Mosquitto as a power cut does. */
  kill(): Promise<void> {
    return this.program.kill();
  }

  async remove(): Promise<void> {
    await this.kill();
    await rm(this.directory, { recursive: true, force: true });
  }

  /** Writes its files, always under the same paths. */
  async #configure(): Promise<string> {
    const { users, acl, tls, settings } = this.#options;
    const file = (name: string) => join(this.directory, name);
    const lines = [
      `listener ${this.port} 127.0.0.1`,
      `allow_anonymous ${users === undefined}`,
      `persistence_location ${this.directory}/`,
      ...LOG_TYPES.map((type) => `log_type ${type}`),
    ];
    if (users !== undefined) {
      await writePasswords(file('passwords'), users);
      lines.push(`password_file ${file('passwords')}`);
    }
    if (acl !== undefined) {
      await writeFile(file('acl'), `${acl.join('\n')}\n`, { mode: 0o600 });
      lines.push(`acl_file ${file('acl')}`);
    }
    if (tls !== undefined) {
      const { certFile, keyFile } = await this.authority.server(tls.name);
      lines.push(`cafile ${this.authority.certFile}`, `certfile ${certFile}`, `keyfile ${keyFile}`);
      lines.push(`require_certificate ${tls.requiresClientCertificate === true}`);
    }
    for (const [name, value] of Object.entries({ ...SETTINGS, ...settings })) {
      lines.push(`${name} ${value}`);
    }
    await writeFile(file('mosquitto.conf'), `${lines.join('\n')}\n`);
    return file('mosquitto.conf');
  }
}

async function writePasswords(
  file: string,
  users: Readonly<Record<string, string>>,
): Promise<void> {
  await writeFile(file, '', { mode: 0o600 });
  for (const [name, password] of Object.entries(users)) {
    await run('mosquitto_passwd', ['-b', file, name, password]);
  }
}

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

/** The answer to a PUBLISH: a reason code, nothing, a hang-up, or a DISCONNECT with a code. */
export type ScriptedAnswer = number | 'nothing' | 'hang up' | { readonly disconnect: number };

export interface Script {
  /** Undefined accepts every connection. */
  readonly onConnect?: (connection: number, protocolVersion: number) => ScriptedAnswer;
  /** Undefined grants QoS 1. */
  readonly onSubscribe?: (connection: number) => number;
  /** Undefined acknowledges everything. */
  readonly onPublish?: (publish: IPublishPacket, connection: number) => ScriptedAnswer;
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
