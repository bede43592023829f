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
import type { RateLimits } from '../domain/limits.js';
import { bridgeStatusTopic } from '../domain/topics.js';
import type { AuditTrail } from '../site/audit-trail.js';
import {
  type BridgeStatus,
  type DeadLetter,
  type DeadLetterStore,
  describeBridge,
} from '../site/bridge-list.js';
import { within } from '../site/clock/pause.js';
import type { Health } from '../site/health/health.js';
import { BridgeReport } from './bridge-report.js';
import { HANG_UP_LIMITS, type HangUpLimits, HangUps } from './hang-ups.js';
import { type CommandSink, Inbound } from './inbound.js';
import type { Upstream } from './upstream.js';
import { UpstreamLink } from './upstream-link.js';

const CHECK_INTERVAL_MS = 5_000;
const STATUS_INTERVAL_MS = 30_000;
const LAST_STATUS_TIMEOUT_MS = 1_000;
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
  /** How fast an upstream may send commands: as fast as an access token. */
  readonly commandLimits: RateLimits;
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
  readonly #link: UpstreamLink;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #outlet: Outlet;
  readonly #inbound: Inbound;
  #isOpen = false;
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
    const clientId =
      options.clientId ?? `care-home-gateway-${services.installation}-${options.name}`;
    const { commands, commandLimits: limits, maxPacketBytes } = services;
    const inbound = new Inbound(options, {
      commands,
      limits,
      maxPacketBytes,
      log: this.#log,
      steadyNow: services.now,
    });
    this.#inbound = inbound;
    this.#link = new UpstreamLink(
      options,
      { clientId, maxPacketBytes },
      new HangUps(services.hangUpLimits ?? HANG_UP_LIMITS, (publish) => report.hangsUpAt(publish)),
      {
        connected: (upstream) => this.#connected(upstream),
        writable: () => outlet.wake(),
        acknowledged: (publish) => this.#acknowledged(publish),
        refused: (publish, reason) => report.refused(publish.topic, reason),
        // At QoS 0 it is sent but once, whatever the upstream says.
        deadLettered: (publish, reason) => {
          if (publish.messageId > 0) outlet.deadLetter(publish, reason);
        },
        received: (packet) => inbound.accept(packet),
        commandsAnswered: (areDenied) => report.commandsAnswered(areDenied),
        downgraded: () => this.#log.info('upstream does not accept MQTT 5, retrying with 3.1.1'),
        disconnected: (upstream) => this.#disconnected(upstream),
        failed: (failure) => {
          report.failed(failure);
          this.#announce();
        },
      },
    );
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
    if (this.options.isMissing !== true) this.#link.start();
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
    await this.#link.stop();
    this.#report.clear();
    await within(this.#announce(), LAST_STATUS_TIMEOUT_MS);
  }

  #connected(upstream: Upstream): void {
    this.#report.connected();
    this.#outlet.connect(upstream);
    this.#announce();
  }

  #disconnected(upstream: Upstream): void {
    this.#report.disconnected();
    this.#outlet.disconnect(upstream);
  }

  #acknowledged({ topic, messageId }: OutgoingPublish): void {
    this.#report.acknowledged(topic);
    this.#outlet.acknowledge(messageId);
  }

  /**
   * Reports a slowed upstream and a lagging queue, even while connected.
   *
   * If the connection comes and goes, the queue may not move.
   */
  async #checkBacklog(): Promise<void> {
    this.#report.slowed(this.#inbound.isSlowing);
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
