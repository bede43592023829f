import { setTimeout as delay } from 'node:timers/promises';
import { Home } from '../../test/harness/home.js';
import { withEnds } from '../interrupt.js';
import { Clients, type ClientsOptions, Upstream } from './clients.js';
import { QuietDevices, SUPERVISED_FROM_MS } from './quiet-devices.js';
import { Random } from './random.js';
import { linesOf, type Report, spread } from './report.js';
import { type KillTarget, planKills, planOutages } from './schedule.js';
import { Victim } from './victim.js';

const PROGRESS_EVERY_MS = 10_000;

export interface OneBoxOptions extends ClientsOptions {
  readonly seed: number;
  readonly kills: number;
  /** Kills of the bridge's upstream. */
  readonly upstreamKills: number;
}

export interface OneBoxReport extends Report {
  readonly kills: Readonly<Record<KillTarget, number>>;
  readonly upstreamKills: number;
}

/** Kills the gateway, its store and an upstream at random moments, publishes, drains and compares. */
export async function runOneBox(
  options: OneBoxOptions,
  tell: (line: string) => void,
): Promise<OneBoxReport> {
  return withEnds(async (onEnd) => {
    const upstream = await Upstream.start();
    onEnd(() => upstream.end());
    const victim = await Victim.start([upstream.bridge]);
    let isUnblemished = false;
    onEnd(async () => {
      if (isUnblemished) await victim.remove();
      else tell(`data and log of the gateway are left in ${await victim.keep()}`);
    });
    const report = await run(options, victim, upstream, tell);
    isUnblemished = report.violations.length === 0;
    return report;
  });
}

async function run(
  options: OneBoxOptions,
  victim: Victim,
  upstream: Upstream,
  tell: (line: string) => void,
): Promise<OneBoxReport> {
  const { gateway } = victim;
  const home = await Home.at(gateway);
  await upstream.open(home);
  const onAcknowledged = (publishedMs: number) => victim.acknowledged(publishedMs);
  const place = { nurses: gateway, sensor: () => gateway, onAcknowledged };
  // Not the schedule's generator: the schedule must not depend on the number of draws.
  const clients = await Clients.gather(home, options, place, new Random(options.seed + 1));
  const isSupervised = options.durationMs >= SUPERVISED_FROM_MS;
  const quiet = isSupervised ? await QuietDevices.start(home) : undefined;
  const startedMs = performance.now();
  const progress = setInterval(() => {
    const { gateway: one, store, both } = victim.kills;
    const sums = JSON.stringify(clients.sums).replace(/["{}]/g, '').replaceAll(/[:,]/g, '$& ');
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    tell(`${seconds} s: ${one + store + both} kills, ${upstream.kills} of the upstream; ${sums}`);
  }, PROGRESS_EVERY_MS);
  try {
    await Promise.all([
      kill(options, victim, startedMs),
      killUpstream(options, upstream, startedMs),
      clients.publish(startedMs),
    ]);
    await victim.settled();
    if (!(await clients.drain())) tell('draining stalled');
    const violations = [
      ...(await clients.violations(home)),
      ...((await quiet?.violations()) ?? []),
    ];
    return report(options, victim, upstream, home, violations);
  } finally {
    clearInterval(progress);
    await clients.end();
    await home.close().catch(() => undefined);
  }
}

function report(
  { seed }: OneBoxOptions,
  { kills, failedStarts, readyAfterMs, acknowledgingAfterMs }: Victim,
  upstream: Upstream,
  home: Home,
  violations: Report['violations'],
): OneBoxReport {
  const { gateway, store, both } = kills;
  const killed = `${gateway + store + both}: gateway ${gateway}, store ${store}, both ${both}`;
  const own = [
    `seed             ${seed}`,
    `kills            ${killed}; upstream ${upstream.kills}`,
    `failed starts    ${failedStarts} (the store was killed under a gateway that started)`,
    `recovery         to the ready line ${spread(readyAfterMs)}`,
    `                 to the first new PUBACK ${spread(acknowledgingAfterMs)}`,
  ];
  const acknowledged = home.ledger.acknowledgedCount;
  const lines = linesOf(home, own, violations);
  return { violations, acknowledged, lines, kills, upstreamKills: upstream.kills };
}

async function kill(options: OneBoxOptions, victim: Victim, startedMs: number): Promise<void> {
  for (const { atMs, target, again } of planKills(options)) {
    await delay(Math.max(0, startedMs + atMs - performance.now()));
    await victim.kill(target);
    if (again === undefined) continue;
    await delay(again.afterMs);
    await victim.kill(again.target);
  }
}

async function killUpstream(
  options: OneBoxOptions,
  upstream: Upstream,
  startedMs: number,
): Promise<void> {
  for (const outage of planOutages(options)) {
    await delay(Math.max(0, startedMs + outage.atMs - performance.now()));
    await upstream.kill(outage);
  }
}
