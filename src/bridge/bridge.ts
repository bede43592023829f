import type { Logger } from 'pino';
import type { AccountReader } from '../delivery/accounts.js';
import type { Forwarder } from '../delivery/forwarder.js';
import type { OutgoingPublish } from '../delivery/message.js';
import { Outlet } from '../delivery/outlet.js';
import type { RetainedMessages } from '../delivery/retained.js';
import type { SessionOwner } from '../delivery/sessions/session.js';
import type { Sessions } from '../delivery/sessions/sessions.js';
import type { BridgeOptions } from '../domain/bridge-schema.js';
import { selectedFilters } from '../domain/bridge-topics.js';
import { bridgeStatusTopic } from '../domain/topics.js';
import type { AuditTrail } from '../site/audit-trail.js';
import {
  type BridgeStatus,
  type DeadLetter,
  type DeadLetterStore,
  describeBridge,
} from '../site/bridge-list.js';
import { pause, within } from '../site/clock/pause.js';
import type { Health } from '../site/health/health.js';
import { BridgeReport } from './bridge-report.js';
import { clientOptions, maxGatheredBytes } from './client-options.js';
import {
  type ConnectionFailure,
  codeOf,
  type FailureKind,
  retryDelayMs,
} from './connection-failure.js';
import { HANG_UP_LIMITS, type HangUpLimits, HangUps } from './hang-ups.js';
import { type CommandSink, Inbound } from './inbound.js';
import { type ProtocolVersion, Upstream } from './upstream.js';

const CHECK_INTERVAL_MS = 5_000;
const STATUS_INTERVAL_MS = 30_000;
const LAST_STATUS_TIMEOUT_MS = 1_000;
const END_TIMEOUT_MS = 2_000;
/** MQTT 3.1.1 in a CONNECT. */
const OLDER = 4;
/** A connection that lasts this long works, even if there was nothing to send. */
const PROVEN_AFTER_MS = 10_000;
/** A queue whose oldest message waits longer has stopped moving, or grows too fast. */
const LAGGING_AFTER_MS = 60_000;

export interface BridgeServices {
  /** Distinguishes this gateway from others at the same upstream. */
  readonly installation: string;
  readonly sessions: Sessions;
  readonly accounts: Pick<AccountReader, 'refresh'>;
  readonly forwarder: Pick<Forwarder, 'announce'>;
  readonly retained: Pick<RetainedMessages, 'remove'>;
  readonly health: Health;
  readonly deadLetters: DeadLetterStore;
  readonly audit: AuditTrail;
  readonly commands: CommandSink;
  /** `mqtt.maxPacketBytes`, for packets from upstream too. */
  readonly maxPacketBytes: number;
  readonly log: Logger;
  readonly now: () => number;
  /** Undefined: `HANG_UP_LIMITS`. */
  readonly hangUpLimits?: HangUpLimits;
  /** Clock for ages. */
  readonly steadyNow: () => number;
  /** Converts a steady time to the wall time that people see. */
  readonly wallTimeOf: (steadyMs: number) => number;
}

/**
 * Sends one queue of forwarded messages to one upstream broker.
 * The queue is a session like any subscriber's: a message leaves it only when the upstream has acknowledged it
 * (docs/reference/contract.md, 4.2).
 */
export class Bridge {
  readonly options: BridgeOptions;
  readonly #services: BridgeServices;
  readonly #log: Logger;
  readonly #report: BridgeReport;
  readonly #hangUps: HangUps;
  readonly #clientId: string;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #outlet: Outlet;
  readonly #inbound: Inbound;
  #isOpen = false;
  #upstream: Upstream | undefined;
  #protocol: ProtocolVersion;
  /** Whether the next attempt uses 3.1.1: the upstream hung up on MQTT 5. */
  #isTryingOlder = false;
  #failedAttempts = 0;
  #lastFailure: FailureKind | undefined;
  #isConnecting = false;
  #stopping: Promise<void> | undefined;

  constructor(options: BridgeOptions, owner: SessionOwner, services: BridgeServices) {
    this.options = options;
    this.#services = services;
    this.#log = services.log.child({ bridge: options.name });
    const { health, now } = services;
    const report = new BridgeReport({ bridge: options.name, health, log: this.#log, now });
    this.#report = report;
    const onDeadLetter = (letter: DeadLetter) => report.deadLettered(letter);
    const outlet = new Outlet(
      { kind: 'bridge', name: options.name, owner, onDeadLetter },
      { ...services, log: this.#log },
    );
    this.#outlet = outlet;
    this.#protocol = options.protocol === '3.1.1' ? OLDER : 5;
    this.#clientId =
      options.clientId ?? `care-home-gateway-${services.installation}-${options.name}`;
    const limits = services.hangUpLimits ?? HANG_UP_LIMITS;
    this.#hangUps = new HangUps(limits, (publish) => report.hangsUpAt(publish));
    const { commands, maxPacketBytes, steadyNow } = services;
    this.#inbound = new Inbound(options, { commands, maxPacketBytes, steadyNow, log: this.#log });
  }

  /** How many messages wait for the upstream. */
  get queued(): number {
    return this.#outlet.queued;
  }

  /** Opens the queue: messages forwarded after this resolves wait for the upstream. A missing bridge keeps its filters. */
  async start(): Promise<void> {
    const { isMissing } = this.options;
    await this.#outlet.open(isMissing === true ? undefined : selectedFilters(this.options));
    this.#isOpen = true;
    if (this.#outlet.signal.aborted) return;
    this.#timers.push(setInterval(() => this.#announce(), STATUS_INTERVAL_MS));
    if (isMissing === true) this.#report.missing();
    else this.#timers.push(setInterval(() => this.#checkBacklog(), CHECK_INTERVAL_MS));
  }

  /** Connects after `start`, and reconnects until `stop`; a missing bridge only announces itself. */
  connect(): void {
    if (!this.#isOpen || this.#isConnecting || this.#outlet.signal.aborted) return;
    this.#isConnecting = true;
    this.#announce();
    if (this.options.isMissing !== true) void this.#run();
  }

  /** Waits briefly for acknowledgements of messages in flight. The queue stays. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async status(): Promise<BridgeStatus> {
    const { name, url, isMissing } = this.options;
    await this.#services.accounts.refresh();
    return {
      name,
      url: isMissing === true ? null : url,
      ...this.#report.status,
      ...(await this.#outlet.figures(this.#services.wallTimeOf)),
    };
  }

  async #stop(): Promise<void> {
    this.#outlet.stop();
    for (const timer of this.#timers) clearInterval(timer);
    const upstream = this.#upstream;
    if (upstream !== undefined) {
      await upstream.end(END_TIMEOUT_MS);
      this.#outlet.disconnect(upstream);
    }
    this.#report.clear();
    await within(this.#announce(), LAST_STATUS_TIMEOUT_MS);
  }

  /** Keeps a connection to the upstream until the bridge stops. */
  async #run(): Promise<void> {
    const { signal } = this.#outlet;
    while (!signal.aborted) {
      const wasOlder = this.#isTryingOlder;
      const { failure, wasAccepted } = await this.#connectOnce();
      if (signal.aborted) return;
      this.#isTryingOlder = false;
      if (!wasAccepted && this.#triesOther(failure, wasOlder)) continue;
      this.#failedAttempts++;
      this.#lastFailure = failure.kind;
      this.#report.failed(failure);
      void this.#announce();
      // Soon after a hang-up: an upstream that recovers in between would get messages out of order.
      const attempts = this.#hangUps.held > 0 ? 1 : this.#failedAttempts;
      await pause(retryDelayMs(failure.kind, attempts, Math.random()), signal);
    }
  }

  /** Connects, and resolves when the connection is gone. */
  async #connectOnce(): Promise<{ failure: ConnectionFailure; wasAccepted: boolean }> {
    let upstream: Upstream;
    try {
      upstream = await this.#open();
    } catch (error) {
      // A file that cannot be read, or is not a certificate.
      return { failure: { kind: 'tls', detail: codeOf(error) }, wasAccepted: false };
    }
    this.#upstream = upstream;
    if (this.#outlet.signal.aborted) await upstream.end(0);
    const failure = await upstream.closed;
    this.#upstream = undefined;
    const { wasAccepted } = upstream;
    if (wasAccepted) this.#hangUps.nextConnection();
    else this.#hangUps.notConnected();
    if (wasAccepted) {
      this.#report.disconnected();
      this.#outlet.disconnect(upstream);
    }
    return { failure, wasAccepted };
  }

  async #open(): Promise<Upstream> {
    const { maxPacketBytes } = this.#services;
    const { options: bridge } = this;
    const protocol = this.#isTryingOlder ? OLDER : this.#protocol;
    // The upstream's session may hold the packet, and would start with it again.
    const forgets = this.#lastFailure === 'packet-too-large';
    const gathered = maxGatheredBytes(maxPacketBytes);
    const client = await clientOptions(bridge, this.#clientId, maxPacketBytes, protocol, forgets);
    const settings = { bridge, client, protocol, maxGatheredBytes: gathered };
    const upstream: Upstream = new Upstream(
      { ...settings, hangUps: this.#hangUps },
      {
        connected: () => this.#connected(upstream),
        writable: () => this.#outlet.wake(),
        acknowledged: (publish) => this.#acknowledged(publish),
        refused: (publish, reason) => this.#report.refused(publish.topic, reason),
        // At QoS 0 it is sent but once, whatever the upstream says.
        deadLettered: (publish, reason) => {
          if (publish.messageId > 0) this.#outlet.deadLetter(publish, reason);
        },
        received: (packet) => this.#inbound.accept(packet),
        commandsAnswered: (areDenied) => this.#report.commandsAnswered(areDenied),
      },
    );
    return upstream;
  }

  #connected(upstream: Upstream): void {
    this.#report.connected();
    this.#outlet.connect(upstream);
    void this.#announce();
    const timer = setTimeout(() => {
      this.#failedAttempts = 0;
      this.#hangUps.clear();
    }, PROVEN_AFTER_MS);
    void upstream.closed.then(() => clearTimeout(timer));
  }

  #acknowledged({ topic, messageId }: OutgoingPublish): void {
    // Two clients with the same id could acknowledge and take over for ever, and an upstream may refuse one message while
    // it takes others.
    const isProof = this.#lastFailure !== 'taken-over' && this.#lastFailure !== 'refused';
    if (isProof) this.#failedAttempts = 0;
    this.#report.acknowledged(topic);
    this.#outlet.acknowledge(messageId);
  }

  /**
   * Speaks 3.1.1 to an upstream that does not know MQTT 5. Returns whether to connect again at once.
   *
   * An old broker may answer MQTT 5 with a return code, or hang up before CONNACK. A return code decides the version for
   * good. A hang-up may have any other reason, so only the next attempt uses 3.1.1.
   */
  #triesOther({ kind }: ConnectionFailure, wasOlder: boolean): boolean {
    if (this.options.protocol !== undefined) return false;
    if (kind === 'closed' && this.#protocol === 5) this.#isTryingOlder = !wasOlder;
    if (kind !== 'protocol' || wasOlder) return false;
    this.#protocol = this.#protocol === 5 ? OLDER : 5;
    // An upstream that accepts neither version is retried with a backoff.
    if (this.#protocol === 5) return false;
    this.#log.info('upstream does not accept MQTT 5, retrying with 3.1.1');
    return true;
  }

  /** Reports a lagging queue, even while connected: if the connection comes and goes, the queue may not move. */
  async #checkBacklog(): Promise<void> {
    const oldestMs = await this.#outlet.oldestReceivedAtMs();
    if (oldestMs === undefined || this.#outlet.signal.aborted) return;
    const longAgoMs = this.#services.steadyNow() - LAGGING_AFTER_MS;
    this.#report.lagging(oldestMs !== null && oldestMs < longAgoMs);
  }

  async #announce(): Promise<void> {
    const status = await this.status();
    await this.#services.forwarder.announce({
      topic: bridgeStatusTopic(this.options.name),
      payload: Buffer.from(JSON.stringify(describeBridge(status))),
      locationId: null,
      groupId: null,
    });
  }
}
