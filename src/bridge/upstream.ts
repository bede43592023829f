import { readFile } from 'node:fs/promises';
import type { IClientOptions, IConnackPacket, IPublishPacket, MqttClient } from 'mqtt';
import { connect, ReasonCodes } from 'mqtt';
import { generate } from 'mqtt-packet';
import constants from 'mqtt-packet/constants.js';
import type { OutgoingPublish, Receiver } from '../delivery/message.js';
import type { BridgeOptions } from '../domain/bridge-schema.js';
import {
  type ConnectionFailure,
  failureOfCode,
  failureOfError,
  mayBeAboutMessage,
  PACKET_TOO_LARGE,
  tooLarge,
} from './connection-failure.js';
import {
  type ProtocolVersion,
  type SenderEvents,
  type SenderOptions,
  UpstreamSender,
} from './upstream-sender.js';

// Makes mqtt.js accept "packet too large" in a PUBACK. MQTT 5 does not allow it there (3.4.2.1), but Mosquitto 2.0
// sends it beyond its `message_size_limit`. mqtt.js would end the connection, and the same message would come first
// on the next one, for ever.
constants.MQTT5_PUBACK_PUBREC_CODES[PACKET_TOO_LARGE] = ReasonCodes[PACKET_TOO_LARGE];

const CONNECT_TIMEOUT_MS = 10_000;
const SECONDS_PER_HOUR = 3600;

/** Lets mqtt.js read on without a PUBACK. */
const NOT_ACKNOWLEDGED = new Error('not acknowledged yet');
/** Beyond this mqtt.js stops reading: waiting commands are held in memory. */
const MAX_WAITING = 100;

export interface UpstreamOptions extends SenderOptions {
  readonly client: IClientOptions;
  /** The largest packet, and the largest frame of a WebSocket, that is gathered. */
  readonly maxGatheredBytes: number;
}

/** Events of one connection. */
export interface UpstreamEvents extends Omit<SenderEvents, 'giveUp'> {
  connected(): void;
  /** Rejects when the message could not be handled: the upstream must resend it. */
  received(packet: IPublishPacket): Promise<void>;
  /** Whether the upstream denied a filter of `commands`. */
  commandsAnswered(areDenied: boolean): void;
}

/**
 * One connection to an upstream broker, from its first packet to its end.
 *
 * The bridge makes the next one. mqtt.js stores nothing: unacknowledged messages stay in the queue.
 */
export class Upstream implements Receiver {
  readonly #options: UpstreamOptions;
  readonly #events: UpstreamEvents;
  readonly #client: MqttClient;
  readonly #sender: UpstreamSender;
  readonly #acks: LateAcks;
  readonly #end = promised();
  #isAccepted = false;
  #failure: ConnectionFailure | undefined;
  /** Whether only acknowledgements are taken. */
  #isEnding = false;
  #isClosed = false;

  constructor(options: UpstreamOptions, events: UpstreamEvents) {
    this.#options = options;
    this.#events = events;
    // Throws if a certificate is not one, so nothing may have been started before.
    const client = connect(options.bridge.url, options.client);
    this.#client = client;
    this.#sender = new UpstreamSender(client, options, {
      ...events,
      giveUp: (failure) => this.#giveUp(failure),
    });
    this.#acks = new LateAcks(client);
    client.handleMessage = (packet, done) => this.#received(packet, done);
    client.on('connect', (connack) => this.#connected(connack));
    client.on('error', (error) => this.#noteFailure(failureOfError(error)));
    client.on('disconnect', ({ reasonCode = 0 }) => {
      if (this.#isClosed) return;
      this.#noteFailure(failureOfCode(reasonCode));
      if (mayBeAboutMessage(reasonCode)) this.#sender.sentAway(reasonCode);
    });
    client.on('close', () => {
      if (!this.#isEnding) this.#closed();
    });
    client.stream.on('drain', () => events.writable());
    this.#boundGathered();
  }

  /** Resolves once, with the reason, when the connection is gone. */
  get closed(): Promise<ConnectionFailure> {
    return this.#end.failure;
  }

  /** Whether the upstream has accepted the connection. */
  get wasAccepted(): boolean {
    return this.#isAccepted;
  }

  get isConnected(): boolean {
    return this.#isAccepted && !this.#isClosed;
  }

  get isWritable(): boolean {
    return this.isConnected && this.#sender.isWritable;
  }

  get takesProperties(): boolean {
    return this.#options.protocol === 5;
  }

  get maxInFlight(): number | undefined {
    return this.#sender.maxInFlight;
  }

  send(publish: OutgoingPublish): boolean {
    this.#sender.send(publish);
    return true;
  }

  /** Awaits acknowledgements, then disconnects. */
  async end(timeoutMs: number): Promise<void> {
    this.#isEnding = true;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#sender.stopSending(() => {
        this.#client.end(false, () => {
          clearTimeout(timer);
          resolve();
        });
      });
    });
    this.#isClosed = true;
    this.#sender.stop();
    // Not `end(true)`, which does nothing while mqtt.js waits for a SUBACK.
    this.#client.stream.destroy();
    this.#end.resolve({ kind: 'closed', detail: 'by the bridge' });
  }

  /** Gives up an upstream whose packet does not end: mqtt.js gathers a whole packet of any length in memory. */
  #boundGathered(): void {
    // The bytes of a frame count together, and may follow the start of a packet.
    const maxBytes = 2 * this.#options.maxGatheredBytes;
    let gathered = 0;
    this.#client.on('packetreceive', () => {
      gathered = 0;
    });
    this.#client.stream.on('data', (bytes: Buffer) => {
      gathered += bytes.length;
      if (gathered > maxBytes) this.#giveUp(tooLarge());
    });
  }

  #connected(connack: IConnackPacket): void {
    if (this.#isClosed) return;
    this.#isAccepted = true;
    this.#sender.start(connack);
    const { commands } = this.#options.bridge;
    if (commands.length > 0) this.#subscribe(commands);
    this.#events.connected();
  }

  #subscribe(commands: readonly string[]): void {
    // No Local (MQTT 5, 3.8.3.1): messages that the bridge sent do not come back.
    this.#client.subscribe(
      [...commands],
      { qos: 1, nl: true, rap: false, rh: 2 },
      (error, _, suback) => {
        // Without a SUBACK the connection has ended.
        if (suback !== undefined && !this.#isClosed) this.#events.commandsAnswered(error !== null);
      },
    );
  }

  #received(packet: IPublishPacket, done: (error?: Error) => void): void {
    if (this.#isEnding || this.#isClosed) {
      this.#acks.skip(done);
      return;
    }
    // Not acknowledged on failure: the upstream sends the command again on the next connection.
    this.#acks.after(this.#events.received(packet), packet, done).catch(() => {
      this.#giveUp({ kind: 'store', detail: 'a command could not be stored' });
    });
  }

  #noteFailure(failure: ConnectionFailure): void {
    this.#failure ??= failure;
  }

  #giveUp(failure: ConnectionFailure): void {
    if (this.#isClosed) return;
    this.#noteFailure(failure);
    this.#client.end(true);
    this.#closed();
  }

  #closed(): void {
    if (this.#isClosed) return;
    const failure = this.#failure ?? { kind: 'closed', detail: 'without a reason' };
    // First: a message that becomes a dead letter here was sent on this connection.
    if (failure.kind === 'closed') this.#sender.hungUp();
    this.#isClosed = true;
    this.#sender.stop();
    this.#client.end(true);
    this.#end.resolve(failure);
  }
}

function promised() {
  let resolve: (failure: ConnectionFailure) => void = () => undefined;
  const failure = new Promise<ConnectionFailure>((settle) => {
    resolve = settle;
  });
  return { failure, resolve };
}

type Done = (error?: Error) => void;

/**
 * Acknowledges messages from the upstream in order, once they are handled [MQTT-4.6.0-2].
 *
 * Otherwise mqtt.js would read nothing while a message waits: neither acknowledgements nor PINGRESP.
 */
class LateAcks {
  readonly #client: MqttClient;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(client: MqttClient) {
    this.#client = client;
  }

  /** Acknowledges after `dealing`. Rejects when that does; later packets then stay unacknowledged. */
  async after(
    dealing: Promise<void>,
    { qos, messageId = 0 }: IPublishPacket,
    done: Done,
  ): Promise<void> {
    this.#waiting++;
    const isRoom = this.#waiting <= MAX_WAITING;
    if (isRoom) done(NOT_ACKNOWLEDGED);
    const answered = Promise.all([dealing, this.#last]).then(() => {
      if (qos > 0) this.#acknowledge(messageId);
    });
    this.#last = answered;
    try {
      await answered;
    } finally {
      this.#waiting--;
      if (!isRoom) done(NOT_ACKNOWLEDGED);
    }
  }

  /** Leaves the packet to a later connection. */
  skip(done: Done): void {
    done(NOT_ACKNOWLEDGED);
  }

  #acknowledge(messageId: number): void {
    const { stream, options } = this.#client;
    if (!stream.writable) return;
    stream.write(generate({ cmd: 'puback', messageId, reasonCode: 0 }, options));
  }
}

/** How the gateway presents the bridge to its upstream. */
export interface LinkIdentity {
  readonly clientId: string;
  /** The largest packet that the gateway accepts. */
  readonly maxPacketBytes: number;
}

/**
 * Options of mqtt.js for one connection.
 * mqtt.js neither reconnects nor stores messages. Certificates are read again each time, so that
 * renewed ones take effect.
 *
 * @param forgetsSession whether the upstream must discard what it holds for the bridge
 * @throws Error of the file system
 */
export async function clientOptions(
  bridge: BridgeOptions,
  identity: LinkIdentity,
  protocolVersion: ProtocolVersion,
  forgetsSession: boolean,
): Promise<IClientOptions> {
  const { clientId, maxPacketBytes } = identity;
  const { username, password, caFile, certFile, keyFile, serverName } = bridge;
  const clean = forgetsSession || !keepsSession(bridge);
  const sessionExpiryInterval = bridge.maxQueuedHours * SECONDS_PER_HOUR;
  return {
    clientId,
    protocolVersion,
    clean,
    ...(protocolVersion === 5 && {
      properties: {
        receiveMaximum: MAX_WAITING,
        maximumPacketSize: maxPacketBytes,
        ...(!clean && { sessionExpiryInterval }),
      },
    }),
    keepalive: bridge.keepAliveSeconds,
    // Pings while messages are sent as well: this detects a broker that answers neither.
    reschedulePings: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    reconnectPeriod: 0,
    queueQoSZero: false,
    // Its debugging output costs time for each packet, even while it is off.
    log: () => undefined,
    resubscribe: false,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(caFile !== undefined && { ca: await readFile(caFile) }),
    ...(certFile !== undefined && { cert: await readFile(certFile) }),
    ...(keyFile !== undefined && { key: await readFile(keyFile) }),
    ...(serverName !== undefined && { servername: serverName }),
    rejectUnauthorized: true,
    wsOptions: { ...webSocketOptions(serverName), maxPayload: maxGatheredBytes(identity) },
  };
}

/** For a WebSocket, mqtt.js passes certificates on but not the server name. */
function webSocketOptions(servername: string | undefined) {
  return servername === undefined ? {} : { servername, rejectUnauthorized: true };
}

/** Up to this multiple of the limit, packets over it are read to the end and dropped: a command may be a slip. */
const GATHERED_TIMES = 4;
/** A frame of a WebSocket may hold many packets [MQTT-6.0.0-3]. */
const MIN_GATHERED_BYTES = 1024 * 1024;

/** The largest packet, and WebSocket frame, that is gathered in memory. */
export function maxGatheredBytes({ maxPacketBytes }: LinkIdentity): number {
  return Math.max(MIN_GATHERED_BYTES, GATHERED_TIMES * maxPacketBytes);
}

/**
 * Whether the upstream keeps a session, so that no command is lost while the bridge is away.
 * Not at QoS 2: the upstream would remember packet identifiers that the next connection gives to other
 * messages, and drop those as repetitions [MQTT-4.3.3-2].
 */
function keepsSession({ commands, qos }: BridgeOptions): boolean {
  return commands.length > 0 && qos !== 2;
}
