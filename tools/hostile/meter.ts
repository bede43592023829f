import { readdir } from 'node:fs/promises';
import { processorMs, residentBytes } from '../../test/former/gateway/process-usage.js';
import type { Site } from './site.js';

const SAMPLE_EVERY_MS = 200;

export interface Usage {
  /** The peak of each process of the site. */
  readonly maxResidentBytes: readonly number[];
  readonly maxDescriptors: readonly number[];
  readonly loggedBytes: number;
  /** Fractions of one core, for each process of the site. */
  readonly siteCores: readonly number[];
  /** The fraction of one core that the busiest attacker uses. */
  readonly attackerCores: number;
}

/** Measures the broker's processes, and the processor time of the attackers. */
export class Meter {
  readonly #site: Site;
  readonly #attackers: readonly number[];
  readonly #begunMs = performance.now();
  readonly #logBytesBefore: number;
  readonly #processorBefore: readonly number[];
  readonly #maxResident: number[];
  readonly #maxDescriptors: number[];
  readonly #timer: NodeJS.Timeout;
  #isSampling = false;

  private constructor(
    site: Site,
    attackers: readonly number[],
    processorBefore: readonly number[],
  ) {
    this.#site = site;
    this.#attackers = attackers;
    this.#processorBefore = processorBefore;
    this.#logBytesBefore = site.logBytes();
    this.#maxResident = site.processIds.map(() => 0);
    this.#maxDescriptors = site.processIds.map(() => 0);
    this.#timer = setInterval(() => this.#sample(), SAMPLE_EVERY_MS);
  }

  static async start(site: Site, attackers: readonly number[]): Promise<Meter> {
    return new Meter(site, attackers, await processorOf([...site.processIds, ...attackers]));
  }

  /** The processor usage so far; `end` returns the rest. */
  async processor(): Promise<Pick<Usage, 'siteCores' | 'attackerCores'>> {
    const elapsedMs = performance.now() - this.#begunMs;
    const now = await processorOf([...this.#site.processIds, ...this.#attackers]);
    const cores = now.map((ms, index) => (ms - (this.#processorBefore[index] ?? 0)) / elapsedMs);
    const siteCount = this.#site.processIds.length;
    return {
      siteCores: cores.slice(0, siteCount),
      attackerCores: Math.max(0, ...cores.slice(siteCount)),
    };
  }

  async end(): Promise<Omit<Usage, 'siteCores' | 'attackerCores'>> {
    clearInterval(this.#timer);
    await this.#sample();
    return {
      maxResidentBytes: this.#maxResident,
      maxDescriptors: this.#maxDescriptors,
      loggedBytes: this.#site.logBytes() - this.#logBytesBefore,
    };
  }

  async #sample(): Promise<void> {
    if (this.#isSampling) return;
    this.#isSampling = true;
    for (const [index, processId] of this.#site.processIds.entries()) {
      // A process that has ended uses nothing; the verdict reports its end.
      const resident = await residentBytes(processId).catch(() => 0);
      const open = await readdir(`/proc/${processId}/fd`).catch(() => []);
      this.#maxResident[index] = Math.max(this.#maxResident[index] ?? 0, resident);
      this.#maxDescriptors[index] = Math.max(this.#maxDescriptors[index] ?? 0, open.length);
    }
    this.#isSampling = false;
  }
}

function processorOf(processIds: readonly number[]): Promise<number[]> {
  return Promise.all(processIds.map((processId) => processorMs(processId).catch(() => 0)));
}
