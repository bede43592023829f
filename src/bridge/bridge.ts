import type { Logger } from 'pino';
import type { Destination } from '../delivery/destination.js';
import type { Forwarder } from '../delivery/forwarder.js';
import { LOG_NAMES } from '../delivery/log-entry.js';
import type { OutgoingPublish } from '../delivery/receiver.js';
import type { Sessions } from '../delivery/sessions.js';
import { bridgeStatusTopic } from '../domain/topics.js';
import type { BridgeStatus, SetAsideMessage, SetAsideStore } from '../site/bridge-list.js';
import { describeBridge } from '../site/bridge-list.js';
import type { Health } from '../site/health.js';
import type { BridgeOptions } from './bridge-options.js';
import { openQueue } from './bridge-queue.js';
import { BridgeRecord } from './bridge-record.js';
import type { ConnectionFailure } from './connection-failure.js';
import { FAILURES } from './connection-failure.js';
import type { CommandSink } from './inbound.js';
import { Inbound } from './inbound.js';
import type { Upstream } from './upstream.js';
import { UpstreamLink } from './upstream-link.js';

const CHECK_INTERVAL_MS = 5_000;
const STATUS_INTERVAL_MS = 30_000;
const SET_ASIDE_RETRY_MS = 1_000;
const LAST_WORD_TIMEOUT_MS = 1_000;
/** What waits longer while the upstream is connected has stopped moving, or comes too fast. */
const BEHIND_AFTER_MS = 60_000;

export interface BridgeServices {
  /** Tells this gateway from others that know the same upstream. */
  readonly installation: string;
  readonly sessions: Sessions;
  readonly forwarder: Pick<Forwarder, 'announce' | 'forget'>;
  readonly health: Health;
  readonly setAside: SetAsideStore;
  readonly commands: CommandSink;
  /** `mqtt.maxPacketBytes`, of what comes from upstream too. */
  readonly maxPacketBytes: number;
  readonly log: Logger;
  readonly now: () => number;
  /** By which ages are measured. */
  readonly steadyNow: () => number;
}

/**
 * Sends what its queue holds to one upstream broker. The queue is a session like any subscriber's and
 * knows what is owed: its cursors move on the upstream's acknowledgement only (CONTRACT 4.2).
 */
export class Bridge {
  readonly options: BridgeOptions;
  readonly #services: BridgeServices;
  readonly #log: Logger;
  readonly #record: BridgeRecord;
  readonly #link: UpstreamLink;
  readonly #stopped = new AbortController();
  readonly #timers: NodeJS.Timeout[] = [];
  #queue: Destination | undefined;

  constructor(options: BridgeOptions, services: BridgeServices) {
    this.options = options;
    this.#services = services;
    this.#log = services.log.child({ bridge: options.name });
    this.#record = new BridgeRecord(this.#log, services.now);
    const clientId =
      options.clientId ?? `care-home-gateway-${services.installation}-${options.name}`;
    const { commands, maxPacketBytes } = services;
    const inbound = new Inbound(options, { commands, maxPacketBytes, log: this.#log });
    this.#link = new UpstreamLink(
      options,
      { clientId, maxPacketBytes },
      {
        connected: (upstream) => this.#connected(upstream),
        writable: () => this.#queue?.wake(),
        acknowledged: (messageId) => this.#acknowledged(messageId),
        refused: (upstream, publish, reason) => this.#refused(upstream, publish, reason),
        received: (packet) => inbound.accept(packet),
        commandsRefused: () => this.#log.warn('the upstream refuses the subscription to commands'),
        triesOlder: () => this.#log.info('the upstream refuses MQTT 5, trying 3.1.1'),
        disconnected: (upstream) => this.#disconnected(upstream),
        failed: (failure) => this.#failed(failure),
      },
    );
  }

  /** From when this resolves on, the upstream is owed what is forwarded; it may be away itself. */
  async start(): Promise<void> {
    this.#queue = await openQueue(this.#services, this.options, this.#stopped.signal);
    if (this.#stopped.signal.aborted) return;
    this.#timers.push(
      setInterval(() => this.#announce(), STATUS_INTERVAL_MS),
      setInterval(() => this.#check(), CHECK_INTERVAL_MS),
    );
    this.#link.start();
  }

  /** Waits a moment for what is in flight. The queue stays. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const timer of this.#timers) clearInterval(timer);
    await this.#link.stop();
    this.#services.health.reportElsewhere(this.#source, undefined);
    const deadline = new Promise((resolve) => setTimeout(resolve, LAST_WORD_TIMEOUT_MS).unref());
    await Promise.race([this.#announce(), deadline]);
  }

  async status(): Promise<BridgeStatus> {
    const { name, url } = this.options;
    const queue = this.#queue;
    const cursors = queue === undefined ? [] : LOG_NAMES.map((log) => queue.cursors[log]);
    const sum = (of: (cursor: (typeof cursors)[number]) => number) =>
      cursors.reduce((total, cursor) => total + of(cursor), 0);
    const refused = sum(({ refusedCount }) => refusedCount);
    return {
      name,
      url,
      ...this.#record.state,
      queued: sum(({ queued }) => queued),
      // Not worth an error: all the rest is known without the store.
      oldestQueuedAtMs: await this.#oldestQueuedAtMs().catch(() => null),
      delivered: sum(({ delivered }) => delivered),
      dropped: {
        tooOld: sum(({ expired }) => expired),
        tooMany: sum(({ dropped }) => dropped) - refused,
        refused,
      },
    };
  }

  get #source(): string {
    return `bridge/${this.options.name}`;
  }

  #connected(upstream: Upstream): void {
    this.#record.connected();
    this.#services.health.reportElsewhere(this.#source, undefined);
    this.#queue?.connect(upstream);
    this.#announce();
  }

  #disconnected(upstream: Upstream): void {
    this.#record.disconnected();
    this.#queue?.disconnect(upstream);
  }

  #failed(failure: ConnectionFailure): void {
    this.#record.failed(failure);
    const fault = `bridge ${this.options.name} is down: ${FAILURES[failure.kind].words}`;
    this.#services.health.reportElsewhere(this.#source, fault);
    this.#announce();
  }

  #acknowledged(messageId: number): void {
    this.#record.acknowledged();
    this.#queue?.acknowledge(messageId);
  }

  /** First it is kept where it can be read, then it is passed: it must not be lost without a trace. */
  #refused(upstream: Upstream, publish: OutgoingPublish, reason: string): void {
    // At QoS 0 nobody is owed it.
    if (publish.messageId === 0 || !upstream.isConnected || this.#queue === undefined) return;
    const { topic, payload } = publish;
    const message = { atMs: this.#services.now(), topic, reason, payload };
    this.#setAside(message, this.#queue.refusal(publish.messageId));
  }

  #setAside(message: SetAsideMessage, pass: () => void): void {
    this.#services.setAside.add(this.options.name, message).then(
      () => {
        this.#record.setAside(message.topic, message.reason);
        pass();
      },
      (error: unknown) => {
        this.#log.warn({ err: error }, 'refused message not set aside, trying again');
        setTimeout(() => this.#setAside(message, pass), SET_ASIDE_RETRY_MS).unref();
      },
    );
  }

  /** Connected, but what waits does not get less. */
  #check(): void {
    if (!this.#record.state.connected) return;
    const behind = `bridge ${this.options.name} is behind: its oldest message has waited for more than a minute`;
    this.#oldestQueuedAtMs()
      .then((oldestMs) => {
        if (!this.#record.state.connected) return;
        const isBehind =
          oldestMs !== null && oldestMs < this.#services.steadyNow() - BEHIND_AFTER_MS;
        this.#services.health.reportElsewhere(this.#source, isBehind ? behind : undefined);
      })
      .catch((error: unknown) => this.#log.warn({ err: error }, 'queue of the bridge not read'));
  }

  async #oldestQueuedAtMs(): Promise<number | null> {
    const queue = this.#queue;
    if (queue === undefined) return null;
    const oldest = await Promise.all(LOG_NAMES.map((log) => queue.cursors[log].oldestQueued()));
    const times = oldest.flatMap((entry) => (entry === undefined ? [] : [entry.receivedAtMs]));
    return times.length === 0 ? null : Math.min(...times);
  }

  #announce(): Promise<void> {
    return this.status()
      .then((status) =>
        this.#services.forwarder.announce({
          topic: bridgeStatusTopic(this.options.name),
          payload: Buffer.from(JSON.stringify(describeBridge(status))),
          receivedAtMs: this.#services.now(),
          locationId: null,
          groupId: null,
        }),
      )
      .catch((error: unknown) => this.#log.warn({ err: error }, 'bridge status not stored'));
  }
}
