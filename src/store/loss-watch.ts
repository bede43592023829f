import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Losses } from '../site/losses.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';
import { lossesOf } from './store-losses.js';
import type { Positions, Witness, WitnessFile } from './store-witness.js';

const INTERVAL_MS = 1_000;

const number = z.coerce.number();
const reply = z
  .tuple([z.enum(['0', '1']), z.string(), number, number, number, number, number, number, number])
  .transform(([isWhole, identity, a, m, r, alarms, messages, audit, raised]) => ({
    isWhole: isWhole === '1',
    identity,
    noted: { alarms: a, messages: m, audit: r },
    positions: { alarms, messages, audit },
    raised,
  }));
const checkWitness = new Script('check-witness', reply);

const NOTHING: Positions = { alarms: 0, messages: 0, audit: 0 };

export interface LossWatchOptions {
  /** Fails soon while the store is away. */
  readonly redis: Redis;
  readonly keys: Keys;
  readonly file: WitnessFile;
  readonly losses: Pick<Losses, 'report' | 'keep'>;
  readonly log: Logger;
  /** The wall clock: when something was last seen is told to people. */
  readonly now: () => number;
}

/**
 * Notices what the store has lost: emptied, replaced, or back at an earlier state (FINDINGS R7, R9, R12).
 *
 * The gateway knows which store it had and how far its numbers went, from a file beside it. The store
 * has the same numbers in it, so that one that went back is noticed though its numbers have passed
 * what they were. At the start, when a connection is back, and every second: one short script.
 */
export class LossWatch {
  readonly #options: LossWatchOptions;
  readonly #onReady = (): void => void this.#attempt();
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;
  #known: Witness | undefined;
  /** What the file has. */
  #written: Witness | undefined;
  #hasFailed = false;

  constructor(options: LossWatchOptions) {
    this.#options = options;
  }

  /** Resolves when the store was compared, or cannot be now. */
  async start(): Promise<void> {
    this.#known = await this.#options.file.read();
    this.#written = this.#known;
    await this.#attempt();
    this.#options.redis.on('ready', this.#onReady);
    this.#timer = setInterval(this.#onReady, INTERVAL_MS);
  }

  /** Leaves the newest numbers in the file. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#options.redis.off('ready', this.#onReady);
    await this.#checking;
    if (!this.#hasFailed) await this.#attempt();
  }

  /** Tries again a second later, so that a failure needs no more than one line in the log. */
  #attempt(): Promise<void> {
    this.#checking ??= this.#check()
      .then(() => {
        this.#hasFailed = false;
      })
      .catch((err: unknown) => {
        if (!this.#hasFailed) this.#options.log.warn({ err }, 'failed to look for losses');
        this.#hasFailed = true;
      })
      .finally(() => {
        this.#checking = undefined;
      });
    return this.#checking;
  }

  async #check(): Promise<void> {
    const { losses, log, now } = this.#options;
    const found = await this.#ask(this.#known);
    const { identity, positions, raised } = found;
    if (raised > 0) log.warn({ positions }, 'counters that were behind their entries are raised');
    if (this.#known !== undefined && !found.isWhole) {
      for (const loss of lossesOf(this.#known, found)) losses.report(loss);
      const taken = await this.#ask(undefined);
      this.#known = { identity: taken.identity, positions: taken.positions, atMs: now() };
    } else {
      this.#known = { identity, positions, atMs: now() };
    }
    // Before the file is written, by which a killed gateway would notice the loss again.
    await losses.keep();
    await this.#write(this.#known);
  }

  /** @param known undefined to take the store as it is */
  #ask(known: Witness | undefined): Promise<z.infer<typeof reply>> {
    const { redis, keys } = this.#options;
    const counters = [keys.logSequence('alarms'), keys.logSequence('messages'), keys.auditSequence];
    const streams = [keys.log('alarms'), keys.history, keys.log('messages')];
    const { alarms, messages, audit } = known?.positions ?? NOTHING;
    return checkWitness.run(
      redis,
      [keys.identity, ...counters, ...streams],
      [known?.identity ?? '', alarms, messages, audit, randomUUID()],
    );
  }

  async #write(witness: Witness): Promise<void> {
    if (this.#written !== undefined && isSame(this.#written, witness)) return;
    await this.#options.file.write(witness);
    this.#written = witness;
  }
}

function isSame(one: Witness, other: Witness): boolean {
  const { alarms, messages, audit } = one.positions;
  return (
    one.identity === other.identity &&
    alarms === other.positions.alarms &&
    messages === other.positions.messages &&
    audit === other.positions.audit
  );
}
