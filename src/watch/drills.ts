import type { Logger } from 'pino';
import { DailySchedule, type DrillPlan } from '../domain/calendar.js';
import { type FaultSubject, fault } from '../domain/fault.js';
import { newId } from '../domain/ids.js';
import type { Named } from '../domain/messages.js';
import { GatewayError } from '../errors.js';
import type { TestAlarms } from '../ingest/test-alarms.js';
import { type Actor, GATEWAY_ACTOR } from '../site/audit-trail.js';
import type { Health } from '../site/health/health.js';
import type { SiteModel } from '../site/site-model.js';
import type { NamedDestination } from '../site/tokens.js';
import type { AlarmHistory } from '../store/history/alarm-history.js';
import type { DrillStoreRedis } from '../store/lists.js';
import type { SilentDevice } from './supervision.js';

export const DRILL_CHECK_MS = 1_000;
/** More of a location are not under way at one time, but for somebody who begins one after the other by hand. */
const MAX_LOADED = 5;
const KIND = 'helpCall';
const DUE_FOR_MS = 60_000;
/** Moments of a schedule that are remembered, in case the clock shows one of them again. */
const MAX_DONE = 10;

/** How long a destination has to acknowledge a drill (contract 3). */
export const DRILL_TIMEOUT_MS = 60_000;
export const MAX_DRILLS_SHOWN = 100;

export interface DrillResult {
  readonly destination: NamedDestination;
  /** Undefined: not within the time, or not yet. */
  readonly acknowledgedAfterMs?: number | undefined;
}

/** A stored drill. Until it is over, the proof of delivery says what has become of its alarm. */
export interface DrillRecord {
  readonly id: string;
  readonly atMs: number;
  /** `atMs` by the steady clock; undefined if an earlier version has stored it. */
  readonly steadyAtMs?: number | undefined;
  /** Who asked for it; null: the schedule. */
  readonly by: Named | null;
  readonly alarmId: string;
  /** The device whose alarm it was. */
  readonly device: Named;
  /** The devices that were silent. */
  readonly silent: readonly Named[];
  /** Once it is over: later changes of the destinations do not change it. */
  readonly results?: readonly DrillResult[] | undefined;
}

/** A drill with its results so far. */
export interface DrillReport extends Omit<DrillRecord, 'results'> {
  /** Whether the time is over. */
  readonly isOver: boolean;
  readonly results: readonly DrillResult[];
}

export interface DrillRequest {
  readonly locationId: string;
  /** Undefined: the location's first device. */
  readonly deviceId: string | undefined;
  readonly actor: Actor;
  readonly by: Named | null;
}

export interface DrillsOptions {
  readonly model: SiteModel;
  readonly testAlarms: Pick<TestAlarms, 'raise'>;
  readonly history: Pick<AlarmHistory, 'deliveries'>;
  readonly store: Pick<DrillStoreRedis, 'add' | 'newest'>;
  readonly supervision: { list(): readonly SilentDevice[] };
  readonly destinationOf: (key: string) => NamedDestination;
  readonly health: Pick<Health, 'replace'>;
  readonly log: Logger;
  /** The wall clock, by which drills are due. */
  readonly now: () => number;
  /** The steady clock, by which they are over. */
  readonly steadyNow: () => number;
}

interface Unjudged {
  readonly locationId: string;
  readonly record: DrillRecord;
  isBeingJudged: boolean;
  /** After how many milliseconds each destination was first seen to have acknowledged it. */
  readonly acknowledgedAfterMs: Map<string, number>;
}

/** A daily drill, and the moments for which it has taken place. */
interface Scheduled {
  readonly schedule: DailySchedule;
  readonly locations: DrillPlan['locations'];
  readonly doneAtMs: Set<number>;
}

/**
 * Drills: a test alarm that takes the path of every alarm, by hand or by schedule, and who acknowledged it in time.
 *
 * The result of a drill comes from the proof of delivery of its alarm, so a restart in between changes nothing, and is
 * stored with it once it is over. A destination that failed in a location's newest drill is a fault until the next one.
 */
export class Drills {
  readonly #options: DrillsOptions;
  #schedules: readonly Scheduled[] = [];
  /** Drills that are not judged yet. */
  readonly #unjudged = new Set<Unjudged>();
  /** The id of the newest drill of each location. */
  readonly #newest = new Map<string, string>();

  constructor(options: DrillsOptions) {
    this.#options = options;
  }

  /** Holds the drills of these plans from now on, in place of those before. */
  plan(plans: readonly DrillPlan[]): void {
    const nowMs = this.#options.now();
    this.#schedules = plans.map((plan) => {
      const schedule = new DailySchedule(plan);
      // A gateway that restarts within the minute has held it already. Only then: the clock may be ahead, and be set back.
      const dueMs = schedule.lastDueMs(nowMs);
      const doneAtMs = new Set(nowMs - dueMs < DUE_FOR_MS ? [dueMs] : []);
      return { schedule, locations: plan.locations, doneAtMs };
    });
  }

  /** Finds the drills that an earlier run may not have judged, and the newest of each location, which may be a fault. */
  async load(): Promise<void> {
    const { model, store } = this.#options;
    await Promise.all(
      model.locations().map(async ({ id }) => {
        const newest = await store.newest(id, MAX_LOADED);
        for (const record of newest.toReversed()) this.#add(id, record);
      }),
    );
  }

  /**
   * Begins a drill.
   *
   * @throws GatewayError `location-without-devices`, `device-not-found`, `store-unavailable`
   */
  async begin({ locationId, deviceId, actor, by }: DrillRequest): Promise<DrillReport> {
    const { model, testAlarms, store, now, steadyNow } = this.#options;
    const [first] = model.devicesOf(locationId);
    const device = deviceId === undefined ? first : model.requireDevice({ locationId, deviceId });
    if (device === undefined) {
      throw new GatewayError(
        'location-without-devices',
        'The location has no device to test with.',
      );
    }
    const named = { id: device.id, name: device.name };
    const silent = this.#silentIn(locationId);
    const recorded: DrillRecord[] = [];
    const ringing = testAlarms.raise(
      { locationId, deviceId: device.id, kind: KIND, actor },
      async (alarmId) => {
        const times = { atMs: now(), steadyAtMs: steadyNow() };
        const added = { id: newId(), ...times, by, alarmId, device: named, silent };
        // First: an alarm that rings without a record would be asked for again.
        await store.add(locationId, added);
        this.#add(locationId, added);
        recorded.push(added);
      },
    );
    // Once recorded, the alarm is on its way, however long the store takes.
    const failure = await ringing.then(() => undefined).catch((error: unknown) => error);
    const [record] = recorded;
    if (record === undefined) throw failure;
    const running = { ...record, isOver: false, results: [] };
    return await this.#reportOf(locationId, record).catch(() => running);
  }

  /** The newest first. @throws GatewayError `store-unavailable` */
  async list(locationId: string): Promise<DrillReport[]> {
    const records = await this.#options.store.newest(locationId, MAX_DRILLS_SHOWN);
    const reports: DrillReport[] = [];
    // One after another: the store has other things to do.
    for (const record of records) reports.push(await this.#reportOf(locationId, record));
    return reports;
  }

  /** Begins drills that are due, and judges those that are over; call it every `DRILL_CHECK_MS`. */
  check(): void {
    for (const scheduled of this.#schedules) this.#beginIfDue(scheduled);
    this.#forgetDeletedLocations();
    for (const unjudged of this.#unjudged) {
      const { locationId, record, isBeingJudged } = unjudged;
      const mayBeOver =
        this.#newest.get(locationId) === record.id || this.#ageMs(record) >= DRILL_TIMEOUT_MS;
      if (mayBeOver && !isBeingJudged) void this.#judge(unjudged);
    }
  }

  /**
   * Once for each of its moments, and only within a minute: a clock that is set passes moments, and shows some twice.
   */
  #beginIfDue({ schedule, locations, doneAtMs }: Scheduled): void {
    const nowMs = this.#options.now();
    const dueMs = schedule.lastDueMs(nowMs);
    if (nowMs - dueMs >= DUE_FOR_MS || doneAtMs.has(dueMs)) return;
    doneAtMs.add(dueMs);
    for (const oldest of doneAtMs) {
      if (doneAtMs.size > MAX_DONE) doneAtMs.delete(oldest);
    }
    this.#beginAll(locations);
  }

  #forgetDeletedLocations(): void {
    const { model, health } = this.#options;
    for (const locationId of this.#newest.keys()) {
      if (model.location(locationId) !== undefined) continue;
      this.#newest.delete(locationId);
      health.replace(`drills/${locationId}`, []);
    }
    for (const unjudged of this.#unjudged) {
      if (model.location(unjudged.locationId) === undefined) this.#unjudged.delete(unjudged);
    }
  }

  #beginAll(locations: readonly string[] | undefined): void {
    const { model, log } = this.#options;
    for (const { id: locationId } of model.locations()) {
      if (locations?.includes(locationId) === false) continue;
      if (model.devicesOf(locationId).length === 0) continue;
      const request = { locationId, deviceId: undefined, actor: GATEWAY_ACTOR, by: null };
      this.begin(request).catch((err: unknown) => {
        log.error({ locationId, err }, 'failed to begin a drill');
      });
    }
  }

  #add(locationId: string, record: DrillRecord): void {
    this.#newest.set(locationId, record.id);
    const acknowledgedAfterMs = new Map<string, number>();
    this.#unjudged.add({ locationId, record, isBeingJudged: false, acknowledgedAfterMs });
  }

  async #judge(unjudged: Unjudged): Promise<void> {
    const { log, store } = this.#options;
    const { locationId, record } = unjudged;
    unjudged.isBeingJudged = true;
    try {
      const { results, isOver } = await this.#reportOf(locationId, record);
      if (!isOver) return;
      // First: a store that takes no writes must not hide that a destination has failed.
      if (this.#newest.get(locationId) === record.id) this.#reportFailed(locationId, results);
      if (record.results === undefined) await store.add(locationId, { ...record, results });
      this.#unjudged.delete(unjudged);
    } catch (err) {
      log.debug({ locationId, err }, 'failed to judge a drill, retrying');
    } finally {
      unjudged.isBeingJudged = false;
    }
  }

  #reportFailed(locationId: string, results: DrillReport['results']): void {
    const location = this.#options.model.location(locationId);
    if (results.length === 0 && location !== undefined) {
      const subject = { type: 'location', id: locationId, name: location.name } as const;
      const faults = [{ ...fault('drillWithoutDestination'), subject }];
      this.#options.health.replace(`drills/${locationId}`, faults);
      return;
    }
    const failed = results.filter(({ acknowledgedAfterMs }) => acknowledgedAfterMs === undefined);
    const faults = failed.map(({ destination }) => {
      return { ...fault('drillUnacknowledged'), subject: subjectOf(destination) };
    });
    this.#options.health.replace(`drills/${locationId}`, faults);
  }

  async #reportOf(locationId: string, record: DrillRecord): Promise<DrillReport> {
    const { history, destinationOf } = this.#options;
    const { alarmId, device } = record;
    if (record.results !== undefined) return { ...record, isOver: true, results: record.results };
    const alarm = { locationId, alarmId, deviceId: device.id };
    const deliveries = (await history.deliveries(alarm)) ?? [];
    const ageMs = this.#ageMs(record);
    const seen = [...this.#unjudged].find(
      (one) => one.record.id === record.id,
    )?.acknowledgedAfterMs;
    const results = deliveries.map(({ destination, state, atMs: deliveredAtMs }) => {
      // The wall clock stamps the proof, and may be set meanwhile: then the drill's age is the best known.
      const byWallMs = deliveredAtMs - record.atMs;
      const isPlausible = byWallMs >= 0 && byWallMs <= ageMs;
      const afterMs = seen?.get(destination) ?? (isPlausible ? byWallMs : ageMs);
      if (state === 'delivered') seen?.set(destination, afterMs);
      const isInTime = state === 'delivered' && afterMs <= DRILL_TIMEOUT_MS;
      return {
        destination: destinationOf(destination),
        acknowledgedAfterMs: isInTime ? afterMs : undefined,
      };
    });
    const isAwaited = ({ acknowledgedAfterMs }: DrillReport['results'][number]) =>
      acknowledgedAfterMs === undefined;
    const areAllIn = results.length > 0 && !results.some(isAwaited);
    return { ...record, isOver: areAllIn || ageMs >= DRILL_TIMEOUT_MS, results };
  }

  #ageMs({ steadyAtMs }: DrillRecord): number {
    return steadyAtMs === undefined
      ? Number.POSITIVE_INFINITY
      : Math.round(this.#options.steadyNow() - steadyAtMs);
  }

  #silentIn(locationId: string): DrillRecord['silent'] {
    const { model, supervision } = this.#options;
    return supervision.list().flatMap(({ deviceId }) => {
      const device = model.device(deviceId);
      return device?.locationId === locationId ? [{ id: device.id, name: device.name }] : [];
    });
  }
}

function subjectOf({ type, id, name }: NamedDestination): FaultSubject {
  return { type, id, name };
}
