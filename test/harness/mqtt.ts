/**
 * MQTT clients on bare packets, in both protocol versions: what a library hides (DUP, codes, order on the wire) is
 * what tests look at.
 *
 * `Client` is one connection. A `Sensor` and a `Nurse` live over several.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  generate,
  type IConnectPacket,
  type IPublishPacket,
  type ISubscription,
  type Packet,
  type Parser,
  parser,
} from 'mqtt-packet';
import { describedMqtt } from './described/described-mqtt.js';
import { Waiters } from './wait.js';

export interface TestDevice {
  readonly id: string;
  readonly name: string;
  readonly secret: string;
  readonly locationId: string;
}

export interface TestToken {
  readonly id: string;
  readonly token: string;
}

export type Credentials =
  | TestDevice
  | TestToken
  | { readonly username?: string; readonly password?: string };

/** Where a client connects. */
export interface MqttPlace {
  readonly mqttPort: number;
  /** The address of this machine that it connects from; any unless said. */
  readonly localAddress?: string;
}

/** One message as a client received it. */
export interface Received {
  readonly topic: string;
  readonly text: string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly dup: boolean;
  /** By `performance.now()`. */
  readonly atMs: number;
  readonly packet: IPublishPacket;
}

export interface ConnectOptions extends Partial<IConnectPacket> {
  /** Whether it answers PUBLISH and PUBREC by itself; true unless said. */
  readonly acknowledges?: boolean;
  /** Whether what it receives must match the gateway's AsyncAPI document; true unless said. */
  readonly isDescribed?: boolean;
}

type Command = Packet['cmd'];
type PacketOf<C extends Command> = Extract<Packet, { cmd: C }>;
export type PublishOptions = Partial<
  Pick<IPublishPacket, 'qos' | 'dup' | 'retain' | 'properties'>
> & {
  readonly messageId?: number | undefined;
};

const MAX_PACKET_IDENTIFIER = 65_535;

/** One MQTT connection. */
export class Client {
  /** Every packet received, in order. */
  readonly packets: Packet[] = [];
  readonly received: Received[] = [];
  readonly stream: Duplex;
  /** Called with each message. */
  onMessage: ((message: Received) => void) | undefined;
  /** The newest packet identifier; a session continues from it over its next connection. */
  lastIdentifier = 0;
  readonly #options: ConnectOptions;
  readonly #protocolVersion: number;
  readonly #parser: Parser;
  readonly #taken = new WeakSet<Packet>();
  readonly #answered = new WeakSet<Packet>();
  readonly #waiters = new Waiters();
  #acknowledges: boolean;
  #isClosed = false;
  #fault: unknown;

  /** @param stream an open connection, on which it sends nothing by itself */
  constructor(stream: Duplex, options: ConnectOptions = {}) {
    this.stream = stream;
    this.#options = options;
    this.#acknowledges = options.acknowledges ?? true;
    this.#protocolVersion = options.protocolVersion ?? 4;
    this.#parser = parser({ protocolVersion: this.#protocolVersion });
    this.#parser.on('packet', (packet) => this.#take(packet));
    this.#parser.on('error', (error) => stream.destroy(error));
    stream.on('data', (chunk) => this.#parser.parse(chunk));
    for (const event of ['end', 'error', 'close']) stream.on(event, () => this.#closed());
  }

  /** Opens a TCP connection and sends nothing. */
  static async open(
    { mqttPort: port, localAddress }: MqttPlace,
    options?: ConnectOptions,
  ): Promise<Client> {
    const from = localAddress === undefined ? {} : { localAddress };
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, ...from });
    const client = new Client(socket, options);
    await once(socket, 'connect');
    return client;
  }

  /**
   * Connects, and waits for CONNACK.
   *
   * @throws Error with the code of a refusal
   */
  static async connect(
    place: MqttPlace,
    who: Credentials = {},
    options: ConnectOptions = {},
  ): Promise<Client> {
    const client = await Client.open(place, options);
    await admitted(client, who);
    return client;
  }

  /** Sends CONNECT. Resolves to the code of the CONNACK, whose packet is among `packets`. */
  async login(who: Credentials = {}): Promise<number> {
    const { acknowledges, isDescribed, ...connect } = this.#options;
    this.send(connectPacket({ ...credentials(who), ...connect }));
    const { returnCode, reasonCode } = await this.next('connack');
    return returnCode ?? reasonCode ?? -1;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether CONNACK said that the gateway knows the session. */
  get sessionPresent(): boolean {
    return this.packets.some((packet) => packet.cmd === 'connack' && packet.sessionPresent);
  }

  /** The topics received so far. */
  get topics(): string[] {
    return this.received.map(({ topic }) => topic);
  }

  /** The parsed payloads received so far on topics that contain the text. */
  messages(topicPart = ''): Record<string, unknown>[] {
    this.requireNoFault();
    const wanted = this.received.filter(({ topic }) => topic.includes(topicPart));
    return wanted.map(({ text }) => JSON.parse(text));
  }

  /** What it got of the alarms' history: without live copies, which come at QoS 0 (contract 4.4). */
  get records(): Received[] {
    return this.received.filter(({ qos }) => qos > 0);
  }

  /** Sends packets in one write. */
  send(...packets: Packet[]): void {
    const protocolVersion = this.#protocolVersion;
    this.write(Buffer.concat(packets.map((packet) => generate(packet, { protocolVersion }))));
  }

  /** Sends bytes as they are. */
  write(bytes: Buffer | string): void {
    this.stream.write(bytes);
  }

  /** A packet identifier that this connection has not used lately. */
  nextIdentifier(): number {
    this.lastIdentifier = (this.lastIdentifier % MAX_PACKET_IDENTIFIER) + 1;
    return this.lastIdentifier;
  }

  /** The next packet of this kind that no call has returned yet. */
  async next<C extends Command>(
    cmd: C,
    fits?: (packet: PacketOf<C>) => boolean,
  ): Promise<PacketOf<C>> {
    let found: PacketOf<C> | undefined;
    // A thousand calls may wait at once: none looks at a packet twice.
    let at = 0;
    const find = () => {
      for (const packet of this.packets.slice(at)) {
        at++;
        if (!isOf(packet, cmd) || this.#taken.has(packet)) continue;
        if (fits === undefined || fits(packet)) return packet;
      }
      return undefined;
    };
    await this.until(() => {
      found = find();
      return found !== undefined || this.#isClosed;
    }, cmd);
    if (found === undefined) throw new Error(`closed before a ${cmd} came; ${this.#came()}`);
    this.#taken.add(found);
    return found;
  }

  /** Resolves when the condition holds; checks after each packet and at the end. */
  until(condition: (client: this) => boolean, what: string): Promise<void> {
    return this.#waiters.until(
      () => {
        this.requireNoFault();
        return condition(this);
      },
      () => `${what}; ${this.#came()}`,
    );
  }

  /** Resolves when this many messages have come, live copies included. */
  untilCount(count: number): Promise<void> {
    return this.until(({ received }) => received.length >= count, `${count} messages`);
  }

  /** Resolves when this many messages have come, without live copies. */
  untilRecords(count: number): Promise<void> {
    return this.until(({ records }) => records.length >= count, `${count} records`);
  }

  /** Resolves when the gateway has closed the connection. */
  closed(): Promise<void> {
    return this.until(({ isClosed }) => isClosed, 'the end of the connection');
  }

  /** Publishes. At QoS 1 and 2 it resolves when the handshake is complete, to its last packet. */
  async publish(
    topic: string,
    payload: string | Buffer,
    options: PublishOptions = {},
  ): Promise<Packet> {
    const { qos = 1 } = options;
    const { messageId = qos === 0 ? undefined : this.nextIdentifier(), ...fields } = options;
    const publish = { ...publishPacket(topic, payload), ...fields, qos };
    this.send(messageId === undefined ? publish : { ...publish, messageId });
    const isIts = (packet: Packet) => packet.messageId === messageId;
    if (qos === 0) return publish;
    if (qos === 1) return this.next('puback', isIts);
    const received = await this.next('pubrec', isIts);
    if ((received.reasonCode ?? 0) >= 0x80) return received;
    return this.next('pubcomp', isIts);
  }

  /** Subscribes. Resolves to the codes of the SUBACK. */
  async subscribe(
    filters: string | readonly string[],
    options: Partial<ISubscription> = {},
  ): Promise<number[]> {
    const topics = typeof filters === 'string' ? [filters] : filters;
    const subscriptions = topics.map((topic) => ({ qos: 1 as const, ...options, topic }));
    const messageId = this.nextIdentifier();
    this.send({ cmd: 'subscribe', messageId, subscriptions });
    const suback = await this.next('suback', (packet) => packet.messageId === messageId);
    return suback.granted.map(Number);
  }

  /** Unsubscribes. Resolves to the UNSUBACK. */
  unsubscribe(...unsubscriptions: string[]): Promise<PacketOf<'unsuback'>> {
    const messageId = this.nextIdentifier();
    this.send({ cmd: 'unsubscribe', messageId, unsubscriptions });
    return this.next('unsuback', (packet) => packet.messageId === messageId);
  }

  /** Acknowledges this many of the oldest messages that it has not acknowledged; for `acknowledges: false`. */
  acknowledge(count = Number.POSITIVE_INFINITY): Received[] {
    const open = this.received.filter(
      ({ packet }) => packet.qos === 1 && !this.#answered.has(packet),
    );
    const now = open.slice(0, count);
    for (const { packet } of now) this.#answer(packet);
    return now;
  }

  /** Acknowledges everything from now on. */
  acknowledgeAll(): void {
    this.acknowledge();
    this.#acknowledges = true;
  }

  /** Resolves when the gateway has answered a ping: it has read everything sent before. */
  async ping(): Promise<void> {
    this.send({ cmd: 'pingreq' });
    await this.next('pingresp');
  }

  /** Stops reading, until `thaw`; the connection stays open. */
  freeze(): void {
    this.stream.pause();
  }

  thaw(): void {
    this.stream.resume();
  }

  /** Ends the connection as a power cut does, without DISCONNECT. */
  vanish(): void {
    this.stream.destroy();
  }

  /** Disconnects as an orderly client does. */
  async end(): Promise<void> {
    if (!this.#isClosed) {
      this.send({ cmd: 'disconnect' });
      this.stream.end();
      await this.#waiters.until(() => this.#isClosed, 'the end of the connection');
    }
    this.requireNoFault();
  }

  /** @throws Error when a message did not match the AsyncAPI document */
  requireNoFault(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }

  #take(packet: Packet): void {
    this.packets.push(packet);
    if (packet.cmd === 'publish') this.#receive(packet);
    if (packet.cmd === 'pubrec' && this.#acknowledges && (packet.reasonCode ?? 0) < 0x80) {
      this.send({ cmd: 'pubrel', messageId: packet.messageId ?? 0 });
    }
    this.#waiters.changed();
  }

  #receive(packet: IPublishPacket): void {
    const { topic, payload, qos, retain, dup } = packet;
    const message = {
      topic,
      text: payload.toString(),
      qos,
      retain,
      dup,
      atMs: performance.now(),
      packet,
    };
    this.received.push(message);
    if (this.#options.isDescribed ?? true) this.#check(message);
    this.onMessage?.(message);
    if (qos > 0 && this.#acknowledges) this.#answer(packet);
  }

  #answer(packet: IPublishPacket): void {
    this.#answered.add(packet);
    const messageId = packet.messageId ?? 0;
    this.send({ cmd: packet.qos === 2 ? 'pubrec' : 'puback', messageId });
  }

  #check(message: Received): void {
    try {
      describedMqtt.check(message);
    } catch (error) {
      this.#fault ??= error;
    }
  }

  #came(): string {
    const commands = this.packets.slice(-30).map(({ cmd }) => cmd);
    return `came: ${commands.join(', ') || 'nothing'}${this.#isClosed ? ', and the end' : ''}`;
  }

  #closed(): void {
    this.#isClosed = true;
    this.#waiters.changed();
  }
}

/** @throws Error with the code of a refusal, after closing the connection */
export async function admitted(client: Client, who: Credentials): Promise<void> {
  const code = await client.login(who);
  if (code === 0) return;
  client.vanish();
  throw new Error(`CONNACK with ${code}`);
}

/** Calls once the connection has ended, also if it has already. */
export function whenClosed(client: Client, call: () => void): void {
  if (client.isClosed) call();
  else client.stream.once('close', call);
}

function isOf<C extends Command>(packet: Packet, cmd: C): packet is PacketOf<C> {
  return packet.cmd === cmd;
}

/** The user name and password of a device or an access token. */
export function credentials(who: Credentials): { username?: string; password?: Buffer } {
  const [username, password] =
    'secret' in who
      ? [who.id, who.secret]
      : 'token' in who
        ? [who.id, who.token]
        : [who.username, who.password];
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password: Buffer.from(password) }),
  };
}

/** A CONNECT with a new client id and everything else except credentials. */
export function connectPacket(options: Partial<IConnectPacket> = {}): IConnectPacket {
  return {
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: true,
    clientId: `client-${randomUUID().slice(0, 13)}`,
    keepalive: 60,
    ...options,
  };
}

/** A PUBLISH at QoS 0. */
export function publishPacket(topic: string, payload: string | Buffer) {
  return { cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false } as const;
}
