import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { AccountReader, QueueFigures } from '../delivery/accounts.js';
import type { DeliveryParts } from '../delivery/open.js';
import { deadLetterKey } from '../delivery/outlet.js';
import type { Sessions } from '../delivery/sessions/sessions.js';
import { fault, type Phrase } from '../domain/fault.js';
import { newId } from '../domain/ids.js';
import type { WebhookOptions } from '../domain/output-schema.js';
import { formatTime } from '../domain/time.js';
import { GatewayError } from '../errors.js';
import type { Installation } from '../files.js';
import type { Foundation } from '../foundation.js';
import { inTurn } from '../releasers.js';
import type { Actor, AuditTrail } from '../site/audit-trail.js';
import type { Health } from '../site/health/health.js';
import type { DeadLetterStoreRedis } from '../store/lists.js';
import { Webhook } from './webhook.js';

export interface OutputsOptions {
  readonly installation: string;
  readonly sessions: Sessions;
  readonly accounts: Pick<AccountReader, 'refresh'>;
  readonly deadLetters: DeadLetterStoreRedis;
  readonly audit: AuditTrail;
  readonly health: Pick<Health, 'report'>;
  readonly log: Logger;
  readonly now: () => number;
  /** Converts a steady time to the wall time that people see. */
  readonly wallTimeOf: (steadyMs: number) => number;
}

/** Status of a webhook. */
export interface OutputStatus extends QueueFigures {
  readonly name: string;
  readonly type: 'webhook';
  /** The host of its URL. */
  readonly host: string;
  /** Failing: nothing can be delivered now. Refusing: it has refused an alarm, and taken none since. */
  readonly state: 'delivering' | 'failing' | 'refusing';
  /** The last failure of this run, even if it is over. */
  readonly lastError: { readonly at: string; readonly detail: string } | null;
}

/** How many dead letters were sent again, and why no more were; null: none is left. */
export interface SentAgain {
  readonly sent: number;
  readonly reason: string | null;
}

interface Running {
  readonly webhook: Webhook;
  lastError: OutputStatus['lastError'];
}

const BUSY = 'they are being sent already';
const FAULTS = ['webhookFailing', 'webhookRefusing'] as const;

/** Runs the webhooks of the configuration. */
export class Outputs {
  readonly #options: OutputsOptions;
  readonly #running = new Map<string, Running>();
  readonly #inTurn = inTurn();
  #mayConnect = false;
  /** Webhooks whose dead letters are being resent. */
  readonly #resending = new Set<string>();

  constructor(options: OutputsOptions) {
    this.#options = options;
  }

  /**
   * Starts, stops and replaces webhooks that differ from the configuration.
   *
   * Messages forwarded after this resolves wait for the receivers. A replaced webhook keeps its queue. That of a removed
   * one stays until the next start, and is then forgotten like that of a subscriber who stays away.
   */
  apply(configured: readonly WebhookOptions[]): Promise<void> {
    return this.#inTurn(async () => {
      const isSame = (options: WebhookOptions) =>
        isDeepStrictEqual(this.#running.get(options.name)?.webhook.options, options);
      const kept = new Set(configured.filter(isSame).map(({ name }) => name));
      for (const [name, { webhook }] of this.#running) {
        if (kept.has(name)) continue;
        webhook.stop();
        this.#running.delete(name);
        for (const kind of FAULTS) this.#report(name, kind, undefined);
      }
      for (const options of configured) if (!kept.has(options.name)) await this.#start(options);
    });
  }

  async #start(options: WebhookOptions): Promise<void> {
    const { installation, sessions, deadLetters, log, now } = this.#options;
    const { name } = options;
    const onFailing = (reason: Phrase | undefined) => this.#failing(name, reason);
    const onRefusing = (reason: Phrase | undefined) => this.#refusing(name, reason);
    const onDeadLetter = (reason: Phrase) => this.#noteError(name, reason);
    const on = { onFailing, onRefusing, onDeadLetter };
    const services = { installation, sessions, deadLetters, ...on, log, now };
    const webhook = new Webhook(options, services);
    await webhook.start();
    this.#running.set(name, { webhook, lastError: null });
    if (this.#mayConnect) webhook.connect();
  }

  /** Lets the webhooks deliver; until then they only queue. */
  connect(): void {
    this.#mayConnect = true;
    for (const { webhook } of this.#running.values()) webhook.connect();
  }

  stop(): void {
    for (const { webhook } of this.#running.values()) webhook.stop();
  }

  async statuses(): Promise<OutputStatus[]> {
    await this.#options.accounts.refresh();
    return await Promise.all([...this.#running.values()].map((one) => this.#statusOf(one)));
  }

  /** The newest first. @throws GatewayError `output-not-found`, `store-unavailable` */
  async deadLetters(name: string) {
    this.#require(name);
    return await this.#options.deadLetters.list(deadLetterKey('webhook', name));
  }

  /** Sends them again, the oldest first. @throws GatewayError `output-not-found`, `store-unavailable` */
  async sendAgain(actor: Actor, name: string): Promise<SentAgain> {
    const { audit, now } = this.#options;
    const { webhook } = this.#require(name);
    if (this.#resending.has(name)) return { sent: 0, reason: BUSY };
    this.#resending.add(name);
    try {
      const sent = { action: 'output.sent-again', actor, atMs: now(), details: {} } as const;
      await audit.record([{ ...sent, locationId: null, resourceId: name }]);
      return await this.#sendAll(webhook, deadLetterKey('webhook', name));
    } finally {
      this.#resending.delete(name);
    }
  }

  /** Sends the oldest first, until the receiver does not take one. */
  async #sendAll(webhook: Webhook, key: string): Promise<SentAgain> {
    const { deadLetters } = this.#options;
    for (let sent = 0; ; sent++) {
      const oldest = await deadLetters.oldest(key);
      if (oldest === undefined) return { sent, reason: null };
      const { letter, remove } = oldest;
      const reason = await webhook.trySend(letter.topic, letter.payload, `msg_${newId()}`);
      if (reason !== undefined) return { sent, reason };
      await remove();
    }
  }

  #require(name: string): Running {
    const found = this.#running.get(name);
    if (found === undefined) throw new GatewayError('output-not-found', 'There is no such output.');
    return found;
  }

  async #statusOf({ webhook, lastError }: Running): Promise<OutputStatus> {
    const { options, outlet, state } = webhook;
    return {
      name: options.name,
      type: 'webhook',
      // Its path and query may be secret.
      host: new URL(options.url).host,
      state,
      ...(await outlet.figures(this.#options.wallTimeOf)),
      lastError,
    };
  }

  #failing(name: string, reason: Phrase | undefined): void {
    const { log } = this.#options;
    if (reason === undefined) log.info({ webhook: name }, 'webhook delivers again');
    else log.warn({ webhook: name, reason: reason.en }, 'failed to deliver to a webhook, retrying');
    if (reason !== undefined) this.#noteError(name, reason);
    this.#report(name, 'webhookFailing', reason);
  }

  #refusing(name: string, reason: Phrase | undefined): void {
    this.#report(name, 'webhookRefusing', reason);
  }

  #noteError(name: string, reason: Phrase): void {
    const running = this.#running.get(name);
    if (running !== undefined)
      running.lastError = { at: formatTime(this.#options.now()), detail: reason.en };
  }

  #report(name: string, kind: (typeof FAULTS)[number], reason: Phrase | undefined): void {
    const subject = { type: 'webhook', id: name, name } as const;
    const report = reason && { ...fault(kind, { reason }), subject };
    this.#options.health.report(`outputs/${name}/${kind}`, report);
  }
}

/** Opens the queues of the webhooks, but sends nothing yet. */
export async function openOutputs(
  { config, log, health, releasers, steady, now }: Foundation,
  { deadLetters, audit }: Pick<OutputsOptions, 'deadLetters' | 'audit'>,
  { sessions, accounts }: DeliveryParts,
  installation: Installation,
): Promise<Outputs> {
  const { wallTimeOf } = steady;
  const outputs = new Outputs({
    installation: installation.name,
    sessions,
    accounts,
    deadLetters,
    audit,
    health,
    log,
    now,
    wallTimeOf,
  });
  releasers.add(() => outputs.stop());
  await outputs.apply(config.outputs);
  return outputs;
}
