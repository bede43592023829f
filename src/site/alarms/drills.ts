import type { Named } from '../../domain/messages.js';
import type { Actor } from '../audit-trail.js';
import type { NamedDestination } from './destinations.js';

/** How long a destination has to acknowledge a drill (contract 3, drill). */
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

/** Keeps the newest drills of each location. */
export interface DrillStore {
  /** Stores a drill, or its results. */
  add(locationId: string, record: DrillRecord): Promise<void>;
  /** The newest first. */
  newest(locationId: string, count: number): Promise<DrillRecord[]>;
}

export interface DrillRequest {
  readonly locationId: string;
  /** Undefined: the location's first device. */
  readonly deviceId: string | undefined;
  readonly actor: Actor;
  readonly by: Named | null;
}

/** Tests whether alarms arrive, with test alarms that go the way of every alarm. */
export interface Drills {
  /**
   * Begins a drill.
   *
   * @throws GatewayError `location-without-devices`, `device-not-found`, `store-unavailable`
   */
  begin(request: DrillRequest): Promise<DrillReport>;

  /** @throws GatewayError `store-unavailable` */
  list(locationId: string): Promise<DrillReport[]>;
}
