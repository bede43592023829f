import { setTimeout as delay } from 'node:timers/promises';
import { Api } from '../../../test/former/clients/api.js';
import { until } from '../../../test/former/until.js';
import { Crowd, type CrowdOptions, type CrowdSums, type ReceiverSummary } from '../crowd.js';
import { Random } from '../random.js';
import { type Reconciliation, reconcile, type Violation } from '../reconcile.js';
import { ChaosUpstream } from '../upstream.js';
import { ESCALATION } from '../victim.js';
import type { Takeover } from './acknowledgements.js';
import { type BegunFault, PairRoles } from './faults.js';
import { nameOf, type PlannedFault, planFaults } from './schedule.js';
import { PairWorld } from './world.js';

/** Clients notice a dead gateway soon, as clients that send or receive alarms should. */
const CLIENT = { keepalive: 5, connectTimeout: 3_000 };
const PROGRESS_EVERY_MS = 10_000;

export interface PairChaosOptions extends CrowdOptions {
  readonly seed: number;
  /** Faults in this order instead of random ones. */
  readonly faults?: readonly PlannedFault[];
  readonly replicas: number;
  readonly withoutReplica: 'continue' | 'refuse';
  readonly isHurried: boolean;
}

/** What one fault did. */
export interface FaultOutcome {
  readonly name: string;
  /** The longest time without any acknowledgement. */
  readonly pauseMs: number;
  /** The same behind the moving address. */
  readonly behindAddressMs: number;
  /** From the end of the fault until all its effects were gone. */
  readonly wholeAfterMs: number;
}

export interface PairChaosReport extends Reconciliation, CrowdSums {
  readonly options: PairChaosOptions;
  readonly outcomes: readonly FaultOutcome[];
  readonly takeovers: readonly Takeover[];
  readonly takeoversBehindAddress: readonly Takeover[];
  readonly epochs: number;
  readonly subscribers: readonly ReceiverSummary[];
}

/** Subjects a pair to the faults of the options, publishes, drains and reconciles. */
export async function runPairChaos(
  options: PairChaosOptions,
  tell: (line: string) => void,
): Promise<PairChaosReport> {
  const upstream = await ChaosUpstream.start();
  try {
    const { replicas, withoutReplica, isHurried } = options;
    const bridges = [upstream.bridge];
    const world = await PairWorld.start({ bridges, replicas, withoutReplica, isHurried });
    const run = new PairRun(options, world, upstream, tell);
    let isUnblemished = false;
    try {
      const report = await run.run();
      isUnblemished = report.violations.length === 0;
      return report;
    } finally {
      await run.end();
      await world.end();
      for (const gateway of world.gateways) {
        if (isUnblemished) await gateway.remove();
        else tell(`the log of ${gateway.name} is left in ${await gateway.keep()}`);
      }
    }
  } finally {
    await upstream.end();
  }
}

class PairRun {
  readonly #options: PairChaosOptions;
  readonly #world: PairWorld;
  readonly #crowd: Crowd;
  readonly #tell: (line: string) => void;
  readonly #outcomes: FaultOutcome[] = [];
  readonly #violations: Violation[] = [];

  constructor(
    options: PairChaosOptions,
    world: PairWorld,
    upstream: ChaosUpstream,
    tell: (line: string) => void,
  ) {
    this.#options = options;
    this.#world = world;
    this.#tell = tell;
    this.#crowd = new Crowd(options, upstream, new Random(options.seed + 1));
  }

  async run(): Promise<PairChaosReport> {
    const { following, alternating } = this.#world;
    await this.#crowd.gather(new Api(await this.#serving()), {
      subscribersTo: following,
      // Half of the sensors know both gateways, and keep trying the one that stands by.
      deviceTo: (index) => (index % 4 < 2 ? following : alternating),
      onAcknowledged: () => undefined,
      client: CLIENT,
      escalation: ESCALATION.name,
    });
    const startedMs = performance.now();
    const progress = setInterval(() => this.#progress(startedMs), PROGRESS_EVERY_MS);
    try {
      let isBusy = true;
      const faults = this.#doAll(startedMs).finally(() => {
        isBusy = false;
      });
      await Promise.all([this.#crowd.publish(startedMs, () => isBusy), faults]);
      await this.#crowd.calm();
      if (!(await this.#crowd.drain())) this.#tell('draining stalled');
    } finally {
      clearInterval(progress);
    }
    const { devices, receivers } = this.#crowd;
    const [one, two] = this.#world.gateways;
    const toldLost = one.toldLost + two.toldLost;
    return this.#report(await reconcile(await this.#serving(), devices, receivers, toldLost));
  }

  end(): Promise<void> {
    return this.#crowd.end();
  }

  async #serving() {
    const gateway = await this.#world.serving();
    if (gateway === undefined) throw new Error('no gateway serves');
    return gateway;
  }

  /** Each fault alone: the next one starts when the effects of the last are gone. */
  async #doAll(startedMs: number): Promise<void> {
    const { seed, durationMs, faults } = this.#options;
    for (const planned of faults ?? planFaults(seed)) {
      await delay(planned.pauseMs);
      if (faults === undefined && performance.now() - startedMs >= durationMs) return;
      const name = nameOf(planned.fault);
      this.#tell(`${seconds(startedMs)} s: ${name} for ${Math.round(planned.forMs)} ms`);
      try {
        await this.#do(name, planned);
      } catch (error) {
        const complaint = error instanceof Error ? error.message : String(error);
        this.#violations.push({ what: `not whole after: ${name}`, alarms: [complaint] });
        this.#tell(`${name}: ${complaint}`);
        return;
      }
    }
  }

  async #do(name: string, planned: PlannedFault): Promise<void> {
    const beganMs = performance.now();
    const roles = await PairRoles.of(this.#world, planned.sentinel);
    const begun = await roles.begin(planned.fault);
    if (begun === undefined) return;
    const meanwhile = this.#meanwhile(planned, begun);
    await delay(planned.forMs);
    await begun.end();
    await (await meanwhile)?.end();
    const endedMs = performance.now();
    await this.#world.untilWhole();
    const wholeMs = performance.now();
    const { interruptions, behindAddress } = this.#world;
    // A pause is known only once it is over.
    const areOver = () => Math.min(interruptions.lastMs, behindAddress.lastMs) > wholeMs;
    await until(areOver, 'nobody acknowledges');
    this.#outcomes.push({
      name: planned.meanwhile === undefined ? name : `${name}, and a gateway meanwhile`,
      pauseMs: interruptions.longestSince(beganMs),
      behindAddressMs: behindAddress.longestSince(beganMs),
      wholeAfterMs: wholeMs - endedMs,
    });
  }

  /** A second fault, to a gateway, during the first, if the first leaves that gateway running. */
  async #meanwhile(planned: PlannedFault, begun: BegunFault): Promise<BegunFault | undefined> {
    if (planned.meanwhile === undefined) return undefined;
    const { fault, afterMs } = planned.meanwhile;
    await delay(Math.min(afterMs, planned.forMs));
    const roles = await PairRoles.of(this.#world, planned.sentinel);
    return roles.begin(fault, begun.processes);
  }

  #progress(startedMs: number): void {
    const { published, acknowledged, received } = this.#crowd.sums();
    this.#tell(
      `${seconds(startedMs)} s: ${this.#outcomes.length} faults, ${published} published, ${acknowledged} acknowledged, ${received} received`,
    );
  }

  #report(reconciliation: Reconciliation): PairChaosReport {
    const { epochs, interruptions, behindAddress, gateways } = this.#world;
    const violations = [...reconciliation.violations, ...this.#violations];
    if (epochs.violations.length > 0) {
      violations.push({ what: 'acknowledged by two', alarms: epochs.violations });
    }
    const ended = gateways.flatMap(({ name, unexpectedEnds }) =>
      unexpectedEnds.map((end) => `${name}: ${end}`),
    );
    if (ended.length > 0) violations.push({ what: 'a gateway ended by itself', alarms: ended });
    return {
      ...reconciliation,
      ...this.#crowd.sums(),
      violations,
      options: this.#options,
      outcomes: this.#outcomes,
      takeovers: interruptions.takeovers,
      takeoversBehindAddress: behindAddress.takeovers,
      epochs: epochs.used,
      subscribers: this.#crowd.summaries,
    };
  }
}

function seconds(startedMs: number): number {
  return Math.round((performance.now() - startedMs) / 1000);
}
