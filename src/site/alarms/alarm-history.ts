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

export interface AlarmQuery {
  readonly locationId: string;
  /** Only this device's alarms in the location; undefined: the whole location's. */
  readonly deviceId: string | undefined;
  readonly kinds: readonly AlarmKind[];
  /** Only alarms that are in one of these states when the page is read; undefined: in any. */
  readonly states?: readonly AlarmState[] | undefined;
  /** Only alarms that happened in one of these groups; undefined: anywhere, outside of groups too. */
  readonly groupIds: readonly string[] | undefined;
  /** Exclusive bounds. */
  readonly beforeMs: number | undefined;
  readonly afterMs: number | undefined;
  readonly order: AlarmOrder;
  readonly limit: number;
  /** Alarms recorded after this one, and so after the first page was read, are left out. */
  readonly upToSequence: number | undefined;
  readonly position: AlarmPosition | undefined;
  /** Whether anybody still waits for the page; asked before each further round trip. */
  readonly isAwaited?: (() => boolean) | undefined;
}

export interface AlarmPage {
  readonly alarms: readonly AlarmRecord[];
  /** Where the next page starts, undefined on the last one. */
  readonly next: AlarmPosition | undefined;
  readonly upToSequence: number;
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
}
