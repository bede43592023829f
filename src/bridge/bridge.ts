/**
 * One bridge: its queue of forwarded messages, the connection to its upstream that it keeps up, and what people see of
 * it: status, faults, log.
 *
 * The queue is a session like any subscriber's: a message leaves it only when the upstream has acknowledged it
 * (contract 4.2).
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import type { QueueFigures } from '../delivery/accounts.js';
import type { OutgoingPublish } from '../delivery/message.js';
import type { DeliveryParts } from '../delivery/open.js';
import { Outlet } from '../delivery/outlet.js';
import type { SessionOwner } from '../delivery/sessions/session.js';
import type { BridgeOptions } from '../domain/bridge-schema.js';
import { selectedFilters } from '../domain/bridge-topics.js';
import { fault } from '../domain/fault.js';
import type { BridgeFaultName } from '../domain/faults.js';
import { isJson } from '../domain/json.js';
import { formatTime } from '../domain/time.js';
import { bridgeStatusTopic, isAlarmTopic } from '../domain/topics.js';
import type { Installation } from '../files.js';
import type { Foundation } from '../foundation.js';
import type { AuditTrail } from '../site/audit-trail.js';
import { pause, within } from '../site/clock/pause.js';
import type { DeadLetter, DeadLetterStoreRedis } from '../store/lists.js';
import {
  type ConnectionFailure,
  FAILURES,
  type FailureKind,
  failureOfFile,
  retryDelayMs,
} from './failures.js';
import { type CommandSink, Inbound } from './inbound.js';
import { Suspects } from './suspects.js';
import { Upstream } from './upstream.js';

const CHECK_INTERVAL_MS = 5_000;
const STATUS_INTERVAL_MS = 30_000;
const LAST_STATUS_TIMEOUT_MS = 1_000;
const END_TIMEOUT_MS = 2_000;
/** A connection that lasts this long works, even if there was nothing to send. */
const PROVEN_AFTER_MS = 10_000;
/** A queue whose oldest message waits longer has stopped moving, or grows too fast. */
const LAGGING_AFTER_MS = 60_000;

/** The parts of a bridge that can fail independently. */
const ASPECTS = ['missing', 'down', 'refused', 'hang-up', 'lag', 'commands'] as const;

/** Messages about an alarm carry its id; others keep what the device sent under `data`. */
const alarmSchema = z.object({ id: z.string() });

/** Status of a bridge, as HTTP and MQTT show it. */
export interface BridgeStatus extends QueueFigures {
  readonly name: string;
  /** Null while the bridge is missing from the configuration. */
  readonly url: string | null;
  /** Refusing: it has refused an alarm, and taken none since. */
  readonly state: 'delivering' | 'failing' | 'refusing';
  readonly connected: boolean;
  readonly connectedSince: string | null;
  /** When the upstream last acknowledged a message. */
  readonly lastAcknowledgedAt: string | null;
  /** The last failure, even if it is over. */
  readonly lastError: {
    readonly at: string;
    /** Kind of failure: `unreachable`, `credentials`, `tls`, … */
    readonly kind: string;
    /** The failure in the words of the upstream or the network. */
    readonly detail: string;
  } | null;
}

export interface BridgeServices
  extends Pick<Foundation, 'config' | 'health' | 'log' | 'now' | 'steady'>,
    Pick<DeliveryParts, 'sessions' | 'accounts' | 'forwarder' | 'retained'> {
  /** Distinguishes this gateway from others at the same upstream. */
  readonly installation: Installation;
  readonly deadLetters: DeadLetterStoreRedis;
  readonly audit: AuditTrail;
  readonly commands: CommandSink;
}

export class Bridge {
  readonly options: BridgeOptions;
  readonly #services: BridgeServices;
  readonly #log: Logger;
  readonly #outlet: Outlet;
  readonly #inbound: Inbound;
  readonly #suspects: Suspects;
  readonly #timers: NodeJS.Timeout[] = [];
  #isOpen = false;
  #isConnecting = false;
  #upstream: Upstream | undefined;
  #stopping: Promise<void> | undefined;
  #connectedSince: string | null = null;
  #lastAcknowledgedAt: string | null = null;
  #lastError: BridgeStatus['lastError'] = null;
  /** Whether the upstream has refused an alarm, and taken none since. */
  #isRefusing = false;
  /** Kind and detail of the failure last logged since the bridge was connected. */
  #logged: string | undefined;

  constructor(options: BridgeOptions, owner: SessionOwner, services: BridgeServices) {
    const { name } = options;
    this.options = options;
    this.#services = services;
    this.#log = services.log.child({ bridge: name });
    this.#inbound = new Inbound(options, services, this.#log);
    this.#suspects = new Suspects((publish) => this.#suspected(publish));
    const onDeadLetter = ({ topic, reason }: DeadLetter) => {
      this.#refused(topic, reason);
      this.#log.warn({ topic, reason }, 'message became a dead letter');
    };
    const outlet = { kind: 'bridge', name, owner, onDeadLetter } as const;
    this.#outlet = new Outlet(outlet, { ...services, log: this.#log });
  }

  /** How many messages wait for the upstream. */
  get queued(): number {
    return this.#outlet.queued;
  }

  /** Opens the queue: messages forwarded after this resolves wait for the upstream. A missing bridge keeps its filters. */
  async start(): Promise<void> {
    const { isMissing = false } = this.options;
    await this.#outlet.open(isMissing ? undefined : selectedFilters(this.options));
    this.#isOpen = true;
    if (this.#outlet.signal.aborted) return;
    this.#timers.push(setInterval(() => this.#announce(), STATUS_INTERVAL_MS));
    if (!isMissing) {
      this.#timers.push(setInterval(() => this.#checkBacklog(), CHECK_INTERVAL_MS));
      return;
    }
    this.#noteError('missing', 'It is not in the configuration.');
    this.#log.warn('bridge missing from the configuration, queue kept');
    this.#setFault('missing', 'bridgeMissing');
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
    const { accounts, steady } = this.#services;
    await accounts.refresh();
    const isConnected = this.#connectedSince !== null;
    const state = isConnected ? 'delivering' : 'failing';
    return {
      name,
      url: isMissing === true ? null : url,
      state: this.#isRefusing ? 'refusing' : state,
      connected: isConnected,
      connectedSince: this.#connectedSince,
      lastAcknowledgedAt: this.#lastAcknowledgedAt,
      lastError: this.#lastError,
      ...(await this.#outlet.figures(steady.wallTimeOf)),
    };
  }

  async #stop(): Promise<void> {
    this.#outlet.stop();
    for (const timer of this.#timers) clearInterval(timer);
    await this.#upstream?.end(END_TIMEOUT_MS);
    for (const aspect of ASPECTS) this.#setFault(aspect, undefined);
    await within(this.#announce(), LAST_STATUS_TIMEOUT_MS);
  }

  /** Keeps a connection to the upstream until the bridge stops. */
  async #run(): Promise<void> {
    const { signal } = this.#outlet;
    const isFixed = this.options.protocol !== undefined;
    let protocol: 4 | 5 = this.options.protocol === '3.1.1' ? 4 : 5;
    // Whether only this attempt uses 3.1.1.
    let isTryingOlder = false;
    let failedAttempts = 0;
    let last: FailureKind | undefined;
    while (!signal.aborted) {
      const wasOlder: boolean = isTryingOlder;
      const version = wasOlder ? 4 : protocol;
      const { failure, wasAccepted, isProven } = await this.#connectOnce(version, last);
      if (signal.aborted) return;
      // An old broker may answer MQTT 5 with a return code, or hang up before CONNACK. The code decides the version for
      // good. A hang-up may have any other reason, so only the next attempt uses 3.1.1.
      const maySwitch: boolean = !isFixed && !wasAccepted && !wasOlder;
      isTryingOlder = maySwitch && failure.kind === 'closed' && protocol === 5;
      if (maySwitch && failure.kind === 'protocol') {
        protocol = protocol === 5 ? 4 : 5;
        if (protocol === 4) {
          this.#log.info('upstream does not accept MQTT 5, retrying with 3.1.1');
          continue;
        }
        // An upstream that accepts neither version is retried with a backoff.
      }
      failedAttempts = isProven ? 1 : failedAttempts + 1;
      last = failure.kind;
      this.#failed(failure);
      // Soon after a hang-up: an upstream that recovers in between would get messages out of order.
      const attempts = this.#suspects.isHolding ? 1 : failedAttempts;
      await pause(retryDelayMs(last, attempts, Math.random()), signal);
    }
  }

  /**
   * Connects, and resolves when the connection is gone.
   *
   * @param last how the attempt before has failed
   * @returns why it is gone, and whether the upstream has accepted it, and shown that it works
   */
  async #connectOnce(protocol: 4 | 5, last: FailureKind | undefined) {
    const { options: bridge } = this;
    const { installation, config } = this.#services;
    // Two clients with the same id could acknowledge and take over for ever, and an upstream may refuse one message
    // while it takes others.
    const isAnswerProof = last !== 'taken-over' && last !== 'refused';
    let isProven = false;
    let timer: NodeJS.Timeout | undefined;
    const options = {
      bridge,
      protocol,
      clientId: bridge.clientId ?? `care-home-gateway-${installation.name}-${bridge.name}`,
      maxPacketBytes: config.mqtt.maxPacketBytes,
      // The upstream's session may hold the packet, and would start with it again.
      forgetsSession: last === 'packet-too-large',
      outlet: this.#outlet,
      inbound: this.#inbound,
      suspects: this.#suspects,
    };
    const opening = Upstream.open(options, {
      connected: () => {
        timer = setTimeout(() => {
          isProven = true;
          this.#suspects.clear();
        }, PROVEN_AFTER_MS);
        this.#connected();
      },
      acknowledged: (topic) => {
        isProven ||= isAnswerProof;
        this.#lastAcknowledgedAt = this.#time();
        if (this.#isRefusing && isAlarmTopic(topic)) this.#setRefusing(false);
      },
      refused: (topic, reason) => this.#refused(topic, reason),
      commandsAnswered: (areDenied) => this.#commandsAnswered(areDenied),
    });
    const upstream = await opening.catch(failureOfFile);
    if (!(upstream instanceof Upstream)) {
      return { failure: upstream, wasAccepted: false, isProven };
    }
    this.#upstream = upstream;
    if (this.#outlet.signal.aborted) await upstream.end(0);
    const failure = await upstream.closed;
    clearTimeout(timer);
    this.#upstream = undefined;
    const { wasAccepted } = upstream;
    this.#suspects.ended(wasAccepted);
    this.#connectedSince = null;
    return { failure, wasAccepted, isProven };
  }

  #connected(): void {
    this.#connectedSince = this.#time();
    this.#logged = undefined;
    this.#log.info('bridge connected');
    this.#setFault('down', undefined);
    this.#announce();
  }

  /** Logs a failure, at debug level if it is the same as the last one. */
  #failed({ kind, detail }: ConnectionFailure): void {
    this.#noteError(kind, detail);
    const failure = `${kind}: ${detail}`;
    const level = this.#logged === failure ? 'debug' : 'warn';
    this.#logged = failure;
    this.#log[level]({ failure: kind, detail }, 'bridge down');
    this.#setFault('down', FAILURES[kind].fault);
    this.#announce();
  }

  /** Notes a message that the upstream has refused, for now or for good. */
  #refused(topic: string, reason: string): void {
    this.#noteError('refused', reason);
    if (isAlarmTopic(topic)) this.#setRefusing(true);
  }

  #setRefusing(isRefusing: boolean): void {
    this.#isRefusing = isRefusing;
    this.#setFault('refused', isRefusing ? 'bridgeRefused' : undefined);
  }

  /** @param publish undefined when the upstream takes the message after all */
  #suspected(publish: OutgoingPublish | undefined): void {
    if (publish !== undefined) {
      const { topic } = publish;
      const alarm = alarmIn(publish);
      this.#log.warn({ topic, alarm }, 'upstream closes the connection at a message');
    }
    this.#setFault('hang-up', publish && 'bridgeStuck');
  }

  #commandsAnswered(areDenied: boolean): void {
    if (areDenied) this.#log.warn('upstream denied the subscription to commands');
    this.#setFault('commands', areDenied ? 'bridgeWithoutCommands' : undefined);
  }

  /** Reports a lagging queue, even while connected: if the connection comes and goes, the queue may not move. */
  async #checkBacklog(): Promise<void> {
    const oldestMs = await this.#outlet.oldestReceivedAtMs();
    if (oldestMs === undefined || this.#outlet.signal.aborted) return;
    const isLagging =
      oldestMs !== null && oldestMs < this.#services.steady.now() - LAGGING_AFTER_MS;
    this.#setFault('lag', isLagging ? 'bridgeLagging' : undefined);
  }

  #time(): string {
    return formatTime(this.#services.now());
  }

  #noteError(kind: string, detail: string): void {
    this.#lastError = { at: this.#time(), kind, detail };
  }

  #setFault(aspect: (typeof ASPECTS)[number], name: BridgeFaultName | undefined): void {
    const bridge = this.options.name;
    const subject = { type: 'bridge', id: bridge, name: bridge } as const;
    this.#services.health.report(`bridge/${bridge}/${aspect}`, name && { ...fault(name), subject });
  }

  async #announce(): Promise<void> {
    const status = await this.status();
    await this.#services.forwarder.announce({
      topic: bridgeStatusTopic(this.options.name),
      payload: Buffer.from(JSON.stringify(status)),
      locationId: null,
      groupId: null,
    });
  }
}

/** The id of the alarm that the message is about; undefined for another message. */
function alarmIn({ payload }: OutgoingPublish): string | undefined {
  const text = payload.toString();
  const message = alarmSchema.safeParse(isJson(text) ? JSON.parse(text) : undefined);
  return message.data?.id;
}
