import type { Health } from '../site/health.js';
import type { Router } from './router.js';

const INTERVAL_MS = 10_000;
const FAULT = 'queues';
/** So many are named; a subscriber that nobody knows any more must not hide the others' faults. */
const MAX_NAMED = 3;

/** Says while there is still time that somebody's queue grows towards its bound (CONTRACT 3). */
export class QueueWatch {
  readonly #router: Router;
  readonly #health: Health;
  #timer: NodeJS.Timeout | undefined;

  constructor(router: Router, health: Health) {
    this.#router = router;
    this.#health = health;
  }

  start(): void {
    this.#timer = setInterval(() => this.#check(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const growing = [...this.#router.destinations].filter(({ cursors, limits }) => {
      return cursors.alarms.queued + cursors.messages.queued > limits.maxQueued / 2;
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
