import type { Logger } from 'pino';
import type { BridgeError, BridgeStatus, DeadLetter } from '../site/bridge-list.js';
import { type ConnectionFailure, FAILURES } from './connection-failure.js';

type ConnectionState = Pick<
  BridgeStatus,
  'connected' | 'connectedSinceMs' | 'lastAcknowledgedAtMs' | 'lastError'
>;

/** Keeps the state of a bridge's connection, and logs each failure once. */
export class BridgeRecord {
  readonly #log: Logger;
  readonly #now: () => number;
  #connectedSinceMs: number | null = null;
  #lastAcknowledgedAtMs: number | null = null;
  #lastError: BridgeError | null = null;
  /** Kind and detail of the failure last logged since the bridge was connected. */
  #reported: string | undefined;

  constructor(log: Logger, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  get state(): ConnectionState {
    return {
      connected: this.#connectedSinceMs !== null,
      connectedSinceMs: this.#connectedSinceMs,
      lastAcknowledgedAtMs: this.#lastAcknowledgedAtMs,
      lastError: this.#lastError,
    };
  }

  connected(): void {
    this.#connectedSinceMs = this.#now();
    this.#reported = undefined;
    this.#log.info('bridge connected');
  }

  disconnected(): void {
    this.#connectedSinceMs = null;
  }

  acknowledged(): void {
    this.#lastAcknowledgedAtMs = this.#now();
  }

  failed({ kind, detail }: ConnectionFailure): void {
    this.#lastError = { atMs: this.#now(), kind, detail };
    const failure = `${kind}: ${detail}`;
    const level = this.#reported === failure ? 'debug' : 'warn';
    this.#reported = failure;
    this.#log[level]({ failure: kind, detail }, `bridge down: ${FAILURES[kind].words}`);
  }

  deadLettered({ topic, reason }: DeadLetter): void {
    this.#lastError = { atMs: this.#now(), kind: 'refused', detail: reason };
    this.#log.warn({ topic, reason }, 'message became a dead letter');
  }
}
