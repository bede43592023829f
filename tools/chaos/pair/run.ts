import { setTimeout as delay } from 'node:timers/promises';
import { Home } from '../../../test/harness/home.js';
import type { Violation } from '../../../test/harness/ledger.js';
import { until } from '../../../test/harness/wait.js';
import { withEnds } from '../../interrupt.js';
import { Clients, type ClientsOptions, Upstream } from '../clients.js';
import { Random } from '../random.js';
import { linesOf, type Report, spread } from '../report.js';
import { nameOf, type PlannedFault, planFaults } from '../schedule.js';
import { keepLog } from '../victim.js';
import { Boxes, type BoxesOptions } from './boxes.js';
import { type BegunFault, PairRoles } from './faults.js';

export interface PairOptions extends ClientsOptions, Omit<BoxesOptions, 'bridges'> {
  readonly seed: number;
  /** Faults in this order instead of random ones. */
  readonly faults?: readonly PlannedFault[];
}

/** What one fault did. */
export interface FaultOutcome {
  readonly name: string;
  /** The longest time without any acknowledgement. */
  readonly pauseMs: number;
  /** The same behind the moving address. */
  readonly behindAddressMs: number;
}

export interface PairReport extends Report {
  readonly outcomes: readonly FaultOutcome[];
  readonly takeovers: number;
}

/** Subjects a pair to faults, one after the other, publishes, drains and compares. */
export async function runPair(
  options: PairOptions,
  tell: (line: string) => void,
): Promise<PairReport> {
  return withEnds(async (onEnd) => {
    const upstream = await Upstream.start();
    onEnd(() => upstream.end());
    const boxes = await Boxes.start({ ...options, bridges: [upstream.bridge] });
    let isUnblemished = false;
    onEnd(async () => {
      await boxes.end();
      for (const { gateway } of boxes.gateways) {
        if (isUnblemished) await gateway.remove();
        else tell(`data and log of a gateway are left in ${await keepLog(gateway)}`);
      }
    });
    const run = new PairRun(options, boxes, upstream, tell);
    onEnd(() => run.end());
    const report = await run.run();
    isUnblemished = report.violations.length === 0;
    return report;
  });
}

class PairRun {
  readonly #options: PairOptions;
  readonly #boxes: Boxes;
  readonly #upstream: Upstream;
  readonly #tell: (line: string) => void;
  readonly #outcomes: FaultOutcome[] = [];
  readonly #violations: Violation[] = [];
  readonly #beganMs = performance.now();
  #clients: Clients | undefined;

  constructor(
    options: PairOptions,
    boxes: Boxes,
    upstream: Upstream,
    tell: (line: string) => void,
  ) {
    this.#options = options;
    this.#boxes = boxes;
    this.#upstream = upstream;
    this.#tell = tell;
  }

  async run(): Promise<PairReport> {
    const { following, alternating } = this.#boxes;
    const home = await Home.at(await this.#serving());
    await this.#upstream.open(home);
    // Half of the sensors know both gateways, and keep trying the one that stands by.
    const sensor = (index: number) => (index % 4 < 2 ? following : alternating);
    const random = new Random(this.#options.seed + 1);
    const clients = await Clients.gather(
      home,
      this.#options,
      { nurses: following, sensor },
      random,
    );
    this.#clients = clients;
    const startedMs = performance.now();
    let isBusy = true;
    const faults = this.#doAll(startedMs).finally(() => {
      isBusy = false;
    });
    await Promise.all([clients.publish(startedMs, () => isBusy), faults]);
    if (!(await clients.drain())) this.#tell('draining stalled');
    const { toldLost } = this.#boxes;
    const serving = home.at(await this.#serving());
    const found = await clients.violations(serving, toldLost > 0 ? { lost: toldLost } : {});
    return this.#report(home, [...found, ...this.#violations]);
  }

  async end(): Promise<void> {
    await this.#clients?.end();
  }

  async #serving() {
    const serving = await this.#boxes.serving();
    if (serving === undefined) throw new Error('no gateway serves');
    await serving.gateway.ready();
    return serving.gateway;
  }

  /** Each fault alone: the next one starts when the effects of the last are gone. */
  async #doAll(startedMs: number): Promise<void> {
    const { seed, durationMs, faults } = this.#options;
    for (const planned of faults ?? planFaults(seed)) {
      await delay(planned.pauseMs);
      if (faults === undefined && performance.now() - startedMs >= durationMs) return;
      const name = nameOf(planned.fault);
      const sums = JSON.stringify(this.#clients?.sums).replace(/["{}]/g, '');
      this.#tell(`${this.#seconds} s: ${name} for ${Math.round(planned.forMs)} ms; ${sums}`);
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

  get #seconds(): number {
    return Math.round((performance.now() - this.#beganMs) / 1000);
  }

  async #do(name: string, planned: PlannedFault): Promise<void> {
    const beganMs = performance.now();
    const roles = await PairRoles.of(this.#boxes, planned.sentinel);
    const begun = await roles.begin(planned.fault);
    if (begun === undefined) return;
    const meanwhile = this.#meanwhile(planned, begun);
    await delay(planned.forMs);
    await begun.end();
    await (await meanwhile)?.end();
    await this.#boxes.untilWhole();
    const wholeMs = performance.now();
    const { interruptions, behindAddress } = this.#boxes;
    // A pause is known only once it is over.
    const areOver = () => Math.min(interruptions.lastMs, behindAddress.lastMs) > wholeMs;
    await until(areOver, 'somebody to acknowledge');
    this.#outcomes.push({
      name: planned.meanwhile === undefined ? name : `${name}, and a gateway meanwhile`,
      pauseMs: interruptions.longestSince(beganMs),
      behindAddressMs: behindAddress.longestSince(beganMs),
    });
  }

  /** A second fault, to a gateway, during the first, if the first leaves that gateway running. */
  async #meanwhile(planned: PlannedFault, begun: BegunFault): Promise<BegunFault | undefined> {
    if (planned.meanwhile === undefined) return undefined;
    const { fault, afterMs } = planned.meanwhile;
    await delay(Math.min(afterMs, planned.forMs));
    const roles = await PairRoles.of(this.#boxes, planned.sentinel);
    return roles.begin(fault, begun.processes);
  }

  #report(home: Home, found: readonly Violation[]): PairReport {
    const { epochs, interruptions, behindAddress, gateways, toldLost } = this.#boxes;
    const ended = gateways.flatMap(({ unexpectedEnds }) => unexpectedEnds);
    const own = [
      { what: 'acknowledged by two', alarms: epochs.violations },
      { what: 'a gateway ended by itself', alarms: ended },
    ].filter(({ alarms }) => alarms.length > 0);
    const violations = [...found, ...own];
    const { seed, replicas, withoutReplica } = this.#options;
    const took = ({ takeovers }: typeof interruptions) => takeovers.map(({ tookMs }) => tookMs);
    const figures = [
      `seed             ${seed}, replicas ${replicas}, without replica: ${withoutReplica}`,
      `faults           ${this.#outcomes.length}, each when nothing was left of the one before`,
      `told as lost     ${toldLost} (taken by a failover before they were acknowledged)`,
      `epochs           ${epochs.used} in which a gateway acknowledged`,
      `takeovers        ${spread(took(interruptions))}, last PUBACK before to first after`,
      `                 ${spread(took(behindAddress))} behind the address that moves`,
      ...linesOfOutcomes(this.#outcomes),
    ];
    return {
      violations,
      acknowledged: home.ledger.acknowledgedCount,
      lines: linesOf(home, figures, violations),
      outcomes: this.#outcomes,
      takeovers: interruptions.takeovers.length,
    };
  }
}

/** For each sort of fault, how long no gateway acknowledged. */
function linesOfOutcomes(outcomes: readonly FaultOutcome[]): string[] {
  const names = [...new Set(outcomes.map(({ name }) => name))].sort();
  return names.map((name) => {
    const all = outcomes.filter((outcome) => outcome.name === name);
    const pause = spread(all.map(({ pauseMs }) => pauseMs));
    const behind = spread(all.map(({ behindAddressMs }) => behindAddressMs));
    return `  ${name}: no PUBACK for ${pause}; behind the address ${behind}`;
  });
}
