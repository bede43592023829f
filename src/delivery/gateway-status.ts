import { type Fault, faultWords, withoutRepeats } from '../domain/fault.js';
import { formatTime } from '../domain/time.js';
import { GATEWAY_STATUS_TOPIC } from '../domain/topics.js';
import { within } from '../site/clock/pause.js';
import type { Health } from '../site/health/health.js';
import type { Forwarder } from './forwarder.js';

const INTERVAL_MS = 30_000;
/** A store that is away must not delay the gateway's stop. */
const STOP_TIMEOUT_MS = 1_000;

/** Publishes the retained `gateway/status`: every 30 s, whenever the faults change, and on stop. */
export class GatewayStatus {
  readonly #forwarder: Forwarder;
  readonly #health: Health;
  readonly #version: string;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  readonly #announceNow = () => void this.#announce(true);

  constructor(forwarder: Forwarder, health: Health, version: string, now: () => number) {
    this.#forwarder = forwarder;
    this.#health = health;
    this.#version = version;
    this.#now = now;
  }

  start(): void {
    this.#timer = setInterval(this.#announceNow, INTERVAL_MS);
    this.#health.on('changed', this.#announceNow);
    this.#announceNow();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#health.off('changed', this.#announceNow);
    await within(this.#announce(false), STOP_TIMEOUT_MS);
  }

  async #announce(online: boolean): Promise<void> {
    const status = {
      online,
      at: formatTime(this.#now()),
      version: this.#version,
      faults: withoutRepeats(this.#health.shown().map(withoutSubject)),
    };
    await this.#forwarder.announce({
      topic: GATEWAY_STATUS_TOPIC,
      payload: Buffer.from(JSON.stringify(status)),
      locationId: null,
      groupId: null,
    });
  }
}

/** All readers get the same payload, but not all may see every subject. */
function withoutSubject(fault: Fault) {
  const { code, stops, since } = fault;
  return { code, stops, message: faultWords(fault, 'en').message, since };
}
