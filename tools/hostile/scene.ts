import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Cleanups } from '../bench/speed/cleanups.js';
import type { Attack, GatewayNeeds } from './attack.js';
import { Attackers } from './attackers.js';
import { Program } from './calls.js';
import { attemptsOf, calmAfterMs, isCalm, latenciesOf, lossesOf, MAX_P99_MS } from './figures.js';
import { GatewaySite } from './gateway-site.js';
import { Meter } from './meter.js';
import { MosquittoSite } from './mosquitto-site.js';
import { programFile } from './programs.js';
import type { Result } from './result.js';
import type { Peer, Site } from './site.js';
import { missesOf } from './verdict.js';
import { type Observations, observationsSchema, type WardCall } from './ward/plan.js';

/** In real life attackers are on other machines: here the victims come first. */
const WARD_NICENESS = -5;
const HOST = '127.0.0.1';
const LAST_ALARMS_MS = 1_000;
const LOOK_EVERY_MS = 500;

export interface SceneOptions {
  readonly peer: Peer;
  readonly needs?: GatewayNeeds;
  readonly isExposed?: boolean;
  readonly areSubscribersShared?: boolean;
}

export interface AttackOptions {
  readonly seconds: number;
  /** Time before the attack, so that effects of the start do not count as effects of the attack. */
  readonly quietMs: number;
  readonly maxRecoveryMs: number;
  /** This many calm seconds in a row show that latencies are normal again. */
  readonly calmSeconds: number;
  /** How long it may take until `gateway/status` names the attacker. */
  readonly namedWithinMs: number;
}

/** A broker and its victims, for trying attacks. */
export class Scene {
  readonly #site: Site;
  readonly #ward: Program;
  readonly #cleanups: Cleanups;

  private constructor(site: Site, ward: Program, cleanups: Cleanups) {
    this.#site = site;
    this.#ward = ward;
    this.#cleanups = cleanups;
  }

  static async open(options: SceneOptions, cleanups: Cleanups): Promise<Scene> {
    const { peer, needs = {}, isExposed = false, areSubscribersShared = false } = options;
    const site =
      peer === 'mosquitto'
        ? await MosquittoSite.start()
        : await GatewaySite.start(needs, isExposed);
    cleanups.onEnd(() => site.remove());
    const ward = new Program(programFile('ward'), { niceness: WARD_NICENESS });
    cleanups.onEnd(() => ward.kill());
    const scene = new Scene(site, ward, cleanups);
    const plan = { ...(await site.ward(areSubscribersShared)), host: HOST, port: site.ports.mqtt };
    await scene.#tell({ call: 'open', plan });
    return scene;
  }

  /** Tries an attack (undefined for none) and waits until everything is as before. */
  async try(attack: Attack | undefined, options: AttackOptions): Promise<Result> {
    const site = this.#site;
    site.attackerNames.clear();
    const attackers = await Attackers.arm(attack, site, options.seconds, this.#cleanups);
    await delay(options.quietMs);
    const isDurableAway = attack?.isDurableAway ?? false;
    if (isDurableAway) await this.#tell({ call: 'sendDurableAway' });

    const begunMs = await this.#nowMs();
    const meter = await Meter.start(site, attackers.processIds);
    await attackers.begin();
    await delay(options.seconds * 1_000);
    const processor = await meter.processor();
    const counts = await attackers.end();
    const endedMs = await this.#nowMs();

    // Not awaited: a session that the attacker has taken may never come back.
    if (isDurableAway) this.#tell({ call: 'bringDurableBack' }).catch(() => undefined);
    const surface = attack?.surface ?? 'mqtt';
    await this.#recover(begunMs, MAX_P99_MS[surface], options);
    const harm = await attack?.harm?.(site, counts, options.seconds);
    const namedBy = attack === undefined ? undefined : await this.#named(options.namedWithinMs);
    const { alarms, newcomers, requests, disconnects } = await this.#settled(begunMs);
    const during = alarms.filter(({ sentMs }) => sentMs < endedMs);
    const result = {
      attack: attack?.name,
      finding: attack?.finding,
      surface,
      peer: site.peer,
      published: alarms.length,
      ...lossesOf(alarms),
      ...latenciesOf(during, isDurableAway),
      calmAfterMs: calmAfterMs(alarms, endedMs, MAX_P99_MS[surface]),
      newcomers: attemptsOf(newcomers),
      requests: attemptsOf(requests),
      disconnects,
      ...processor,
      ...(await meter.end()),
      namedBy,
      faults: site.faults(),
      counts,
    };
    const harms = [harm, site.ended()].filter((miss) => miss !== undefined);
    return { ...result, misses: [...missesOf(result, attack, site.maxOpenFiles), ...harms] };
  }

  /** Waits until latencies are normal and nothing is missing, at most for `maxRecoveryMs`. */
  async #recover(sinceMs: number, maxP99Ms: number, options: AttackOptions): Promise<void> {
    const { maxRecoveryMs, calmSeconds } = options;
    const deadlineMs = performance.now() + maxRecoveryMs;
    await delay((calmSeconds + 1) * 1_000);
    while (performance.now() < deadlineMs) {
      const observations = await this.#observe(sinceMs);
      const { lost, unacknowledged } = lossesOf(settledOf(observations));
      if (isCalm(observations, maxP99Ms, calmSeconds) && lost + unacknowledged === 0) return;
      await delay(LOOK_EVERY_MS);
    }
  }

  /** The fault that names the attacker. */
  async #named(withinMs: number): Promise<string | undefined> {
    const names = [...this.#site.attackerNames];
    const find = () =>
      this.#site.faults().find((fault) => names.some((name) => fault.includes(name)));
    const deadlineMs = performance.now() + withinMs;
    while (find() === undefined && performance.now() < deadlineMs) await delay(LOOK_EVERY_MS);
    return find();
  }

  /** The observations since this instant, without alarms that may still be on their way. */
  async #settled(sinceMs: number): Promise<Observations> {
    const observations = await this.#observe(sinceMs);
    return { ...observations, alarms: settledOf(observations) };
  }

  #observe(sinceMs: number): Promise<Observations> {
    return this.#ward.call({ call: 'observe', sinceMs }, observationsSchema);
  }

  async #nowMs(): Promise<number> {
    return (await this.#observe(Number.MAX_SAFE_INTEGER)).nowMs;
  }

  async #tell(call: WardCall): Promise<void> {
    await this.#ward.call(call, z.unknown());
  }
}

function settledOf({ alarms, nowMs }: Observations) {
  return alarms.filter(({ sentMs }) => sentMs < nowMs - LAST_ALARMS_MS);
}
