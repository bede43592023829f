import { setTimeout as delay } from 'node:timers/promises';
import type { Plan, Report } from '../../test/harness/load/plan.js';
import { LoadProcess } from '../../test/harness/load/process.js';
import { Client } from '../../test/harness/mqtt.js';
import { times } from '../../test/harness/wait.js';
import { loginOf, type Site } from './gateway.js';

const DEVICES = 20;
const ALARMS_PER_SECOND = 100;
/** More than are under way at any time: no device waits for an acknowledgement. */
const WINDOW = 1_000;
const FIRST_NUMBER = 10;
/** In real life attackers are on other machines: here the victims come first. */
const NICENESS = -5;
const ATTEMPT_EVERY_MS = 1_000;
const ATTEMPT_TIMEOUT_MS = 5_000;
/** Whatever is later than this is lost. */
const LEVEL_WITHIN_MS = 15_000;
const LOOK_EVERY_MS = 100;

/** Something tried once a second. */
export interface Attempts {
  tried: number;
  failed: number;
  maxMs: number;
  /** The first failure in words. */
  failure: string | undefined;
}

export interface Observed {
  readonly report: Report;
  /** Alarms that the durable subscriber did not get, or got late because it was away. */
  readonly durableLost: number;
  readonly newcomers: Attempts;
  readonly requests: Attempts;
}

/** The victims: twenty devices with a live and a durable subscriber, and each second a newcomer and a board. */
export class Ward {
  readonly #site: Site;
  readonly #plan: Plan;
  readonly #load: LoadProcess;
  readonly #isDurableAway: boolean;

  private constructor(site: Site, plan: Plan, load: LoadProcess, isDurableAway: boolean) {
    this.#site = site;
    this.#plan = plan;
    this.#load = load;
    this.#isDurableAway = isDurableAway;
  }

  static async open(site: Site, isDurableAway: boolean, isShared: boolean): Promise<Ward> {
    const { victims, attackers, gateway } = site;
    const devices = await times(DEVICES, () => victims.device());
    const shared = { role: 'viewer', location: attackers.locationId };
    const viewer = await victims.token([{ role: 'viewer' }, ...(isShared ? [shared] : [])]);
    const live = { ...loginOf(viewer, 'live'), isClean: true };
    const durable = { ...loginOf(viewer, 'durable'), isClean: false };
    const plan: Plan = {
      port: gateway.mqttPort,
      kind: 'alarms',
      qos: 1,
      firstNumber: FIRST_NUMBER,
      devices: devices.map((device) => loginOf(device)),
      readers: [durable],
      filter: `care-homes/${isShared ? '+' : victims.locationId}/devices/+/alarms/#`,
    };
    // The session must exist before the first alarm.
    if (isDurableAway) await (await LoadProcess.open({ ...plan, devices: [] })).end();
    const readers = isDurableAway ? [live] : [live, durable];
    const load = await LoadProcess.open({ ...plan, readers }, NICENESS);
    return new Ward(site, plan, load, isDurableAway);
  }

  /** Publishes for this long, and observes nothing. */
  async warmUp(durationMs: number): Promise<void> {
    await this.#load.offer({ perSecond: ALARMS_PER_SECOND, window: WINDOW, durationMs });
  }

  /** Publishes for this long. Resolves once everything has come, or does not come any more. */
  async observe(durationMs: number): Promise<Observed> {
    const over = new AbortController();
    const newcomers = this.#eachSecond(over.signal, () => this.#newcomer());
    const requests = this.#eachSecond(over.signal, () => this.#request());
    await this.#load.offer({ perSecond: ALARMS_PER_SECOND, window: WINDOW, durationMs });
    over.abort();
    return {
      newcomers: await newcomers,
      requests: await requests,
      report: await this.#level(),
      durableLost: this.#isDurableAway ? await this.#lostWhileAway() : 0,
    };
  }

  async end(): Promise<void> {
    await this.#load.kill();
  }

  async #level(): Promise<Report> {
    const deadlineMs = performance.now() + LEVEL_WITHIN_MS;
    for (;;) {
      const report = await this.#load.report();
      const isLevel = report.readers.every((reader) => reader.isLevel);
      if ((isLevel && report.unacknowledged === 0) || performance.now() > deadlineMs) return report;
      await delay(LOOK_EVERY_MS);
    }
  }

  /** Brings the durable subscriber back, which must get everything. */
  async #lostWhileAway(): Promise<number> {
    const { sent } = await this.#load.report();
    const durable = await LoadProcess.open({ ...this.#plan, devices: [], filter: '' });
    const deadlineMs = performance.now() + LEVEL_WITHIN_MS;
    try {
      for (;;) {
        const [reader] = (await durable.report()).readers;
        const lost = sent - (reader?.received ?? 0);
        if (lost <= 0 || performance.now() > deadlineMs) return Math.max(0, lost);
        await delay(LOOK_EVERY_MS);
      }
    } finally {
      await durable.kill();
    }
  }

  async #eachSecond(signal: AbortSignal, attempt: () => Promise<void>): Promise<Attempts> {
    const attempts: Attempts = { tried: 0, failed: 0, maxMs: 0, failure: undefined };
    while (!signal.aborted) {
      const begunMs = performance.now();
      attempts.tried++;
      try {
        await attempt();
      } catch (error) {
        attempts.failed++;
        attempts.failure ??= error instanceof Error ? error.message : String(error);
      }
      attempts.maxMs = Math.max(attempts.maxMs, performance.now() - begunMs);
      await delay(ATTEMPT_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
    return attempts;
  }

  /** A sensor that connects for one alarm. */
  async #newcomer(): Promise<void> {
    const { newcomer, gateway } = this.#site;
    const client = await Client.open(gateway, { clientId: 'newcomer' });
    const expired = setTimeout(() => client.vanish(), ATTEMPT_TIMEOUT_MS);
    try {
      const code = await client.login(newcomer);
      if (code !== 0) throw new Error(`CONNACK ${code}`);
      await client.publish(`devices/${newcomer.id}/alarms`, '{"kind":"helpCall"}');
      await client.end();
    } finally {
      clearTimeout(expired);
    }
  }

  /** A board that has just been opened, over a connection of its own. */
  async #request(): Promise<void> {
    const { gateway, victims } = this.#site;
    const response = await fetch(`${gateway.httpUrl}${victims.path}/devices`, {
      headers: { authorization: `Bearer ${victims.viewer.token}`, connection: 'close' },
      signal: AbortSignal.timeout(ATTEMPT_TIMEOUT_MS),
    });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`status ${response.status}`);
  }
}
