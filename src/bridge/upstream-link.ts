import type { IClientOptions } from 'mqtt';
import type { BridgeOptions } from '../domain/bridge-schema.js';
import {
  clientOptions,
  type LinkIdentity,
  maxGatheredBytes,
  type ProtocolVersion,
} from './client-options.js';
import {
  type ConnectionFailure,
  codeOf,
  type FailureKind,
  retryDelayMs,
} from './connection-failure.js';
import type { HangUps } from './hang-ups.js';
import { Upstream, type UpstreamEvents } from './upstream.js';

/** MQTT 3.1.1 in a CONNECT. */
const OLDER = 4;
const END_TIMEOUT_MS = 2_000;
/** A connection that lasts this long works, even if there was nothing to send. */
const PROVEN_AFTER_MS = 10_000;

export interface LinkEvents extends Omit<UpstreamEvents, 'connected' | 'closed'> {
  connected(upstream: Upstream): void;
  /** The upstream does not accept MQTT 5: the link speaks 3.1.1 from now on. */
  downgraded(): void;
  /** A connection that was `connected` is gone. */
  disconnected(upstream: Upstream): void;
  /** There is no connection; the link retries on its own. */
  failed(failure: ConnectionFailure): void;
}

/** Keeps a connection to the upstream; reconnects with a backoff. */
export class UpstreamLink {
  readonly #options: BridgeOptions;
  readonly #identity: LinkIdentity;
  readonly #events: LinkEvents;
  #protocol: ProtocolVersion;
  /** Whether the next attempt uses 3.1.1: the upstream hung up on MQTT 5. */
  #isTryingOlder = false;
  #upstream: Upstream | undefined;
  #failedAttempts = 0;
  #lastFailure: FailureKind | undefined;
  readonly #hangUps: HangUps;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(
    options: BridgeOptions,
    identity: LinkIdentity,
    hangUps: HangUps,
    events: LinkEvents,
  ) {
    this.#options = options;
    this.#identity = identity;
    this.#hangUps = hangUps;
    this.#events = events;
    this.#protocol = options.protocol === '3.1.1' ? OLDER : 5;
  }

  start(): void {
    const protocol = this.#isTryingOlder ? OLDER : this.#protocol;
    // The upstream's session may hold the packet, and would start with it again.
    const forgets = this.#lastFailure === 'packet-too-large';
    clientOptions(this.#options, this.#identity, protocol, forgets)
      .then((client) => this.#open(client, protocol))
      // A file that cannot be read, or is not a certificate.
      .catch((error: unknown) => this.#failed({ kind: 'tls', detail: codeOf(error) }));
  }

  /** Waits briefly for acknowledgements of messages in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const upstream = this.#upstream;
    if (upstream === undefined) return;
    const wasConnected = upstream.isConnected;
    await upstream.end(END_TIMEOUT_MS);
    if (wasConnected) this.#events.disconnected(upstream);
  }

  #open(client: IClientOptions, protocol: ProtocolVersion): void {
    if (this.#isStopped) return;
    let isConnected = false;
    const upstream = new Upstream(
      {
        bridge: this.#options,
        client,
        protocol,
        maxGatheredBytes: maxGatheredBytes(this.#identity),
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
        acknowledged: (publish) => {
          // Two clients with the same id could acknowledge and take over for ever, and an upstream may refuse one
          // message while it takes others.
          const isProof = this.#lastFailure !== 'taken-over' && this.#lastFailure !== 'refused';
          if (isProof) this.#proven();
          this.#events.acknowledged(publish);
        },
        closed: (failure) => {
          if (isConnected) this.#ended(upstream, failure);
          else this.#notAccepted(failure);
        },
      },
    );
    this.#upstream = upstream;
  }

  /** Handles the end of a connection that the upstream had accepted. */
  #ended(upstream: Upstream, failure: ConnectionFailure): void {
    this.#upstream = undefined;
    this.#isTryingOlder = false;
    this.#hangUps.nextConnection();
    this.#events.disconnected(upstream);
    this.#failed(failure);
  }

  #notAccepted(failure: ConnectionFailure): void {
    this.#upstream = undefined;
    const wasOlder = this.#isTryingOlder;
    this.#isTryingOlder = false;
    this.#hangUps.notConnected();
    if (!this.#triesOther(failure, wasOlder)) this.#failed(failure);
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
    // Retries soon after a hang-up: an upstream that recovers in between would get messages out of order.
    const attempts = this.#hangUps.held > 0 ? 1 : this.#failedAttempts;
    const delayMs = retryDelayMs(failure.kind, attempts, Math.random());
    this.#timer = setTimeout(() => this.start(), delayMs);
  }

  /**
   * Speaks 3.1.1 to an upstream that does not know MQTT 5. Returns whether the link retries
   * immediately.
   *
   * An old broker may answer MQTT 5 with a return code, or hang up before CONNACK. A return code
   * decides the version for good. A hang-up may have any other reason, so only the next attempt
   * uses 3.1.1.
   */
  #triesOther({ kind }: ConnectionFailure, wasOlder: boolean): boolean {
    if (this.#options.protocol !== undefined) return false;
    if (kind === 'closed' && this.#protocol === 5) this.#isTryingOlder = !wasOlder;
    if (kind !== 'protocol' || wasOlder) return false;
    this.#protocol = this.#protocol === 5 ? OLDER : 5;
    // An upstream that accepts neither version is retried with a backoff.
    if (this.#isStopped || this.#protocol === 5) return false;
    this.#events.downgraded();
    this.start();
    return true;
  }
}
