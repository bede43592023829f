import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Losses } from '../site/losses.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';
import { lossesOf } from './store-losses.js';
import type { Witness, WitnessFile } from './store-witness.js';

const number = z.coerce.number();
const reply = z
  .tuple([z.string(), number, number, number, z.string(), z.enum(['0', '1']), number])
  .transform(([identity, alarms, messages, audit, newestAlarm, isAnother, raised]) => ({
    ...{ identity, positions: { alarms, messages, audit }, newestAlarm, raised },
    isAnotherAlarm: isAnother === '1',
  }));
const checkWitness = new Script('check-witness', reply);

const NOTHING: Omit<Witness, 'atMs'> = {
  identity: '',
  positions: { alarms: 0, messages: 0, audit: 0 },
  newestAlarm: '',
};

export interface LossWatchOptions {
  /** Fails soon while the store is away. */
  readonly redis: Redis;
  readonly keys: Keys;
  readonly file: WitnessFile;
  readonly losses: Pick<Losses, 'report' | 'keep'>;
  readonly log: Logger;
  /** The wall clock, as people read these times. */
  readonly now: () => number;
  readonly intervalMs: number;
}

/**
 * Detects a store that was emptied, replaced or set back (FINDINGS R7, R9, R12).
 *
 * A file beside the store holds its identity, its numbers and its newest alarm. A short script that only
 * reads compares them at the start, after a reconnect, and at intervals.
 */
export class LossWatch {
  readonly #options: LossWatchOptions;
  readonly #onReady = (): void => void this.#attempt();
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;
  #known: Witness | undefined;
  /** The witness in the file. */
  #written: Witness | undefined;
  #hasFailed = false;

  constructor(options: LossWatchOptions) {
    this.#options = options;
  }

  /** The identity of the store as last seen; empty while that is unknown. */
  get identity(): string {
    return this.#known?.identity ?? '';
  }

  /** Resolves once the store was compared, or could not be. */
  async start(): Promise<void> {
    this.#known = await this.#options.file.read();
    this.#written = this.#known;
    await this.#attempt();
    this.#options.redis.on('ready', this.#onReady);
    this.#timer = setInterval(this.#onReady, this.#options.intervalMs);
  }

  /** Stops the watch and writes the newest numbers to the file. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#options.redis.off('ready', this.#onReady);
    await this.#checking;
    if (!this.#hasFailed) await this.#attempt();
  }

  /** Compares once, logging the first failure of an outage. */
  #attempt(): Promise<void> {
    this.#checking ??= this.#check()
      .then(() => {
        this.#hasFailed = false;
      })
      .catch((err: unknown) => {
        const { redis, log } = this.#options;
        // StoreOutages has already logged a store that is away.
        const level = this.#hasFailed || redis.status !== 'ready' ? 'debug' : 'warn';
        log[level]({ err }, 'failed to look for losses');
        this.#hasFailed = true;
      })
      .finally(() => {
        this.#checking = undefined;
      });
    return this.#checking;
  }

  async #check(): Promise<void> {
    const { losses, file } = this.#options;
    try {
      await this.#compare();
    } finally {
      // Before the new witness: a gateway killed in between notices the loss again by the old one.
      await losses.keep();
    }
    // A store that was emptied and takes no writes for now has no identity yet.
    this.#known ??= this.#witness(await this.#ask(undefined));
    if (this.#written !== undefined && isSame(this.#written, this.#known)) return;
    await file.write(this.#known);
    this.#written = this.#known;
  }

  async #compare(): Promise<void> {
    const { losses } = this.#options;
    if (this.#known === undefined) return;
    const found = await this.#ask(this.#known);
    for (const loss of lossesOf(this.#known, found)) losses.report(loss);
    this.#known = found.identity === '' ? undefined : this.#witness(found);
  }

  #witness({ identity, positions, newestAlarm }: z.infer<typeof reply>): Witness {
    return { identity, positions, newestAlarm, atMs: this.#options.now() };
  }

  /** @param known undefined to take the store as it is */
  async #ask(known: Witness | undefined): Promise<z.infer<typeof reply>> {
    const { redis, keys, log } = this.#options;
    const counters = [keys.logSequence('alarms'), keys.logSequence('messages'), keys.auditSequence];
    const streams = [keys.history, keys.messageLog, keys.auditChanges];
    const { identity, positions, newestAlarm } = known ?? NOTHING;
    const { alarms, messages, audit } = positions;
    const found = await checkWitness.run(
      redis,
      [keys.identity, ...counters, ...streams],
      [identity, alarms, messages, audit, newestAlarm, randomUUID()],
    );
    if (found.raised > 0) {
      log.warn({ positions: found.positions }, 'raised counters that were behind their entries');
    }
    return found;
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
