import type { OutgoingPublish } from '../delivery/receiver.js';
import type { BridgeTopic } from '../domain/bridge-topics.js';
import { bridgedTopic, parseBridgeTopic } from '../domain/bridge-topics.js';
import type { BridgeOptions } from './bridge-options.js';
import type { LinkIdentity, ProtocolVersion } from './client-options.js';
import { clientOptions } from './client-options.js';
import type { ConnectionFailure, FailureKind } from './connection-failure.js';
import { codeOf, retryDelayMs } from './connection-failure.js';
import type { HangUpLimits } from './hang-ups.js';
import { HangUps } from './hang-ups.js';
import type { UpstreamEvents } from './upstream.js';
import { Upstream } from './upstream.js';

/** MQTT 3.1.1 in a CONNECT. */
const OLDER = 4;
const END_TIMEOUT_MS = 2_000;
/** A connection that lasts so long has shown that it works, even if there was nothing to send. */
const PROVEN_AFTER_MS = 10_000;

export interface LinkEvents extends Omit<UpstreamEvents, 'connected' | 'refused' | 'closed'> {
  connected(upstream: Upstream): void;
  /** The upstream will never take the message. */
  refused(upstream: Upstream, publish: OutgoingPublish, reason: string): void;
  /** The upstream hangs up whenever it is sent this message alone; undefined: no more. */
  hangsUpAt(publish: OutgoingPublish | undefined): void;
  /** The upstream refuses MQTT 5: the link speaks 3.1.1 from now on. */
  triesOlder(): void;
  /** A connection that had been `connected` is gone. */
  disconnected(upstream: Upstream): void;
  /** There is no connection; the link retries by itself. */
  failed(failure: ConnectionFailure): void;
}

/** Keeps a connection to the upstream, with a backoff between two of them. */
export class UpstreamLink {
  readonly #options: BridgeOptions;
  readonly #identity: LinkIdentity;
  readonly #events: LinkEvents;
  readonly #template: BridgeTopic;
  #protocol: ProtocolVersion;
  /** For one attempt, because the upstream has hung up on MQTT 5. */
  #isTryingOlder = false;
  #upstream: Upstream | undefined;
  #failedAttempts = 0;
  #lastFailure: FailureKind | undefined;
  readonly #hangUps: HangUps;
  /** The last connection may have ended for one of so many messages; the next shows for which. */
  #suspects = 0;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(
    options: BridgeOptions,
    { hangUpLimits, ...identity }: LinkIdentity & { readonly hangUpLimits: HangUpLimits },
    events: LinkEvents,
  ) {
    this.#options = options;
    this.#identity = identity;
    this.#hangUps = new HangUps(hangUpLimits, (publish) => events.hangsUpAt(publish));
    this.#events = events;
    this.#template = parseBridgeTopic(options.topic) ?? [];
    this.#protocol = options.protocol === '3.1.1' ? OLDER : 5;
  }

  start(): void {
    const protocol = this.#isTryingOlder ? OLDER : this.#protocol;
    clientOptions(this.#options, this.#identity, protocol)
      .then((client) => this.#open(client))
      // A file that cannot be read, or is no certificate.
      .catch((error: unknown) => this.#failed({ kind: 'tls', detail: codeOf(error) }));
  }

  /** Waits a moment for what is in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const upstream = this.#upstream;
    if (upstream === undefined) return;
    const wasConnected = upstream.isConnected;
    await upstream.end(END_TIMEOUT_MS);
    if (wasConnected) this.#events.disconnected(upstream);
  }

  #open(client: Awaited<ReturnType<typeof clientOptions>>): void {
    if (this.#isStopped) return;
    const { url, qos, retain, commands, ackTimeoutSeconds } = this.#options;
    let isConnected = false;
    const upstream = new Upstream(
      {
        ...{ url, client, qos, retain, commands },
        topicOf: (topic) => bridgedTopic(this.#template, topic),
        ackTimeoutMs: ackTimeoutSeconds * 1000,
        suspects: this.#suspects,
        hangUps: this.#hangUps,
      },
      {
        ...this.#events,
        connected: () => {
          isConnected = true;
          this.#timer = setTimeout(() => {
            this.#proven();
            this.#hangUps.clear();
          }, PROVEN_AFTER_MS);
          this.#events.connected(upstream);
        },
        acknowledged: (messageId) => {
          // Two clients with one id could acknowledge and take over for ever.
          if (this.#lastFailure !== 'taken-over') this.#proven();
          this.#events.acknowledged(messageId);
        },
        refused: (publish, reason) => this.#events.refused(upstream, publish, reason),
        closed: (failure, suspects) => {
          this.#upstream = undefined;
          const wasOlder = this.#isTryingOlder;
          this.#isTryingOlder = false;
          if (isConnected) {
            this.#suspects = suspects;
            this.#hangUps.nextConnection();
            this.#events.disconnected(upstream);
          } else {
            this.#hangUps.notConnected();
            if (this.#triesOther(failure, wasOlder)) return;
          }
          this.#failed(failure);
        },
      },
    );
    this.#upstream = upstream;
  }

  #proven(): void {
    this.#failedAttempts = 0;
  }

  #failed(failure: ConnectionFailure): void {
    if (this.#isStopped) return;
    this.#failedAttempts++;
    this.#lastFailure = failure.kind;
    clearTimeout(this.#timer);
    this.#events.failed(failure);
    // At once, so that the upstream does not recover in between: then nothing need be held back.
    const attempts = this.#hangUps.held > 0 ? 1 : this.#failedAttempts;
    const delayMs = retryDelayMs(failure.kind, attempts, Math.random());
    this.#timer = setTimeout(() => this.start(), delayMs);
  }

  /**
   * An old broker may refuse MQTT 5, or hang up without a word. The first is a reason to speak 3.1.1
   * from now on, and at once; the second may have any other reason. Returns whether it tries at once.
   */
  #triesOther({ kind }: ConnectionFailure, wasOlder: boolean): boolean {
    if (this.#options.protocol !== undefined) return false;
    if (kind === 'closed' && this.#protocol === 5) this.#isTryingOlder = !wasOlder;
    if (kind !== 'protocol' || wasOlder) return false;
    this.#protocol = this.#protocol === 5 ? OLDER : 5;
    // Not after a refusal of both, over and over.
    if (this.#isStopped || this.#protocol === 5) return false;
    this.#events.triesOlder();
    this.start();
    return true;
  }
}
