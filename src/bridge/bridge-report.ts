import type { Logger } from 'pino';
import { z } from 'zod';
import type { OutgoingPublish } from '../delivery/message.js';
import type { BRIDGE_FAULTS } from '../domain/faults/bridge-faults.js';
import { fault } from '../domain/faults/faults.js';
import { isJson } from '../domain/json.js';
import { isAlarmTopic } from '../domain/topics.js';
import type { BridgeError, BridgeStatus, DeadLetter } from '../site/bridge-list.js';
import type { Health } from '../site/health/health.js';
import { type ConnectionFailure, FAILURES } from './connection-failure.js';

/** Messages about an alarm carry its id; others keep what the device sent under `data`. */
const alarmSchema = z.object({ id: z.string() });

/** The parts of a bridge that can fail independently. */
const ASPECTS = ['missing', 'down', 'refused', 'hang-up', 'lag', 'commands'] as const;
type Aspect = (typeof ASPECTS)[number];

export interface BridgeReportOptions {
  readonly bridge: string;
  readonly health: Health;
  readonly log: Logger;
  readonly now: () => number;
}

/** Reports the state of one bridge: its status, its faults and its log lines. */
export class BridgeReport {
  readonly #options: BridgeReportOptions;
  #connectedSinceMs: number | null = null;
  #lastAcknowledgedAtMs: number | null = null;
  #lastError: BridgeError | null = null;
  /** Whether the upstream has refused an alarm, and taken none since. */
  #isRefusing = false;
  /** Kind and detail of the failure last logged since the bridge was connected. */
  #logged: string | undefined;

  constructor(options: BridgeReportOptions) {
    this.#options = options;
  }

  get status(): Pick<
    BridgeStatus,
    'state' | 'connected' | 'connectedSinceMs' | 'lastAcknowledgedAtMs' | 'lastError'
  > {
    return {
      state: this.#state,
      connected: this.#connectedSinceMs !== null,
      connectedSinceMs: this.#connectedSinceMs,
      lastAcknowledgedAtMs: this.#lastAcknowledgedAtMs,
      lastError: this.#lastError,
    };
  }

  /** The bridge is not in the configuration but has a queue. */
  missing(): void {
    const { log, now } = this.#options;
    this.#lastError = { atMs: now(), kind: 'missing', detail: 'It is not in the configuration.' };
    log.warn('bridge missing from the configuration, queue kept');
    this.#setFault('missing', 'bridgeMissing');
  }

  connected(): void {
    this.#connectedSinceMs = this.#options.now();
    this.#logged = undefined;
    this.#options.log.info('bridge connected');
    this.#setFault('down', undefined);
  }

  disconnected(): void {
    this.#connectedSinceMs = null;
  }

  /** @param topic of the message that the upstream has taken */
  acknowledged(topic: string): void {
    this.#lastAcknowledgedAtMs = this.#options.now();
    if (this.#isRefusing && isAlarmTopic(topic)) this.#setRefusing(false);
  }

  /** Notes a message that the upstream has refused, for now or for good. */
  refused(topic: string, reason: string): void {
    this.#lastError = { atMs: this.#options.now(), kind: 'refused', detail: reason };
    if (isAlarmTopic(topic)) this.#setRefusing(true);
  }

  /** Logs a failure, at debug level if it is the same as the last one. */
  failed({ kind, detail }: ConnectionFailure): void {
    const { log, now } = this.#options;
    this.#lastError = { atMs: now(), kind, detail };
    const failure = `${kind}: ${detail}`;
    const level = this.#logged === failure ? 'debug' : 'warn';
    this.#logged = failure;
    log[level]({ failure: kind, detail }, 'bridge down');
    this.#setFault('down', FAILURES[kind].fault);
  }

  deadLettered({ topic, reason }: DeadLetter): void {
    this.refused(topic, reason);
    this.#options.log.warn({ topic, reason }, 'message became a dead letter');
  }

  /** @param publish undefined when the upstream takes the message after all */
  hangsUpAt(publish: OutgoingPublish | undefined): void {
    if (publish === undefined) {
      this.#setFault('hang-up', undefined);
      return;
    }
    const { topic } = publish;
    const alarm = alarmIn(publish);
    this.#options.log.warn({ topic, alarm }, 'upstream closes the connection at a message');
    this.#setFault('hang-up', 'bridgeStuck');
  }

  commandsAnswered(areDenied: boolean): void {
    if (areDenied) this.#options.log.warn('upstream denied the subscription to commands');
    this.#setFault('commands', areDenied ? 'bridgeWithoutCommands' : undefined);
  }

  lagging(isLagging: boolean): void {
    this.#setFault('lag', isLagging ? 'bridgeLagging' : undefined);
  }

  /** Clears all faults of a bridge that has stopped. */
  clear(): void {
    for (const aspect of ASPECTS) this.#setFault(aspect, undefined);
  }

  get #state(): BridgeStatus['state'] {
    if (this.#isRefusing) return 'refusing';
    return this.#connectedSinceMs === null ? 'failing' : 'delivering';
  }

  #setRefusing(isRefusing: boolean): void {
    this.#isRefusing = isRefusing;
    this.#setFault('refused', isRefusing ? 'bridgeRefused' : undefined);
  }

  #setFault(aspect: Aspect, name: keyof typeof BRIDGE_FAULTS | undefined): void {
    const { bridge, health } = this.#options;
    const subject = { type: 'bridge', id: bridge, name: bridge } as const;
    health.report(`bridge/${bridge}/${aspect}`, name && { ...fault(name), subject });
  }
}

/** The id of the alarm that the message is about; undefined for another message. */
function alarmIn({ payload }: OutgoingPublish): string | undefined {
  const text = payload.toString();
  const message = alarmSchema.safeParse(isJson(text) ? JSON.parse(text) : undefined);
  return message.data?.id;
}
