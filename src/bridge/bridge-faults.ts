import { z } from 'zod';
import type { OutgoingPublish } from '../delivery/receiver.js';
import { isJson } from '../domain/notation.js';
import type { Health } from '../site/health.js';
import { type ConnectionFailure, FAILURES } from './connection-failure.js';

/** Messages about an alarm carry its id; others keep what the device sent under `data`. */
const alarmSchema = z.object({ id: z.string() });

/** Reports the faults of one bridge in `gateway/status`, each until it is over. */
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

  hangsUpAt(publish: OutgoingPublish | undefined): void {
    const message = publish && `a message under ${publish.topic}${alarmIn(publish)}`;
    const words = message && `cannot deliver ${message}: the upstream closes the connection at it`;
    this.#report('hang-up', words);
  }

  lagging(isLagging: boolean): void {
    const words = 'lags: its oldest message has waited for more than a minute';
    this.#report('lag', isLagging ? words : undefined);
  }

  commandsDenied(areDenied: boolean): void {
    const words = 'gets no commands: the upstream denies the subscription';
    this.#report('commands', areDenied ? words : undefined);
  }

  slowed(isSlowed: boolean): void {
    this.#report('pace', isSlowed ? 'is slowed: its upstream sends more than it may' : undefined);
  }

  /** Clears all faults of a bridge that has stopped. */
  clear(): void {
    this.down(undefined);
    this.hangsUpAt(undefined);
    this.lagging(false);
    this.commandsDenied(false);
    this.slowed(false);
  }

  #report(what: string, words: string | undefined): void {
    const fault = words && `bridge ${this.#name} ${words}`;
    this.#health.reportElsewhere(`bridge/${this.#name}/${what}`, fault);
  }
}

function alarmIn({ payload }: OutgoingPublish): string {
  const text = payload.toString();
  const message = alarmSchema.safeParse(isJson(text) ? JSON.parse(text) : undefined);
  return message.success ? ` (alarm ${message.data.id})` : '';
}
