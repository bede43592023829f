import type { AlarmKind, FootageType } from '../domain/alarms.js';

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Where a device was and what was known of it, as of an alarm. */
export interface AlarmPlace {
  readonly device: Named;
  readonly location: Named;
  readonly room: Named | null;
  readonly group: Named | null;
  /** JSON text of the device's custom data. */
  readonly customData: string;
}

/** One alarm as the history keeps it: with its place as of the moment it was accepted. */
export interface AlarmRecord extends AlarmPlace {
  readonly id: string;
  readonly kind: AlarmKind;
  readonly detectedAtMs: number;
  readonly receivedAtMs: number;
  /** Object keys of the recordings there are. */
  readonly footage: Readonly<Partial<Record<FootageType, string>>>;
  /** JSON text of the object of the device's other fields, undefined when there were none. */
  readonly data: string | undefined;
}

export type AlarmOrder = 'asc' | 'desc';

/** Where a page starts: behind the alarm that was the last one of the page before. */
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
  /** Only alarms that happened in one of these groups; undefined: anywhere, outside of groups too. */
  readonly groupIds: readonly string[] | undefined;
  /** Both exclusive. */
  readonly beforeMs: number | undefined;
  readonly afterMs: number | undefined;
  readonly order: AlarmOrder;
  readonly limit: number;
  /** Alarms recorded after this one are left out: they came after the first page was read. */
  readonly upToSequence: number | undefined;
  readonly position: AlarmPosition | undefined;
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
   * One page, full unless it is the last: in one round trip to the store, whatever its size. Only when
   * over a thousand alarms that came after the first page lie in between, there is one more for each
   * thousand of them.
   *
   * @throws GatewayError `store-unavailable`
   */
  page(query: AlarmQuery): Promise<AlarmPage>;
}
