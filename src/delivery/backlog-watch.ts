import type { Health } from '../site/health.js';
import type { Deliveries } from './deliveries.js';

const INTERVAL_MS = 10_000;
const FAULT = 'backlogs';
/** Consumers named in the fault; a subscriber long gone must not hide the others. */
const MAX_NAMED = 3;

/** Reports backlogs that are more than half full (CONTRACT 3). */
export class BacklogWatch {
  readonly #deliveries: Deliveries;
  readonly #health: Health;
  #timer: NodeJS.Timeout | undefined;

  constructor(deliveries: Deliveries, health: Health) {
    this.#deliveries = deliveries;
    this.#health = health;
  }

  start(): void {
    this.#timer = setInterval(() => this.#check(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const growing = [...this.#deliveries.consumers].filter(({ cursors, limits }) => {
      const { alarms, messages } = cursors;
      return alarms.queued + messages.queued > limits.maxQueued / 2;
    });
    this.#health.reportElsewhere(FAULT, faultOf(growing.map(({ name }) => name)));
  }
}

function faultOf(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const named = names.slice(0, MAX_NAMED).join(', ');
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return `queue growing, more than half full: ${named}${more}`;
}
