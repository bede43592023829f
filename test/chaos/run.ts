import { setTimeout as delay } from 'node:timers/promises';
import { Api } from '../harness/api.js';
import { ChaosDevice } from './device.js';
import type { ChaosOptions } from './options.js';
import { Random } from './random.js';
import { type ChaosReceiver, type Reconciliation, reconcile, undelivered } from './reconcile.js';
import { type KillTarget, planKills, planOutages } from './schedule.js';
import { acknowledgeSlowly, ChaosSubscriber, flap } from './subscribers.js';
import { ChaosUpstream } from './upstream.js';
import { Victim } from './victim.js';

const TICK_MS = 20;
const PROGRESS_EVERY_MS = 10_000;
/** Timeout of draining without any arrival. */
const STALLED_AFTER_MS = 30_000;

/** The result of a run. */
export interface ChaosReport extends Reconciliation {
  readonly options: ChaosOptions;
  readonly kills: Readonly<Record<KillTarget, number>>;
  readonly upstreamKills: number;
  readonly failedStarts: number;
  readonly published: number;
  readonly acknowledged: number;
  readonly readyAfterMs: readonly number[];
  readonly acknowledgingAfterMs: readonly number[];
  readonly subscribers: readonly {
    readonly name: string;
    readonly isDurable: boolean;
    readonly received: number;
    readonly repeated: number;
    readonly early: number;
  }[];
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
  readonly #api: Api;
  readonly #devices: ChaosDevice[] = [];
  readonly #subscribers: ChaosSubscriber[] = [];
  /** A generator apart from the schedule's, which must not depend on the number of draws. */
  readonly #random: Random;
  readonly #calm = new AbortController();
  #flapping: Promise<void> | undefined;

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
    this.#api = new Api(victim.gateway);
    this.#random = new Random(options.seed + 1);
  }

  async run(): Promise<ChaosReport> {
    await this.#setUp();
    const startedMs = performance.now();
    const progress = setInterval(() => this.#tell(this.#progress(startedMs)), PROGRESS_EVERY_MS);
    try {
      await Promise.all([
        this.#kill(startedMs),
        this.#killUpstream(startedMs),
        this.#publish(startedMs),
      ]);
      this.#calm.abort();
      await this.#flapping;
      await this.#victim.settled();
      await this.#drain();
    } finally {
      clearInterval(progress);
    }
    return this.#report(await reconcile(this.#victim.gateway, this.#devices, this.#receivers));
  }

  get #receivers(): readonly ChaosReceiver[] {
    return [...this.#subscribers, this.#upstream];
  }

  async end(): Promise<void> {
    this.#calm.abort();
    await Promise.all([...this.#devices, ...this.#subscribers].map((client) => client.end()));
  }

  async #setUp(): Promise<void> {
    const { gateway } = this.#victim;
    const { id: locationId } = await this.#api.createLocation();
    const viewer = await this.#api.viewer(locationId);
    const filter = `care-homes/${locationId}/devices/+/alarms/#`;
    const subscriber = async (name: string, isDurable: boolean) => {
      const one = new ChaosSubscriber(name, isDurable, gateway, viewer);
      this.#subscribers.push(one);
      return one.subscribe(filter);
    };
    await subscriber('fast', true);
    acknowledgeSlowly(await subscriber('slow', true), this.#random);
    this.#flapping = flap(await subscriber('flapping', true), this.#random, this.#calm.signal);
    await subscriber('live-1', false);
    await subscriber('live-2', false);
    for (let index = 0; index < this.#options.devices; index++) {
      const device = await this.#api.createDevice(locationId, `Bett ${index + 1}`);
      const isPersistent = index % 2 === 0;
      const onAcknowledged = (publishedMs: number) => this.#victim.acknowledged(publishedMs);
      this.#devices.push(
        new ChaosDevice(gateway, device, isPersistent, this.#random, onAcknowledged),
      );
    }
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

  async #publish(startedMs: number): Promise<void> {
    const { durationMs, minAlarms, alarmsPerSecond } = this.#options;
    let alarms = 0;
    for (;;) {
      const elapsedMs = performance.now() - startedMs;
      const due = Math.floor((elapsedMs / 1000) * alarmsPerSecond);
      for (; alarms < due; alarms++) {
        this.#devices[Math.floor(this.#random.next() * this.#devices.length)]?.alarm();
      }
      if (elapsedMs >= durationMs && alarms >= minAlarms) return;
      await delay(TICK_MS);
    }
  }

  /**
   * Waits until every alarm is acknowledged and has reached every durable subscriber, and upstream.
   */
  async #drain(): Promise<void> {
    let [before, sinceMs] = [-1, performance.now()];
    while (!this.#isDrained()) {
      const { received, acknowledged } = this.#sums();
      if (received + acknowledged !== before) {
        [before, sinceMs] = [received + acknowledged, performance.now()];
      } else if (performance.now() - sinceMs > STALLED_AFTER_MS) {
        this.#tell('draining stalled');
        return;
      }
      await delay(TICK_MS);
    }
  }

  #isDrained(): boolean {
    const durable = this.#receivers.filter(({ isDurable }) => isDurable);
    return this.#devices.every(
      (device) => device.isSettled && durable.every((one) => undelivered(device, one).length === 0),
    );
  }

  #sums() {
    const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);
    return {
      published: sum(this.#devices.map(({ alarms }) => alarms.length)),
      acknowledged: sum(this.#devices.map(({ acknowledged }) => acknowledged)),
      received: sum(this.#receivers.map(({ deliveries }) => deliveries.received)),
    };
  }

  #progress(startedMs: number): string {
    const { published, acknowledged, received } = this.#sums();
    const { gateway, store, both } = this.#victim.kills;
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    return `${seconds} s: ${gateway + store + both} kills and ${this.#upstream.kills} of the upstream, ${published} published, ${acknowledged} acknowledged, ${received} received`;
  }

  #report(reconciliation: Reconciliation): ChaosReport {
    const { kills, failedStarts, readyAfterMs, acknowledgingAfterMs } = this.#victim;
    return {
      ...reconciliation,
      ...this.#sums(),
      options: this.#options,
      kills,
      upstreamKills: this.#upstream.kills,
      failedStarts,
      readyAfterMs,
      acknowledgingAfterMs,
      subscribers: this.#receivers.map(({ name, isDurable, deliveries }) => {
        const { received, repeated, early } = deliveries;
        return { name, isDurable, received, repeated, early };
      }),
    };
  }
}
