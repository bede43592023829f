import type { Logger } from 'pino';
import { type FaultSubject, fault, firstOf } from '../domain/faults/faults.js';
import { newId } from '../domain/notation.js';
import { type DrillPlan, DrillSchedule } from '../domain/time/drill-schedule.js';
import { GatewayError } from '../errors.js';
import type { AlarmHistory } from '../site/alarms/alarm-history.js';
import type { NamedDestination } from '../site/alarms/destinations.js';
import {
  DRILL_TIMEOUT_MS,
  type DrillRecord,
  type DrillReport,
  type DrillRequest,
  type DrillStore,
  type Drills,
  MAX_DRILLS_SHOWN,
} from '../site/alarms/drills.js';
import type { TestAlarms } from '../site/alarms/test-alarms.js';
import { GATEWAY_ACTOR } from '../site/audit-trail.js';
import type { Health } from '../site/health/health.js';
import type { SiteModel } from '../site/site-model.js';
import type { SilentDevice } from './supervision.js';

export const DRILL_CHECK_MS = 1_000;
const MAX_NAMED = 3;
const KIND = 'helpCall';

export interface DrillRunnerOptions {
  readonly plans: readonly DrillPlan[];
  readonly model: SiteModel;
  readonly testAlarms: TestAlarms;
  readonly history: Pick<AlarmHistory, 'deliveries'>;
  readonly store: DrillStore;
  readonly supervision: { list(): readonly SilentDevice[] };
  readonly destinationOf: (key: string) => NamedDestination;
  readonly health: Pick<Health, 'reportAll'>;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * Drills: a test alarm that takes the path of every alarm, by hand or by schedule, and who acknowledged it in time.
 *
 * The result of a drill comes from the proof of delivery of its alarm, so a restart in between changes nothing. A
 * destination that failed in a location's newest drill is a fault until the next one.
 */
export class DrillRunner implements Drills {
  readonly #options: DrillRunnerOptions;
  readonly #schedules: { readonly schedule: DrillSchedule; lastMs: number }[];
  /** The newest drill of each location, until it is judged. */
  readonly #unjudged = new Map<string, DrillRecord>();
  readonly #judging = new Set<string>();

  constructor(options: DrillRunnerOptions) {
    this.#options = options;
    const nowMs = options.now();
    this.#schedules = options.plans.map((plan) => {
      return { schedule: new DrillSchedule(plan), lastMs: nowMs };
    });
  }

  /** Finds the newest drill of each location, which an earlier run may not have judged. */
  async load(): Promise<void> {
    const { model, store } = this.#options;
    await Promise.all(
      model.locations().map(async ({ id }) => {
        const [newest] = await store.newest(id, 1);
        if (newest !== undefined) this.#unjudged.set(id, newest);
      }),
    );
  }

  async begin({ locationId, deviceId, actor, by }: DrillRequest): Promise<DrillReport> {
    const { model, testAlarms, store, now } = this.#options;
    const [first] = model.devicesOf(locationId);
    const device = deviceId === undefined ? first : model.requireDevice({ locationId, deviceId });
    if (device === undefined) {
      throw new GatewayError(
        'location-without-devices',
        'The location has no device to test with.',
      );
    }
    const atMs = now();
    const alarm = { locationId, deviceId: device.id, kind: KIND, actor } as const;
    const alarmId = await testAlarms.raise(alarm);
    const named = { id: device.id, name: device.name };
    const silent = this.#silentIn(locationId);
    const record = { id: newId(), atMs, by, alarmId, device: named, silent };
    await store.add(locationId, record);
    this.#unjudged.set(locationId, record);
    return await this.#reportOf(locationId, record);
  }

  async list(locationId: string): Promise<DrillReport[]> {
    const records = await this.#options.store.newest(locationId, MAX_DRILLS_SHOWN);
    const reports: DrillReport[] = [];
    // One after another: the store has other things to do.
    for (const record of records) reports.push(await this.#reportOf(locationId, record));
    return reports;
  }

  /** Begins drills that are due, and judges those that are over; call it every `DRILL_CHECK_MS`. */
  check(): void {
    const nowMs = this.#options.now();
    for (const one of this.#schedules) {
      const dueMs = one.schedule.lastDueMs(nowMs);
      if (dueMs <= one.lastMs) continue;
      one.lastMs = dueMs;
      this.#beginAll(one.schedule.locations);
    }
    for (const [locationId, record] of this.#unjudged) {
      if (!this.#judging.has(locationId)) void this.#judge(locationId, record);
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

  async #judge(locationId: string, record: DrillRecord): Promise<void> {
    const { log, health } = this.#options;
    this.#judging.add(locationId);
    try {
      const { results, isOver } = await this.#reportOf(locationId, record);
      if (!isOver) return;
      const failed = results.filter(({ acknowledgedAfterMs }) => acknowledgedAfterMs === undefined);
      const faults = firstOf(
        failed.map(({ destination }) => destination),
        MAX_NAMED,
        (destination) => ({ ...fault('drillUnacknowledged'), subject: subjectOf(destination) }),
      );
      health.reportAll(`drills/${locationId}`, faults);
      if (this.#unjudged.get(locationId) === record) this.#unjudged.delete(locationId);
    } catch (err) {
      log.debug({ locationId, err }, 'failed to judge a drill, retrying');
    } finally {
      this.#judging.delete(locationId);
    }
  }

  async #reportOf(locationId: string, record: DrillRecord): Promise<DrillReport> {
    const { history, now, destinationOf } = this.#options;
    const { alarmId, atMs, device } = record;
    const alarm = { locationId, alarmId, deviceId: device.id };
    const deliveries = (await history.deliveries(alarm)) ?? [];
    const results = deliveries.map(({ destination, state, atMs: deliveredAtMs }) => {
      const afterMs = Math.max(0, deliveredAtMs - atMs);
      const isInTime = state === 'delivered' && afterMs <= DRILL_TIMEOUT_MS;
      return {
        destination: destinationOf(destination),
        acknowledgedAfterMs: isInTime ? afterMs : undefined,
      };
    });
    const isAwaited = ({ acknowledgedAfterMs }: DrillReport['results'][number]) =>
      acknowledgedAfterMs === undefined;
    const areAllIn = results.length > 0 && !results.some(isAwaited);
    return { ...record, isOver: areAllIn || now() - atMs >= DRILL_TIMEOUT_MS, results };
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
