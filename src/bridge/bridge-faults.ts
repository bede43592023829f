import type { Health } from '../site/health.js';
import type { ConnectionFailure } from './connection-failure.js';
import { FAILURES } from './connection-failure.js';

/** What is wrong with a bridge, as `gateway/status` shows it: each for itself, until it is over. */
export class BridgeFaults {
  readonly #name: string;
  readonly #health: Health;

  constructor(name: string, health: Health) {
    this.#name = name;
    this.#health = health;
  }

  down(failure: ConnectionFailure | undefined): void {
    this.#report('down', failure && `is down: ${FAILURES[failure.kind].words}`);
  }

  behind(isBehind: boolean): void {
    const words = 'is behind: its oldest message has waited for more than a minute';
    this.#report('behind', isBehind ? words : undefined);
  }

  commandsRefused(areRefused: boolean): void {
    const words = 'gets no commands: the upstream refuses the subscription';
    this.#report('commands', areRefused ? words : undefined);
  }

  /** The bridge is no more, or not for now. */
  clear(): void {
    this.down(undefined);
    this.behind(false);
    this.commandsRefused(false);
  }

  #report(what: string, words: string | undefined): void {
    const fault = words && `bridge ${this.#name} ${words}`;
    this.#health.reportElsewhere(`bridge/${this.#name}/${what}`, fault);
  }
}
