import type { AlarmState, AlarmStateRecord } from '../../domain/alarm-states.js';
import type { AlarmKind, FootageType } from '../../domain/alarms.js';

interface Named {
  readonly id: string;
  readonly name: string;
}

/** A device's place and custom data as of an alarm. */
export interface AlarmPlace {
  readonly device: Named;
  readonly location: Named;
  readonly room: Named | null;
  readonly group: Named | null;
  /** JSON text of the device's custom data. */
  readonly customData: string;
}

/** An alarm in the history, with its place as of its receipt. */
export interface AlarmRecord extends AlarmPlace {
  readonly id: string;
  readonly kind: AlarmKind;
  readonly detectedAtMs: number;
  readonly receivedAtMs: number;
  /** Object keys of its recordings. */
  readonly footage: Readonly<Partial<Record<FootageType, string>>>;
  /** JSON text of the device's other fields, undefined when there were none. */
  readonly data: string | undefined;
  /** The payload where it was no JSON, in base64. */
  readonly base64?: string | undefined;
  /** Whether the payload should have been JSON, and only its kind could be read. */
  readonly isMalformed?: boolean | undefined;
  readonly isTest?: boolean | undefined;
  /** The names of the escalations that were made of it, of the newest 20,000; undefined: none. */
  readonly escalations?: readonly string[] | undefined;
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
  /** Only alarms that happened in one of these groups; undefined: anywhere, outside of groups too. */
  readonly groupIds: readonly string[] | undefined;
}

/** Which alarms are meant, whenever they were detected. */
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

/** What an alarm is found by. */
export interface AlarmName {
  readonly locationId: string;
  readonly alarmId: string;
  /** Undefined: of any device. */
  readonly deviceId?: string | undefined;
}

/** Reads the history. */
export interface AlarmHistory {
  /**
   * Reads a page, full unless it is the last or nobody waits for it, in three round trips to the store.
   *
   * There are two more for each thousand alarms in between that came after the first page, or are of another kind,
   * group or state. Such further ones are made for one page after another: all of them at once would keep the store
   * from everything else.
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
   * Finds what became of an alarm for each destination that has, or had, it in its queue.
   *
   * @returns undefined when there is no such alarm
   * @throws GatewayError `store-unavailable`
   */
  deliveries(alarm: AlarmName): Promise<AlarmDelivery[] | undefined>;

  /**
   * Counts the alarms that were detected between two bounds, for each pair of neighbours, by kind.
   *
   * Those of devices, rooms or states, and tests, are counted by reading them, a thousand at a time.
   *
   * @param boundsMs in ascending order, two or more; each alarm counts from its lower bound on, to before the upper one
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
  /** When, by the machine's clock; of one that is queued, when the alarm was received. */
  readonly atMs: number;
}

/** How many alarms there are of each kind that has any. */
export type AlarmCounts = Partial<Record<AlarmKind, number>>;
