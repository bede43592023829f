import type { IClientOptions, IConnackPacket, IPublishPacket, MqttClient } from 'mqtt';
import { connect, ErrorWithReasonCode } from 'mqtt';
import type { OutgoingPublish, Receiver } from '../delivery/receiver.js';
import { parseBridgedCommand } from '../domain/bridge-topics.js';
import { AckWatch } from './ack-watch.js';
import type { ConnectionFailure } from './connection-failure.js';
import {
  failureOfCode,
  failureOfError,
  isRefusedForGood,
  mayBeAboutMessage,
  reasonOf,
} from './connection-failure.js';
import { LateAcks } from './late-acks.js';
import type { UpstreamLimits } from './upstream-limits.js';
import { limitsOf, packetBytes } from './upstream-limits.js';

const PACKET_TOO_LARGE = 149;
/** [MQTT-1.5.4] */
const MAX_TOPIC_BYTES = 65_535;

export interface UpstreamOptions {
  readonly url: string;
  readonly client: IClientOptions;
  readonly topicOf: (forwardedTopic: string) => string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Filters to subscribe to; empty for none. */
  readonly commands: readonly string[];
  readonly ackTimeoutMs: number;
  /** So many messages it is sent one by one, so that it shows which of them it does not take. */
  readonly suspects: number;
}

/** What a connection tells its bridge. */
export interface UpstreamEvents {
  connected(): void;
  /** It takes messages again. */
  writable(): void;
  acknowledged(messageId: number): void;
  /** The upstream will never take the message. */
  refused(publish: OutgoingPublish, reason: string): void;
  /** Rejects when the message could not be dealt with: it is to come again. */
  received(packet: IPublishPacket): Promise<void>;
  /** Whether a filter of `commands` was refused. */
  commandsAnswered(areRefused: boolean): void;
  /** The connection is gone; called once, and nothing after it. */
  closed(failure: ConnectionFailure): void;
}

/**
 * One connection to an upstream broker, from its first packet to its end: it is not made again, the
 * bridge makes the next. mqtt.js keeps nothing for it: what is not acknowledged stays in the log.
 */
export class Upstream implements Receiver {
  readonly #options: UpstreamOptions;
  readonly #events: UpstreamEvents;
  readonly #client: MqttClient;
  readonly #watch: AckWatch;
  readonly #acks: LateAcks;
  /** What it was sent and has not answered, by packet identifier. */
  readonly #unanswered = new Map<number, OutgoingPublish>();
  #answeredCount = 0;
  #limits: UpstreamLimits | undefined;
  #failure: ConnectionFailure | undefined;
  /** It takes nothing new, but acknowledges what it has. */
  #isEnding = false;
  #isClosed = false;

  constructor(options: UpstreamOptions, events: UpstreamEvents) {
    this.#options = options;
    this.#events = events;
    // Throws when a certificate is none: nothing must have been started by then.
    const client = connect(options.url, options.client);
    this.#watch = new AckWatch(options.ackTimeoutMs, () =>
      this.#giveUp({ kind: 'silent', detail: 'no acknowledgement in time' }),
    );
    this.#client = client;
    this.#acks = new LateAcks(client);
    client.handleMessage = (packet, done) => this.#received(packet, done);
    client.on('connect', (connack) => this.#connected(connack));
    client.on('error', (error) => this.#noteFailure(failureOfError(error)));
    client.on('disconnect', ({ reasonCode }) => this.#sentAway(reasonCode ?? 0));
    client.on('close', () => {
      if (!this.#isEnding) this.#closed();
    });
    client.stream.on('drain', () => this.#events.writable());
  }

  get isConnected(): boolean {
    return this.#limits !== undefined && !this.#isClosed;
  }

  get isWritable(): boolean {
    return this.isConnected && !this.#isEnding && !this.#client.stream.writableNeedDrain;
  }

  get maxInFlight(): number | undefined {
    return this.#isOneByOne ? 1 : this.#limits?.maxInFlight;
  }

  get #isOneByOne(): boolean {
    return this.#answeredCount < this.#options.suspects;
  }

  send(publish: OutgoingPublish): void {
    const { payload, messageId, dup } = publish;
    const topic = this.#options.topicOf(publish.topic);
    const limits = this.#limits;
    if (limits === undefined) return;
    if (this.#options.commands.length > 0 && parseBridgedCommand(topic) !== undefined) {
      this.#events.refused(publish, 'it would come back as a command');
      return;
    }
    if (Buffer.byteLength(topic) > MAX_TOPIC_BYTES) {
      this.#events.refused(publish, 'its topic upstream is too long');
      return;
    }
    const qos = smaller(publish.qos === 0 ? 0 : this.#options.qos, limits.maxQos);
    if (packetBytes(topic, payload, qos) > limits.maxPacketBytes) {
      this.#refused(publish, PACKET_TOO_LARGE);
      return;
    }
    const retain = this.#options.retain && limits.takesRetained;
    if (qos > 0) {
      this.#watch.sent(messageId);
      this.#unanswered.set(messageId, publish);
    }
    this.#client.publish(topic, payload, { qos, retain, dup: dup && qos > 0 }, (error) => {
      const answer = error ?? undefined;
      // At QoS 0 mqtt.js may call this before `publish` returns, when the message is not yet sent.
      if (qos === 0) setImmediate(() => this.#answered(publish, answer));
      else this.#answered(publish, answer);
    });
  }

  /** Awaits what is in flight and says good-bye, but for no longer than this. `closed` is not called. */
  async end(timeoutMs: number): Promise<void> {
    this.#isEnding = true;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#client.end(false, () => {
        clearTimeout(timer);
        resolve();
      });
    });
    this.#isClosed = true;
    this.#watch.stop();
    // Not `end(true)`, which does nothing while mqtt.js still waits for acknowledgements.
    this.#client.stream.destroy();
  }

  #connected(connack: IConnackPacket): void {
    if (this.#isClosed) return;
    this.#limits = limitsOf(connack);
    const { commands } = this.#options;
    if (commands.length > 0) this.#subscribe(commands);
    this.#events.connected();
  }

  #subscribe(commands: readonly string[]): void {
    // No Local (MQTT 5, 3.8.3.1): what the bridge itself has sent does not come back.
    this.#client.subscribe(
      [...commands],
      { qos: 1, nl: true, rap: false, rh: 2 },
      (error, _, suback) => {
        // Without one it is the end of the connection.
        if (suback !== undefined && !this.#isClosed) this.#events.commandsAnswered(error !== null);
      },
    );
  }

  #answered(publish: OutgoingPublish, error: Error | undefined): void {
    if (this.#isClosed || publish.messageId === 0) return;
    this.#watch.answered(publish.messageId);
    this.#unanswered.delete(publish.messageId);
    this.#answeredCount++;
    if (error === undefined) {
      this.#events.acknowledged(publish.messageId);
    } else if (error instanceof ErrorWithReasonCode) {
      if (isRefusedForGood(error.code)) this.#refused(publish, error.code);
      // It is sent again on the next connection, at its place.
      else this.#giveUp(failureOfCode(error.code));
    }
    // Any other error is the end of the connection, of which `close` tells.
  }

  /** A DISCONNECT of the upstream's. What it is sent alone, and answers in this way, it never takes. */
  #sentAway(code: number): void {
    const suspects = mayBeAboutMessage(code) ? this.#unanswered.size : 0;
    this.#noteFailure({ ...failureOfCode(code), suspects });
    if (suspects === 0 || !this.#isOneByOne) return;
    for (const publish of this.#unanswered.values()) this.#refused(publish, code);
  }

  #refused(publish: OutgoingPublish, code: number): void {
    this.#events.refused(publish, reasonOf(code));
  }

  #received(packet: IPublishPacket, done: (error?: Error) => void): void {
    if (this.#isEnding || this.#isClosed) {
      this.#acks.skip(done);
      return;
    }
    // Not acknowledged if it fails: the upstream sends it again on the next connection.
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
    this.#isClosed = true;
    this.#watch.stop();
    this.#client.end(true);
    this.#events.closed(this.#failure ?? { kind: 'closed', detail: 'without a reason' });
  }
}

function smaller(one: 0 | 1 | 2, other: 0 | 1 | 2): 0 | 1 | 2 {
  return one < other ? one : other;
}
