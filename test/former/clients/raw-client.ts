import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { generate, type IConnectPacket, type Packet, type Parser, parser } from 'mqtt-packet';
import type { Login } from '../../harness/load/plan.js';
import type { TestDevice, TestToken } from './api.js';

/** Timeout of a wait, which then fails with its name. */
const WAIT_MS = 120_000;

/** The address to connect to. */
export interface MqttAddress {
  readonly mqttPort: number;
}

type Command = Packet['cmd'];
type PacketOf<C extends Command> = Extract<Packet, { cmd: C }>;

/** A client for bare MQTT packets, including those that no library sends or shows. */
export class RawClient {
  /** Everything received, in order. */
  readonly packets: Packet[] = [];
  readonly stream: Duplex;
  readonly #parser: Parser;
  readonly #protocolVersion: number;
  readonly #taken = new Set<Packet>();
  #isClosed = false;
  #waiting: (() => void)[] = [];

  /** @param protocolVersion for writing and reading packets */
  constructor(stream: Duplex, protocolVersion = 4) {
    this.stream = stream;
    this.#protocolVersion = protocolVersion;
    this.#parser = parser({ protocolVersion });
    this.#parser.on('packet', (packet) => {
      this.packets.push(packet);
      this.#check();
    });
    this.#parser.on('error', (error) => stream.destroy(error));
    stream.on('data', (chunk) => this.#parser.parse(chunk));
    for (const event of ['end', 'error', 'close']) stream.on(event, () => this.#closed());
  }

  /** Opens a TCP connection and sends nothing. */
  static async open(gateway: MqttAddress, protocolVersion?: number): Promise<RawClient> {
    const socket: Socket = connect(gateway.mqttPort, '127.0.0.1');
    const client = new RawClient(socket, protocolVersion);
    await once(socket, 'connect');
    return client;
  }

  /** Connects and waits for CONNACK. */
  static async connect(
    gateway: MqttAddress,
    who: TestDevice | TestToken,
    options: Partial<IConnectPacket> = {},
  ): Promise<RawClient> {
    const client = await RawClient.open(gateway, options.protocolVersion);
    client.send(connectPacket({ ...credentials(who), ...options }));
    const { returnCode, reasonCode } = await client.next('connack');
    const code = returnCode ?? reasonCode;
    if (code !== 0) throw new Error(`CONNACK with ${code}`);
    return client;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Sends packets in one write. */
  send(...packets: Packet[]): void {
    const protocolVersion = this.#protocolVersion;
    this.stream.write(
      Buffer.concat(packets.map((packet) => generate(packet, { protocolVersion }))),
    );
  }

  /** The next packet of this kind that no call has returned yet. */
  async next<C extends Command>(cmd: C): Promise<PacketOf<C>> {
    const find = () => this.packets.find((one) => isOf(one, cmd) && !this.#taken.has(one));
    await this.until(() => find() !== undefined || this.#isClosed, `no ${cmd} came`);
    const packet = find();
    if (packet === undefined || !isOf(packet, cmd)) throw new Error(`closed before a ${cmd} came`);
    this.#taken.add(packet);
    return packet;
  }

  /** Resolves when the gateway has closed the connection. */
  async closed(): Promise<void> {
    await this.until(() => this.#isClosed, 'the connection was not closed');
  }

  /** Resolves when the condition holds; checks after each packet and at the end. */
  until(condition: (packets: readonly Packet[]) => boolean, complaint: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const had = this.packets.map(({ cmd }) => cmd).join(', ');
        reject(new Error(`${complaint}; came: ${had || 'nothing'}`));
      }, WAIT_MS);
      const check = () => {
        if (!condition(this.packets)) return;
        clearTimeout(timer);
        this.#waiting = this.#waiting.filter((waiting) => waiting !== check);
        resolve();
      };
      this.#waiting.push(check);
      check();
    });
  }

  /** Checks that the gateway answers a ping. */
  async ping(): Promise<void> {
    this.send({ cmd: 'pingreq' });
    await this.next('pingresp');
  }

  /** Publishes at QoS 1 or 2 and completes the handshake. */
  async publish(topic: string, payload: string | Buffer, qos: 1 | 2, messageId = 1): Promise<void> {
    this.send({ ...publishPacket(topic, payload), qos, messageId });
    if (qos === 1) {
      await this.next('puback');
      return;
    }
    await this.next('pubrec');
    this.send({ cmd: 'pubrel', messageId });
    await this.next('pubcomp');
  }

  /** Subscribes. Returns the return codes of the SUBACK. */
  async subscribe(filters: readonly string[], qos: 0 | 1 | 2 = 1): Promise<unknown[]> {
    const subscriptions = filters.map((topic) => ({ topic, qos }));
    this.send({ cmd: 'subscribe', messageId: 1, subscriptions });
    return [...(await this.next('suback')).granted];
  }

  /** Acknowledges every QoS 1 message immediately from now on. */
  acknowledgeAll(): void {
    const acknowledge = (packet: Packet) => {
      if (packet.cmd !== 'publish' || packet.messageId === undefined) return;
      this.send({ cmd: 'puback', messageId: packet.messageId });
    };
    for (const packet of this.packets) acknowledge(packet);
    this.#parser.on('packet', acknowledge);
  }

  /** Answers every PUBREC with PUBREL from now on [MQTT-4.3.3-1]. */
  releaseAll(): void {
    this.#parser.on('packet', (packet) => {
      if (packet.cmd !== 'pubrec' || packet.messageId === undefined) return;
      this.send({ cmd: 'pubrel', messageId: packet.messageId });
    });
  }

  /** Ends the connection as a power cut does, without DISCONNECT. */
  vanish(): void {
    this.stream.destroy();
  }

  #closed(): void {
    this.#isClosed = true;
    this.#check();
  }

  #check(): void {
    for (const check of [...this.#waiting]) check();
  }
}

function isOf<C extends Command>(packet: Packet, cmd: C): packet is PacketOf<C> {
  return packet.cmd === cmd;
}

/** The user name and password of a device or an access token. */
export function credentials(who: TestDevice | TestToken): { username: string; password: Buffer } {
  const password = 'secret' in who ? who.secret : who.token;
  return { username: who.id, password: Buffer.from(password) };
}

/** The login of a device or an access token for a client of a load test. */
export function loginOf(who: TestDevice | TestToken, clientId: string): Login {
  return { clientId, username: who.id, password: 'secret' in who ? who.secret : who.token };
}

let clients = 0;

/** A CONNECT with a new client id and everything else except credentials. */
export function connectPacket(options: Partial<IConnectPacket> = {}): IConnectPacket {
  clients++;
  return {
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: true,
    clientId: `raw-${process.pid}-${clients}`,
    keepalive: 60,
    ...options,
  };
}

/** A PUBLISH at QoS 0. */
export function publishPacket(topic: string, payload: string | Buffer) {
  return { cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false } as const;
}
