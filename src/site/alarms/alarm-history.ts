import type { AlarmKind, FootageType } from '../../domain/alarm.js';
import type { AlarmState, AlarmStateRecord } from '../../domain/alarm-state.js';
import type { NamedPlace } from '../../domain/messages.js';

/** An alarm in the history, with its place at the time of its receipt. */
export interface AlarmRecord extends NamedPlace {
  readonly id: string;
  readonly kind: AlarmKind;
  readonly detectedAtMs: number;
  readonly receivedAtMs: number;
  /** Object keys of its recordings. */
  readonly footage: Readonly<Partial<Record<FootageType, string>>>;
  /** JSON text of the device's other fields, undefined when there were none. */
  readonly data: string | undefined;
  /** The payload in base64, if it was not JSON. */
  readonly base64?: string | undefined;
  /** Whether the payload should have been JSON, and only its kind could be read. */
  readonly isMalformed?: boolean | undefined;
  readonly isTest?: boolean | undefined;
  /** Who has given it which state. */
  readonly states: AlarmStateRecord;
}

export type AlarmOrder = 'asc' | 'desc';

/** Where a page starts: after the last alarm of the page before. */
export interface AlarmPosition {
  readonly detectedAtMs: number;
  /** The history's own tie-breaker among alarms with equal `detectedAt`. */
  readonly sequence: number;
}

/** A location, or some groups of it. */
export interface AlarmScope {
  readonly locationId: string;
  /** Only alarms that happened in one of these groups; undefined: anywhere, also outside groups. */
  readonly groupIds: readonly string[] | undefined;
}

/** Selects alarms by everything except the time. */
export interface AlarmFilter {
  readonly scopes: readonly AlarmScope[];
  /** Only alarms of these devices; undefined: of all. */
  readonly deviceIds: readonly string[] | undefined;
  /** Only alarms that happened in one of these rooms; undefined: anywhere. */
  readonly roomIds: readonly string[] | undefined;
  readonly kinds: readonly AlarmKind[];
  /** Only tests, or none of them; undefined: all. */
  readonly isTest?: boolean | undefined;
  /** Only alarms that are in one of these states when the page is read; undefined: in any. */
  readonly states?: readonly AlarmState[] | undefined;
  /** Whether anybody still waits for the answer; asked before each further round trip. */
  readonly isAwaited?: (() => boolean) | undefined;
}

export interface AlarmQuery extends AlarmFilter {
  /** Exclusive bounds. */
  readonly beforeMs: number | undefined;
  readonly afterMs: number | undefined;
  readonly order: AlarmOrder;
  readonly limit: number;
  /** Alarms recorded after this one, and so after the first page was read, are left out. */
  readonly upToSequence: number | undefined;
  readonly position: AlarmPosition | undefined;
}

export interface AlarmPage {
  readonly alarms: readonly AlarmRecord[];
  /** Where the next page starts, undefined on the last one. */
  readonly next: AlarmPosition | undefined;
  readonly upToSequence: number;
}

/** Identifies an alarm. */
export interface AlarmName {
  readonly locationId: string;
  readonly alarmId: string;
  /** Undefined: of any device. */
  readonly deviceId?: string | undefined;
}

/** Reads the history. */
export interface AlarmHistory {
  /**
   * Reads a page in three round trips to the store. It is full unless it is the last or nobody waits for it.
   *
   * Each thousand skipped alarms cost two more round trips: alarms that came after the first page, or are of another
   * kind, group or state. These further trips are made for one page after another: together they would keep the
   * store from everything else.
   *
   * @throws GatewayError `store-unavailable`
   */
  page(query: AlarmQuery): Promise<AlarmPage>;

  /**
   * Finds an alarm by its id; the newest one if several devices use it.
   *
   * @throws GatewayError `store-unavailable`
   */
  find(alarm: AlarmName): Promise<AlarmRecord | undefined>;

  /**
   * Finds what became of an alarm for each destination whose queue has, or had, it.
   *
   * @returns undefined when there is no such alarm
   * @throws GatewayError `store-unavailable`
   */
  deliveries(alarm: AlarmName): Promise<AlarmDelivery[] | undefined>;

  /**
   * Counts alarms by kind, for each pair of neighbouring bounds, by when they were detected.
   *
   * To count only certain devices, rooms, states or tests, it reads the alarms, a thousand at a time.
   *
   * @param boundsMs two or more, in ascending order; a pair includes its lower bound, but not its upper one
   * @throws GatewayError `store-unavailable`
   */
  counts(filter: AlarmFilter, boundsMs: readonly number[]): Promise<AlarmCounts[]>;
}

export const DELIVERY_STATES = ['queued', 'delivered', 'expired', 'dropped'] as const;

/** What became of an alarm for one destination. */
export interface AlarmDelivery {
  /** Its name in the store: the session's key. */
  readonly destination: string;
  readonly state: (typeof DELIVERY_STATES)[number];
  /** When, by the machine's clock; for a queued alarm, when it was received. */
  readonly atMs: number;
}

/** The number of alarms of each kind that has any. */
export type AlarmCounts = Partial<Record<AlarmKind, number>>;
