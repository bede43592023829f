import type { IClientOptions, IConnackPacket, IPublishPacket, MqttClient } from 'mqtt';
import { connect } from 'mqtt';
import type { OutgoingPublish, Receiver } from '../delivery/message.js';
import {
  type ConnectionFailure,
  failureOfCode,
  failureOfError,
  mayBeAboutMessage,
  tooLarge,
} from './connection-failure.js';
import { LateAcks } from './late-acks.js';
import { type SenderEvents, type SenderOptions, UpstreamSender } from './upstream-sender.js';

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
  /** The connection is gone. Called once, as the last event. */
  closed(failure: ConnectionFailure): void;
}

/**
 * One connection to an upstream broker, from its first packet to its end.
 * The link makes the next one. mqtt.js stores nothing: unacknowledged messages stay in the log.
 */
export class Upstream implements Receiver {
  readonly #options: UpstreamOptions;
  readonly #events: UpstreamEvents;
  readonly #client: MqttClient;
  readonly #sender: UpstreamSender;
  readonly #acks: LateAcks;
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

  /** Awaits acknowledgements, then disconnects; `closed` is not called. */
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
    this.#events.closed(failure);
  }
}
