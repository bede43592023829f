import type { Logger } from 'pino';
import { type Address, addressText, isSameAddress } from '../../domain/server-address.js';

const INTERVAL_MS = 500;

/** Who is the primary, according to one of those asked. */
export interface Claim {
  readonly primary: Address;
  /** Rises with every failover: the claim with the higher epoch is newer. */
  readonly epoch: number;
}

/** Those who know the primary: Sentinels, or the nodes of a cluster. */
export interface PrimarySource {
  /** The beginning of the message that none of them names the primary. */
  readonly name: string;
  /** Asks all of them; each answers or fails within a second. */
  readonly ask: () => readonly Promise<Claim>[];
  readonly stop: () => void;
}

/**
 * Watches which server is the primary of the site's keys.
 *
 * A frozen or cut-off primary closes no connection. ioredis would ask one Sentinel after another and believe
 * the first that answers, even if that was itself cut off for long. The watch therefore asks all of them
 * simultaneously, twice a second, and the newest answer counts.
 */
export class PrimaryWatch {
  readonly #source: PrimarySource;
  readonly #log: Logger;
  readonly #listeners = new Set<(primary: Address) => void>();
  #known: Claim | undefined;
  #round: Promise<Address> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(source: PrimarySource, log: Logger) {
    this.#source = source;
    this.#log = log;
  }

  start(): void {
    this.#timer = setInterval(() => void this.find().catch(() => undefined), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#source.stop();
  }

  /** The primary according to the last answers; undefined before the first. */
  get primary(): Address | undefined {
    return this.#known?.primary;
  }

  /**
   * Asks who is the primary.
   *
   * @throws Error when nobody answers
   */
  find(): Promise<Address> {
    this.#round ??= this.#ask().finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  /** Calls the listener whenever another server becomes the primary, until the returned function is called. */
  onMove(listener: (primary: Address) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #ask(): Promise<Address> {
    const { claim, isMajority } = await newestOf(this.#source);
    const known = this.#known;
    // A source that was cut off names a former primary. Epochs restart only for all of them together.
    if (known !== undefined && !isMajority && claim.epoch < known.epoch) return known.primary;
    this.#known = claim;
    const { primary } = claim;
    if (known !== undefined && !isSameAddress(known.primary, primary)) this.#moved(primary);
    return primary;
  }

  #moved(primary: Address): void {
    this.#log.info({ primary: addressText(primary) }, 'the store has a new primary');
    for (const listener of [...this.#listeners]) listener(primary);
  }
}

interface Newest {
  readonly claim: Claim;
  /** Whether more than half of those asked agree. */
  readonly isMajority: boolean;
}

/** Resolves as soon as more than half agree, or else once all have answered or failed. */
function newestOf(source: PrimarySource): Promise<Newest> {
  const answers = source.ask();
  const claims: Claim[] = [];
  const failures = new Set<string>();
  return new Promise((resolve, reject) => {
    const agreeing = (claim: Claim) =>
      claims.filter(
        (one) => one.epoch === claim.epoch && isSameAddress(one.primary, claim.primary),
      );
    let open = answers.length;
    const settle = (claim: Claim | undefined) => {
      open--;
      if (claim !== undefined) {
        claims.push(claim);
        if (agreeing(claim).length > answers.length / 2) resolve({ claim, isMajority: true });
      }
      if (open > 0) return;
      const newest = claims.toSorted((one, other) => other.epoch - one.epoch)[0];
      if (newest !== undefined) resolve({ claim: newest, isMajority: false });
      else reject(new Error(`${source.name}: ${[...failures].join('; ')}`));
    };
    if (open === 0) reject(new Error(`${source.name}: nobody is left to ask`));
    for (const answer of answers) {
      answer.then(settle, (error: unknown) => {
        failures.add(error instanceof Error ? error.message : String(error));
        settle(undefined);
      });
    }
  });
}
