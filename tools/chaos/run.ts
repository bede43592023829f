import { setTimeout as delay } from 'node:timers/promises';
import { Api } from '../../test/former/clients/api.js';
import { Crowd, type CrowdSums, type ReceiverSummary } from './crowd.js';
import type { ChaosOptions } from './options.js';
import { QuietDevices } from './quiet-devices.js';
import { Random } from './random.js';
import { type Reconciliation, reconcile } from './reconcile.js';
import { type KillTarget, planKills, planOutages } from './schedule.js';
import { ChaosUpstream } from './upstream.js';
import { ESCALATION, Victim } from './victim.js';

const PROGRESS_EVERY_MS = 10_000;
/** In shorter runs no device is silent for long enough. */
const SUPERVISED_FROM_MS = 120_000;

/** The result of a run. */
export interface ChaosReport extends Reconciliation, CrowdSums {
  readonly options: ChaosOptions;
  readonly kills: Readonly<Record<KillTarget, number>>;
  readonly upstreamKills: number;
  readonly failedStarts: number;
  readonly readyAfterMs: readonly number[];
  readonly acknowledgingAfterMs: readonly number[];
  readonly subscribers: readonly ReceiverSummary[];
}

/** Kills, publishes, drains and reconciles. */
export async function runChaos(
  options: ChaosOptions,
  tell: (line: string) => void,
): Promise<ChaosReport> {
  const upstream = await ChaosUpstream.start();
  try {
    return await runOn(upstream, options, tell);
  } finally {
    await upstream.end();
  }
}

async function runOn(
  upstream: ChaosUpstream,
  options: ChaosOptions,
  tell: (line: string) => void,
): Promise<ChaosReport> {
  const victim = await Victim.start([upstream.bridge]);
  const run = new Run(options, victim, upstream, tell);
  let isUnblemished = false;
  try {
    const report = await run.run();
    isUnblemished = report.violations.length === 0;
    return report;
  } finally {
    await run.end();
    if (isUnblemished) await victim.remove();
    else tell(`data and log of the gateway are left in ${await victim.keep()}`);
  }
}

class Run {
  readonly #options: ChaosOptions;
  readonly #victim: Victim;
  readonly #upstream: ChaosUpstream;
  readonly #tell: (line: string) => void;
  readonly #crowd: Crowd;
  #quiet: QuietDevices | undefined;

  constructor(
    options: ChaosOptions,
    victim: Victim,
    upstream: ChaosUpstream,
    tell: (line: string) => void,
  ) {
    this.#options = options;
    this.#victim = victim;
    this.#upstream = upstream;
    this.#tell = tell;
    // Not the schedule's generator: the schedule must not depend on the number of draws.
    this.#crowd = new Crowd(options, upstream, new Random(options.seed + 1));
  }

  async run(): Promise<ChaosReport> {
    const { gateway } = this.#victim;
    const api = new Api(gateway);
    const locationId = await this.#crowd.gather(api, {
      subscribersTo: gateway,
      deviceTo: () => gateway,
      onAcknowledged: (publishedMs) => this.#victim.acknowledged(publishedMs),
      escalation: ESCALATION.name,
    });
    const isSupervised = this.#options.durationMs >= SUPERVISED_FROM_MS;
    this.#quiet = isSupervised ? await QuietDevices.start(api, gateway, locationId) : undefined;
    const startedMs = performance.now();
    const progress = setInterval(() => this.#tell(this.#progress(startedMs)), PROGRESS_EVERY_MS);
    try {
      await Promise.all([
        this.#kill(startedMs),
        this.#killUpstream(startedMs),
        this.#crowd.publish(startedMs),
      ]);
      await this.#crowd.calm();
      await this.#victim.settled();
      if (!(await this.#crowd.drain())) this.#tell('draining stalled');
    } finally {
      clearInterval(progress);
    }
    const supervision = (await this.#quiet?.violations()) ?? [];
    const found = await reconcile(gateway, this.#crowd.devices, this.#crowd.receivers);
    return this.#report({ ...found, violations: [...found.violations, ...supervision] });
  }

  async end(): Promise<void> {
    await this.#quiet?.end();
    await this.#crowd.end();
  }

  async #kill(startedMs: number): Promise<void> {
    for (const { atMs, target, again } of planKills(this.#options)) {
      await delay(Math.max(0, startedMs + atMs - performance.now()));
      await this.#victim.kill(target);
      if (again === undefined) continue;
      await delay(again.afterMs);
      await this.#victim.kill(again.target);
    }
  }

  async #killUpstream(startedMs: number): Promise<void> {
    for (const outage of planOutages(this.#options)) {
      await delay(Math.max(0, startedMs + outage.atMs - performance.now()));
      await this.#upstream.kill(outage);
    }
  }

  #progress(startedMs: number): string {
    const { published, acknowledged, received } = this.#crowd.sums();
    const { gateway, store, both } = this.#victim.kills;
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    return `${seconds} s: ${gateway + store + both} kills and ${this.#upstream.kills} of the upstream, ${published} published, ${acknowledged} acknowledged, ${received} received`;
  }

  #report(reconciliation: Reconciliation): ChaosReport {
    const { kills, failedStarts, readyAfterMs, acknowledgingAfterMs } = this.#victim;
    return {
      ...reconciliation,
      ...this.#crowd.sums(),
      options: this.#options,
      kills,
      upstreamKills: this.#upstream.kills,
      failedStarts,
      readyAfterMs,
      acknowledgingAfterMs,
      subscribers: this.#crowd.summaries,
    };
  }
}
