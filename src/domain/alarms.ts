export const ALARM_KINDS = [
  'outOfBed',
  'outOfRoom',
  'outOfSeat',
  'helpCall',
  'fall',
  'noise',
  'wandering',
  'inactivity',
] as const;
export type AlarmKind = (typeof ALARM_KINDS)[number];

export const FOOTAGE_TYPES = ['video', 'audio'] as const;
export type FootageType = (typeof FOOTAGE_TYPES)[number];

/** An alarm as a device sent it. */
export interface Alarm {
  readonly id: string;
  readonly kind: AlarmKind;
  readonly detectedAtMs: number;
  /** JSON text of the detection time as sent, if it is plainly wrong. */
  readonly reportedAt: string | undefined;
  /** Object keys of the recordings. */
  readonly footage: Readonly<Partial<Record<FootageType, string>>>;
  /** JSON text: the object of all other fields, or what came with a kind in the topic; undefined for none. */
  readonly data: string | undefined;
  /** The payload in base64, if it is not JSON. */
  readonly base64?: string | undefined;
  /** Whether the payload should have been JSON, and only its kind could be read. */
  readonly isMalformed?: boolean | undefined;
  /** Whether the gateway itself raised it, to see whether alarms arrive. A device's own `test` is one of its `data`. */
  readonly isTest?: boolean | undefined;
  /**
   * Whether the same publish sent again gives the same `id`.
   *
   * Otherwise only the packet identifier tells a retransmission from a second alarm.
   */
  readonly idIsStable: boolean;
}

/** Why a publish is invalid: the `reason` on the `rejected` topics. */
export const INVALID_PUBLISH_REASONS = [
  'payload-too-large',
  'not-json',
  'not-an-object',
  'unknown-kind',
  'invalid-footage',
  'contradicting-kind',
  'reserved-topic',
  'invalid-topic',
  'not-permitted',
  'invalid-alarm-state',
  'unknown-alarm',
  'alarm-resolved',
] as const;
export type InvalidPublishReason = (typeof INVALID_PUBLISH_REASONS)[number];
