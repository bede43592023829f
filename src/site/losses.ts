import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type FaultReport, warning } from '../domain/faults.js';
import { formatTime } from '../domain/notation.js';
import { GatewayError } from '../errors.js';
import type { Actor, AuditTrail } from './audit-trail.js';
import type { Health } from './health.js';

/** The kinds of loss: everything, or numbered entries of one kind. */
export const LOSS_KINDS = ['store', 'alarms', 'messages', 'audit'] as const;
export type LossKind = (typeof LOSS_KINDS)[number];

/** A loss: something acknowledged that the store no longer has. */
export interface LossDetails {
  readonly what: LossKind;
  /** The first and last missing number; null for losses without numbers. */
  readonly from: number | null;
  readonly to: number | null;
  /** The largest possible number of missing entries; null when unknown. */
  readonly count: number | null;
  /** A sentence for the administrator. */
  readonly detail: string;
}

/** A reported loss, kept after an administrator has acknowledged it. */
export interface Loss extends LossDetails {
  readonly id: string;
  readonly detectedAtMs: number;
  readonly acknowledgedAtMs: number | null;
  /** The id of the access token; null until acknowledged. */
  readonly acknowledgedBy: string | null;
}

/** Keeps losses across restarts. */
export interface LossStore {
  load(): Promise<Loss[]>;
  save(losses: readonly Loss[]): Promise<void>;
}

export interface LossesOptions {
  readonly store: LossStore;
  readonly audit: AuditTrail;
  readonly health: Pick<Health, 'report'>;
  readonly log: Logger;
  readonly now: () => number;
}

/** Beyond this the oldest go: a store with a loss every second must not fill the disk. */
const MAX_KEPT = 1000;

const NAMES: Readonly<Record<LossKind, string>> = {
  store: 'everything stored',
  alarms: 'alarms',
  messages: 'other messages',
  audit: 'audit records',
};

/**
 * Keeps the store's losses, each a fault until acknowledged (CONTRACT 4.7).
 *
 * The gateway goes on and stays ready: nobody can bring back a lost alarm, but somebody may have to look
 * after the person who pressed the button.
 */
export class Losses {
  readonly #options: LossesOptions;
  /** The oldest first. */
  #losses: readonly Loss[] = [];
  #isKept = true;
  #acknowledging: Promise<unknown> = Promise.resolve();

  constructor(options: LossesOptions) {
    this.#options = options;
  }

  async load(): Promise<void> {
    this.#losses = await this.#options.store.load();
    this.#showFaults();
  }

  /** Raises the fault at once; the loss is stored soon after. */
  report(details: LossDetails): void {
    const { log, now } = this.#options;
    const loss: Loss = {
      ...details,
      id: randomUUID(),
      detectedAtMs: now(),
      acknowledgedAtMs: null,
      acknowledgedBy: null,
    };
    log.error({ loss }, 'the store has lost acknowledged data');
    this.#change([...this.#losses, loss].slice(-MAX_KEPT));
  }

  /** Stores the reported losses, unless they are stored already. */
  async keep(): Promise<void> {
    if (this.#isKept) return;
    const losses = this.#losses;
    await this.#options.store.save(losses);
    this.#isKept = this.#losses === losses;
  }

  /** Lists them, the newest first. */
  list(): readonly Loss[] {
    return this.#losses.toReversed();
  }

  /**
   * Marks a loss as seen by the administrator; does nothing when it already is.
   *
   * @throws GatewayError `loss-not-found`, `store-unavailable`
   */
  acknowledge(actor: Actor, id: string): Promise<Loss> {
    // One at a time, so that of two at once the second finds the loss acknowledged.
    const acknowledged = this.#acknowledging.then(() => this.#acknowledge(actor, id));
    // The caller gets the error; the next call goes ahead all the same.
    this.#acknowledging = acknowledged.catch(() => undefined);
    return acknowledged;
  }

  async #acknowledge(actor: Actor, id: string): Promise<Loss> {
    const { audit, now } = this.#options;
    const loss = this.#losses.find((one) => one.id === id);
    if (loss === undefined) throw new GatewayError('loss-not-found', 'There is no such loss.');
    if (loss.acknowledgedAtMs !== null) return loss;
    const atMs = now();
    const { what, from, to, count } = loss;
    const details = { what, from: textOrNull(from), to: textOrNull(to), count: textOrNull(count) };
    await audit.record([
      { action: 'loss.acknowledged', actor, atMs, locationId: null, resourceId: id, details },
    ]);
    const seen: Loss = { ...loss, acknowledgedAtMs: atMs, acknowledgedBy: actor.id };
    this.#change(this.#losses.map((one) => (one.id === id ? seen : one)));
    return seen;
  }

  #change(losses: readonly Loss[]): void {
    this.#losses = losses;
    this.#isKept = false;
    this.#showFaults();
  }

  #showFaults(): void {
    for (const kind of LOSS_KINDS) {
      const unseen = this.#losses.filter(
        ({ what, acknowledgedAtMs }) => what === kind && acknowledgedAtMs === null,
      );
      this.#options.health.report(`loss of ${kind}`, faultOf(kind, unseen));
    }
  }
}

/** One fault for any number of losses, as faults are shown to everybody, again and again. */
function faultOf(kind: LossKind, unseen: readonly Loss[]): FaultReport | undefined {
  const newest = unseen.at(-1);
  if (newest === undefined) return undefined;
  const range = rangeOf(unseen);
  const total = unseen.reduce((sum, { count }) => sum + (count ?? 0), 0);
  const howMany = total > 0 ? `up to ${total} ${NAMES[kind]}` : NAMES[kind];
  const times = unseen.length > 1 ? `, in ${unseen.length} incidents` : '';
  const at = formatTime(newest.detectedAtMs);
  const message = `The store has lost ${howMany}${range}${times}, noticed at ${at}: see GET /losses, and acknowledge there.`;
  return warning('store-lost-data', message);
}

function rangeOf(losses: readonly Loss[]): string {
  const first = losses.map(({ from }) => from).filter((from) => from !== null);
  const last = losses.map(({ to }) => to).filter((to) => to !== null);
  if (last.length === 0) return '';
  const isKnown = first.length === last.length;
  return ` (numbers ${isKnown ? `${Math.min(...first)} to` : 'up to'} ${Math.max(...last)})`;
}

function textOrNull(value: number | null): string | null {
  return value === null ? null : String(value);
}
